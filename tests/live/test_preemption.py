# SPDX-License-Identifier: BSD-2-Clause
"""
Runs tasks at real-time priority that make calls in the middle of another one's.

A report may lack this where programs at system calls can be preempted, as since 7.2: until the
preempted task goes on, the kernel skips the program for all others on its CPU, and counts. Of one
call the program at its start may be skipped (E), that at its end (X), or both:

  E     it ends without a start: counted, but as denied, unless it was to be the end of a thread
  X     the next start finds it open: counted without time, as exit_missed
  E, X  it is not counted
  X, E  of one call and of the next: the end of the second is taken for that of the first

So each call that is lacking or misread has an E of its own: counted + missed = made + misread, where
nobody else on the host missed any. Nothing is ever counted twice, nor under a number nobody called.
There are two exceptions: a call that was under way when counting began has only an X; and where the
program at the end of tasks is skipped, their exit is lacking, whose end that would have been.
"""

import os
import platform
import re

import pytest

from harness import must_equal

CALLS = 60013

# From here on the kernel may preempt a program at a system call, or at the life of a task.
PREEMPTIBLE = (7, 2)
LIFE_PREEMPTIBLE = (7, 0)


def calls(counts):
    return {key: row["calls"] for key, row in counts.items() if row["calls"]}


def unexplained(report, table):
    """
    Checks a report of calls of which none is really denied. How many skipped runs of the program
    at their start are not accounted for by it: those of other tasks of this host.
    """
    by_pid = table.knows_pids()
    got, made = calls(report.counts(by_pid)), calls(table.counts(by_pid))
    assert set(got) <= set(made), (got, made)
    assert all(count <= made[key] for key, count in got.items()), (got, made)
    missed = report.losses.get("enter_missed", 0)
    lacking, misread = sum(made.values()) - sum(got.values()), report.sum("denied")
    late, ends = report.losses.get("exit_missed", 0), report.losses.get("leave_missed", 0)
    under_way = sum(row["untimed"] for row in table.rows)
    others = min(ends, under_way) + report.losses.get("lifecycle_missed", 0)
    assert lacking + misread <= missed + others, (lacking, misread, report.losses)
    assert late <= ends, report.losses
    assert report.sum("untimed") <= under_way + misread + late
    assert report.data["exact"] is not bool(report.losses)
    return missed - lacking - misread


def contend(live, preemptors):
    """Report and table of a thread that others at real-time priority take the CPU from."""
    cpu = max(os.sched_getaffinity(0))
    return live.count("contend", cpu, CALLS, preemptors, needs="a real-time priority", lossy=True)


def kernel():
    return tuple(int(number) for number in re.findall(r"\d+", platform.release())[:2])


@pytest.mark.parametrize("preemptors", [1, 2])
def test_what_real_time_preemptors_keep_from_being_counted_is_said(live, preemptors):
    report, table = contend(live, preemptors)
    unexplained(report, table)
    if kernel() < PREEMPTIBLE:
        # These may come from any task of this host.
        report.may_lose(*(["lifecycle_missed"] if kernel() >= LIFE_PREEMPTIBLE else []))
        must_equal(report, table)
