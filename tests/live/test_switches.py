# SPDX-License-Identifier: BSD-2-Clause
"""
Context switches that nobody saw, as where the kernel runs no program while some task is current. What
the scheduler knows of them is made good; what it does not is a loss.
"""

import sys
import time

import pytest

from test_cost import Steer, Talker

MS = 1_000_000

# Naps, so that the clocks are compared; then waits for a word, computes for a while, and says how long
# it had a CPU since that word: by the clock of its thread, which counts no time off the CPU. At real-time
# priority, if it may: others do not take the CPU away from it.
TARGET = """
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except PermissionError:
    pass
print("ready", flush=True)
for line in sys.stdin:
    if line == "nap\\n":
        for _ in range(20):
            time.sleep(0.015)
        print("ok", flush=True)
        continue
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < 300000000:
        pass
    os.getppid()
    print(time.thread_time_ns() - begin, flush=True)
"""


@pytest.fixture
def target(live):
    return live.add(Talker, sys.executable, "-c", TARGET)


def compute_unseen(live, target, steer):
    """Its coming in is not seen; being seen begins while it computes."""
    target.wait_asleep_in("read")
    steer.step("blind")
    target.tell(b"compute\n")
    time.sleep(0.05)
    steer.step("seeing")
    return int(target.answer())


def test_a_switch_in_that_was_not_seen_takes_no_cpu_time_away(live, target):
    steer = live.add(Steer, target.pid)
    target.ask("nap")
    before = steer.report().data["processes"][0]["cpu_ns"]
    for _ in range(5):
        computed = compute_unseen(live, target, steer)
        report = steer.report(lossy=True)
        if "switch_unseen" not in report.losses:
            break
        # It was preempted before anybody looked; that is said, and it tries again.
        target.ask("nap")
        before = steer.report(lossy=True).data["processes"][0]["cpu_ns"]
    else:
        pytest.skip("preempted each time before anybody looked")
    cpu = report.data["processes"][0]["cpu_ns"] - before
    assert computed * 0.97 < cpu < computed * 1.03 + 10 * MS
    assert report.data["exact"]


def test_a_switch_in_that_nobody_can_tell_the_time_of_is_a_loss(live, target):
    steer = live.add(Steer, target.pid)
    target.ask("nap")
    target.wait_asleep_in("read")
    steer.step("amnesia")
    compute_unseen(live, target, steer)
    report = steer.report(lossy=True)
    assert report.losses["switch_unseen"] >= 1
    assert report.data["exact"] is False
    # What is not known is taken for sleep: no CPU time is made up.
    assert report.data["processes"][0]["cpu_ns"] < report.data["elapsed_ns"]
