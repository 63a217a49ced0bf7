# SPDX-License-Identifier: BSD-2-Clause
"""Processes that come to be chosen, or no longer are, at the same time as others."""

import os
import subprocess
import sys

import pytest

CALLS = 503


def unique(name):
    """A name that only this test's processes have."""
    return "%s%d" % (name, os.getpid())


def rename_together(live, chosen, name, threads):
    """How many calls were counted of each of 23 processes that take a name at the same time."""
    targets = [live.workload("becomes", "name", name, threads, CALLS) for _ in range(23)]
    bpftruss = live.choose("--wait", "-n", chosen)
    for target in targets:
        target.go()
    for target in targets:
        assert target.wait() == 0
    report = bpftruss.interrupt(lossy=True)
    return [report.total("getppid", pid=target.pid) for target in targets]


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("threads", [1, 7])
def test_processes_that_take_a_name_at_the_same_time_are_all_counted(live, threads, attempt):
    calls = rename_together(live, unique("yes"), unique("yes"), threads)
    assert calls == [2 * CALLS * (threads + 1)] * 23


@pytest.mark.parametrize("attempt", range(3))
def test_processes_that_give_up_a_name_at_the_same_time_are_counted_until_then(live, attempt):
    assert rename_together(live, "becomes", unique("no"), 3) == [3 * CALLS] * 23


RENAMER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
other, chosen = (name.encode() for name in sys.argv[1:])
for i in range(700):
    libc.prctl(15, other, 0, 0, 0)
    libc.getsid(0)
    libc.prctl(15, chosen, 0, 0, 0)
    libc.getppid()
"""


@pytest.mark.parametrize("number", [1, 2])
def test_processes_that_change_their_names_all_the_time_are_counted_under_each(live, number):
    """One getppid under the chosen name each time, and one getsid under the other."""
    arguments = [sys.executable, "-c", RENAMER, unique("no"), unique("yes")]
    bpftruss = live.choose("--wait", "-n", unique("yes"))
    processes = [subprocess.Popen(arguments) for _ in range(number)]
    for process in processes:
        assert process.wait() == 0
    report = bpftruss.interrupt(lossy=True)
    assert report.data["exact"] is True
    assert [report.total("getppid", pid=process.pid) for process in processes] == [700] * number
    assert report.total("getsid") == 0
