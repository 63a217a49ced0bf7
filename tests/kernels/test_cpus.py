# SPDX-License-Identifier: BSD-2-Clause
"""
Counts on a machine with many processors. Each of them has a thread, and later a child, and none
shares with another what bpftruss keeps for a CPU. scripts/test-kernels --cpus boots such a machine.
"""

import json
import os
import re

import pytest

import harness
from harness import must_equal, slurp
from test_cost import Steer
from test_tables import totals

DEADLINE_S = 600  # an emulator has one processor for all of them


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(harness, "DEADLINE_S", DEADLINE_S)


@pytest.fixture
def everywhere(live):
    """A thread for each CPU, all asleep."""
    workload = live.workload("everywhere", 101)
    for tid in workload.threads():
        workload.wait_asleep_in("read", tid=tid)
    return workload


def run_threads(workload):
    """Until each has made its calls and sleeps on its CPU."""
    workload.go()
    workload.wait_asleep_in("read", fd=0)
    for tid in workload.threads():
        workload.wait_asleep_in("read", tid=tid)


def run_all(workload):
    run_threads(workload)
    workload.play()
    return workload.table()


def cpu_of(tid):
    return int(re.search(rb"\nCpus_allowed_list:\t(\d+)\n", slurp(f"/proc/{tid}/status"))[1])


def test_there_are_as_many_processors_as_asked_for():
    asked = int(re.search(rb"\bcpus=(\d+)", slurp("/proc/cmdline"))[1])
    assert os.sched_getaffinity(0) == set(range(asked))


@pytest.mark.parametrize("options", [(), ("--stacks",)], ids=["plain", "stacks"])
def test_threads_and_children_on_every_cpu_are_counted(live, everywhere, options):
    bpftruss = live.attach(everywhere.pid, "-f", *options)
    table = run_all(everywhere)
    report = bpftruss.report()
    must_equal(report, table)
    assert len(report.all("pid")) == 1 + os.cpu_count()


def test_each_cpu_remembers_the_record_of_its_own_thread(live, everywhere):
    """The first thread is where one of the others is; either may have been there last."""
    steer = live.add(Steer, everywhere.pid)
    run_threads(everywhere)
    last = json.loads(steer.ask("hints"))
    own = {tid: cpu_of(tid) for tid in everywhere.threads()}
    assert [own.get(tid) for tid in last] == list(range(os.cpu_count()))


def test_without_room_calls_of_every_cpu_add_up(live, everywhere):
    bpftruss = live.attach(everywhere.pid, "-f", "--max-tasks", 2)
    table = run_all(everywhere)
    report = bpftruss.report(lossy=True)
    assert totals(report.counts()) == totals(table.counts())
    assert report.losses["task_table_full"] > report.sum("calls") / 2


def test_without_room_each_cpu_has_rows_of_its_own(live, everywhere):
    steer = live.add(Steer, everywhere.pid, 2)
    run_threads(everywhere)
    calls = json.loads(steer.ask("sets"))
    here = os.cpu_count()
    assert len(calls) >= here
    # Each CPU has four visits of three threads, of whom two at most have a record.
    assert min(calls[:here]) >= 2 * 101 and not any(calls[here:])
    assert steer.report(lossy=True).losses["task_table_full"] == sum(calls)
