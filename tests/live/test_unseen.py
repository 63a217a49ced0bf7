# SPDX-License-Identifier: BSD-2-Clause
"""Ends of tasks that the kernel does not tell of, as where it skips programs: nobody waits for ever."""

import os

import pytest

from harness import BUILD, Report, until

BLIND = os.path.join(BUILD, "collect", "blind")


def count_blindly(live, *workload):
    target = live.workload(*workload)
    blind = live.spawn(BLIND, target.pid)
    until(lambda: blind.stdout().startswith(b"counting\n"), "it counts")
    target.go()
    assert blind.wait() == 0
    return Report(blind.stdout().split(b"\n", 1)[1], lossy=True), target.table()


@pytest.mark.parametrize("workload", [("calls",), ("threads", 7, 503), ("forks", "clone", 31)])
def test_counting_ends_although_no_end_is_seen(live, workload):
    """Also of zombies: the workload is a child of the test, which has not waited for it."""
    report, table = count_blindly(live, *workload)
    assert report.total("getppid") == table.total("getppid")
    assert report.data["exact"] is False
    assert report.losses["lifecycle_missed"] > 0
    assert not [row for row in report.rows if row["in_flight"]]


def test_what_it_says_of_unseen_ends_is_how_many_tasks_there_were(live):
    report, _ = count_blindly(live, "forks", "clone", 31)
    assert report.losses["lifecycle_missed"] == 1 + 31
