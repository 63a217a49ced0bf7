# SPDX-License-Identifier: BSD-2-Clause
"""
Tests context switches that nobody saw, as where the kernel runs no program while some task is
current. Times that the scheduler knows are made good; the others are a loss.
"""

import socket
import sys
import time

import pytest

from harness import Process, until
from test_cost import Steer

COMPUTES = 0.6
# A time mended wrongly is off by this much: far more than a busy host or a hypervisor disturbs.
UNSEEN = 0.3

# It computes for a while for every three bytes, makes a call, and says how long it had a CPU since
# it had them: by the clock of its thread, which counts no time off the CPU, nor what a hypervisor
# takes. At real-time priority, if it may: others do not take the CPU away from it.
TARGET = """
import os, socket, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except PermissionError:
    pass
bytes = socket.socket(fileno=0)
while True:
    print("asleep", flush=True)
    bytes.recv(3, socket.MSG_WAITALL)
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < %d:
        pass
    os.getppid()
    print(time.thread_time_ns() - begin, flush=True)
""" % (COMPUTES * 1e9)


class Target(Process):
    def __init__(self, directory):
        self.bytes, other = socket.socketpair()
        super().__init__(directory, [sys.executable, "-c", TARGET], stdin=other)
        other.close()
        self.rounds = 0
        self.wait_asleep()

    def wait_asleep(self):
        """It has finished so many rounds, and waits for bytes."""

        def asleep():
            lines = self.stdout().split(b"\n")[:-1]
            return len(lines) == 2 * self.rounds + 1 and self.state() == "S"

        until(asleep, "it waits")

    def round(self, steer, pieces):
        """A call that gets its bytes in so many pieces, unseen; how long it computed then."""
        self.wait_asleep()
        steer.step("blind")
        time.sleep(UNSEEN)
        for piece in pieces:
            self.bytes.send(piece)
            time.sleep(UNSEEN / len(pieces))
        steer.step("seeing")
        self.rounds += 1
        self.wait_asleep()
        return int(self.stdout().split(b"\n")[2 * self.rounds - 1])


def test_a_switch_in_that_was_not_seen_takes_no_cpu_time_away(live):
    target = live.add(Target)
    steer = live.add(Steer, target.pid)
    for _ in range(5):
        before = steer.report(lossy=True)
        computed = target.round(steer, [b"123"])
        report = steer.report(lossy=True)
        if report.losses == before.losses:
            break
        # It was preempted before anybody looked, and says so: it tries again.
    else:
        pytest.skip("preempted each time before anybody looked")
    cpu = report.data["processes"][0]["cpu_ns"] - before.data["processes"][0]["cpu_ns"]
    assert abs(cpu - computed) < UNSEEN / 2 * 1e9


def test_a_switch_in_that_nobody_can_tell_the_time_of_is_a_loss(live):
    """It came and went three times in one call: how long it ran meanwhile is not known."""
    target = live.add(Target)
    steer = live.add(Steer, target.pid)
    target.round(steer, [b"1", b"2", b"3"])
    report = steer.report(lossy=True)
    assert report.losses["switch_unseen"] >= 1
    assert report.data["exact"] is False
    # Unknown time is taken for sleep: the time of its call is no CPU time.
    (row,) = [row for row in report.rows if row["syscall"] == "recvfrom"]
    assert report.data["processes"][0]["cpu_ns"] < (COMPUTES + UNSEEN / 2) * 1e9, row
