# SPDX-License-Identifier: BSD-2-Clause
"""
Since 7.2 a task can be preempted inside a program at a system call; until it goes on, the kernel
skips that program for all others on its CPU, and counts. A report may lack no more than that.
"""

import pytest

from test_preemption import contend, unexplained

ATTEMPTS = 10
WORKLOADS = {"calls": [], "numbers": [], "threads": [11, 503]}


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_report_lacks_no_more_than_it_says(live, name, attempt):
    report, table = live.count(name, *WORKLOADS[name], lossy=True)
    unexplained(report, table)


@pytest.mark.parametrize("preemptors", [1, 2])
def test_a_real_time_preemptor_makes_calls_be_missed(live, preemptors):
    """Or the drill would say nothing. It also takes the CPU away in the middle of reading clocks."""
    for _ in range(ATTEMPTS):
        report, table = contend(live, preemptors)
        unexplained(report, table)
        assert "time_clamped" not in report.losses
        if {"enter_missed", "leave_missed"} <= report.losses.keys():
            return
    pytest.fail("no call was missed")


@pytest.mark.parametrize("preemptors", [1, 2])
def test_counted_and_missed_calls_are_those_that_were_made(live, preemptors):
    """Misses of others on this host are in the way, so it is tried until there are none."""
    others = []
    for _ in range(ATTEMPTS):
        report, table = contend(live, preemptors)
        others.append(unexplained(report, table))
        if others[-1] == 0 < report.losses.get("enter_missed", 0):
            return
    pytest.fail("others missed some each time: %s" % others)
