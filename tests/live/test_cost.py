# SPDX-License-Identifier: BSD-2-Clause
"""
Tests what counting costs, by its own word, and what it leaves out when told that it is too much.
"""

import json
import os
import sys

import pytest

from harness import (BUILD, Report, Talker, check_stacks, locked_bytes, must_equal, must_include,
                     until)  # fmt: skip

# Makes calls that succeed, fail or are none, as a line of its stdin says; says when it is done.
CALLER = """
import ctypes, os, sys
def fail():
    try:
        os.close(9999)
    except OSError:
        pass
libc = ctypes.CDLL(None)
words = {"ask": os.getppid, "fail": fail, "invent": lambda: libc.syscall(100000)}
print("ready", flush=True)
for line in sys.stdin:
    word, times = line.split()
    for _ in range(int(times)):
        words[word]()
    print("done", flush=True)
"""


class Steer(Talker):
    """tests/collect/steer.c: a collector that counts a process and does what it is told."""

    def __init__(self, directory, pid, *options):
        super().__init__(directory, [os.path.join(BUILD, "collect", "steer"), pid, *options])

    def step(self, name):
        assert self.ask(name) == b"ok"

    def report(self, lossy=False):
        return Report(self.ask("report"), lossy)

    def cost(self):
        return json.loads(self.ask("cost"))


@pytest.fixture
def caller(live):
    return live.add(Talker, [sys.executable, "-c", CALLER])


def test_no_call_is_lost_when_a_bucket_wraps(live, caller):
    """A bucket that two more calls wrap gets these, or many: then it has 2^32 and more."""
    steer = live.add(Steer, caller.pid)
    caller.ask("ask 1000")
    caller.wait_asleep_in("read")
    steer.step("brim")
    report = steer.report(lossy=True)
    before = {low: count for low, _, count in report.only("getppid")["histogram"]}
    caller.ask("ask 1000")
    report = steer.report(lossy=True)
    assert set(report.losses) <= {"switch_unseen"}
    after = {low: count for low, _, count in report.only("getppid")["histogram"]}
    gained = {low: count - before.pop(low, 0) for low, count in after.items()}
    assert not before and sum(gained.values()) == 1000
    assert min(gained.values()) >= 0 and max(after.values()) > 1 << 32


# --- less, when told so --------------------------------------------------------------------------


def test_errnos_can_be_left_out_for_a_while(live, caller):
    steer = live.add(Steer, caller.pid)
    caller.ask("fail 10")
    assert steer.report().only("close")["errnos"] == {"EBADF": 10}
    steer.step("no_errnos")
    caller.ask("fail 7")
    report = steer.report(lossy=True)
    assert report.only("close")["errors"] == 17
    assert report.only("close")["errnos"] == {"EBADF": 10}
    named = sum(sum(row["errnos"].values()) for row in report.rows)
    assert report.sum("errors") - named == 7
    report.must_lose(errnos_off=7)
    assert report.data["exact"] is False
    steer.step("normal")
    caller.ask("fail 5")
    report = steer.report(lossy=True)
    assert report.only("close")["errors"] == 22
    assert report.only("close")["errnos"] == {"EBADF": 15}
    report.must_lose(errnos_off=7)


def steered(live, *workload, options=()):
    target = live.workload(*workload)
    return target, live.add(Steer, target.pid, *options)


def test_without_errnos_all_else_is_counted(live):
    target, steer = steered(live, "calls")
    steer.step("no_errnos")
    target.play()
    report, table = steer.report(lossy=True), target.table()
    assert report.sum("errors") > 0
    report.must_lose(errnos_off=report.sum("errors"))
    for row in table.rows:
        row["errnos"] = {}
    must_equal(report, table)


def other_stacks(row):
    return sum(stack["calls"] for stack in row["stacks"] if stack["end"] == "other_stacks")


def test_stacks_can_be_left_out_for_a_while(live, caller):
    steer = live.add(Steer, caller.pid, "stacks")
    caller.ask("fail 10")
    assert other_stacks(steer.report().only("close")) == 0
    for step in ("no_stacks", "no_errnos"):
        steer.step(step)
        caller.ask("fail 7")
    steer.step("normal")
    caller.ask("fail 5")
    report = steer.report(lossy=True)
    row = report.only("close")
    assert row["calls"] == row["errors"] == 29
    assert other_stacks(row) == 14
    report.must_lose(errnos_off=7)
    for row in report.rows:
        check_stacks(row)


def test_no_stack_is_taken_while_stacks_are_off(live):
    """Calls that hide their caller have no stack either, nor those that never return."""
    target, steer = steered(live, "execs", "vfork", options=["stacks"])
    steer.step("no_stacks")
    target.play()
    report = steer.report()
    must_include(report, target.table())
    assert {stack["end"] for stack in report.stacks() if stack["calls"]} == {"other_stacks"}
    assert steer.cost()["stacks"][0] == 0


# --- what it costs -------------------------------------------------------------------------------


def test_the_programs_are_sampled(live, caller):
    """The sample has one run in 1,024; only a benchmark can know what the mean should be."""
    steer = live.add(Steer, caller.pid)
    cost = steer.cost()
    assert cost["call_ns"] == cost["call_samples"] == 0
    caller.ask("ask 400000")
    cost = steer.cost()
    assert 400 < cost["call_samples"] < 1600
    assert 1 < cost["call_ns"] <= 200_000  # of two programs, each at most 0.1 ms
    calls_ns = cost["call_ns"] / 2 * cost["call_samples"] * 1024
    switches_ns = cost["switch_ns"] * cost["switch_samples"] * 1024
    # The two programs of a call are sampled about as often.
    assert cost["programs_ns"] == pytest.approx(calls_ns + switches_ns, rel=0.3)


def test_the_tables_say_how_full_they_are(live, caller):
    steer = live.add(Steer, caller.pid)
    caller.ask("fail 3")
    caller.wait_asleep_in("read")
    cost, report = steer.cost(), steer.report()
    rows = [row for row in report.rows if row["calls"]]
    assert cost["records"] == [1, 3072]
    assert cost["slots"] == [len(rows), 40000]
    assert cost["tallies"] == [sum(len(row["errnos"]) for row in rows), 12288]
    assert cost["foreign"][0] == cost["stacks"][0] == 0
    assert cost["threads"] == cost["processes"] == 1
    caller.ask("invent 2")
    assert steer.cost()["foreign"] == [1, 8000]


def test_what_has_ended_takes_no_room(live):
    target, steer = steered(live, "calls")
    target.play()
    # Who waits for a process may know of its end before its last context switch.
    until(lambda: steer.cost()["records"][0] == 0, "its record is given back")
    report, cost = steer.report(), steer.cost()
    must_equal(report, target.table())
    assert {cost[name][0] for name in ("records", "slots", "tallies", "foreign", "stacks")} == {0}
    assert cost["threads"] == cost["processes"] == 0


def test_threads_are_no_processes(live):
    target, steer = steered(live, "sleepers")
    target.go()
    until(lambda: len(target.threads()) == 3, "three threads")
    cost = steer.cost()
    assert cost["threads"] == cost["records"][0] == 3
    assert cost["processes"] == 1


def test_the_memory_is_what_the_kernel_says(live, caller):
    steer = live.add(Steer, caller.pid)
    locked, bytes_now = locked_bytes(steer.pid), steer.cost()["kernel_bytes"]
    assert 0 < bytes_now < 34 << 20
    # Hashes grow on newer kernels.
    assert bytes_now == pytest.approx(locked, rel=0.01)
