# SPDX-License-Identifier: BSD-2-Clause
"""
Up to 6.1 a look-up of task storage finds nothing on a CPU on which somebody was preempted while changing some,
and up to 6.19 none can be made there.
"""

import os

import pytest

from harness import BUILD, Talker


@pytest.mark.parametrize("workload", [("threads", 7, 1009), ("threads", "new"), ("forks", "clone", 97)])
def test_calls_that_a_busy_kernel_hides_are_losses(live, workload):
    """Others of low priority change task storage all the time, and are preempted in the middle of it."""
    live.add(Talker, [os.path.join(BUILD, "collect", "busy")])
    report, table = live.count(*workload, options=["-f"], lossy=True)
    lost = sum(report.losses.values())
    assert report.data["exact"] is not (lost > 0)
    assert report.total("getppid") <= table.total("getppid") <= report.total("getppid") + lost


def test_children_whom_nobody_counts_are_no_loss(live):
    """At a fork a busy kernel hides the parent; without -f it does not matter whose child it is."""
    live.add(Talker, [os.path.join(BUILD, "collect", "busy")])
    report, _ = live.count("forks", "clone", 97, lossy=True)
    assert "untracked_tasks" not in report.losses
