# SPDX-License-Identifier: BSD-2-Clause
"""
A target that never pauses, and what may befall it while it is counted: it is killed, stopped,
frozen, traced, execs, changes its name. All calls that it made are counted, and none besides.
"""

import contextlib
import mmap
import signal
import struct
import subprocess
import time

import pytest

from cgroups import frozen
from harness import DEADLINE_S, need, slurp, until

END, EXEC, RENAME = 1, 2, 3


class Lives:
    """The workload of that name, and the page that it shares with us."""

    def __init__(self, live, directory):
        path = directory / "page"
        path.write_bytes(bytes(4096))
        self.file = open(path, "r+b")
        self.page = mmap.mmap(self.file.fileno(), 4096)
        self.workload = live.workload("lives", path)
        self.pid = self.workload.pid

    def numbers(self):
        return struct.unpack_from("QQQ", self.page)

    def done(self):
        return self.numbers()[1]

    def order(self, number):
        struct.pack_into("Q", self.page, 16, number)

    def works(self):
        """It has got on since this was called."""
        before = self.done()
        until(lambda: self.done() > before + 1000, "the target gets on")

    def obeys(self, number):
        self.order(number)
        until(lambda: self.numbers()[2] == 0, "the target does what it is told")
        self.works()


@pytest.fixture
def lives(live, tmp_path):
    target = Lives(live, tmp_path)
    yield target
    target.page.close()
    target.file.close()


def start(live, lives, *options):
    bpftruss = live.attach(lives.pid, *options)
    lives.workload.go()
    lives.works()
    return bpftruss


def finish(lives, bpftruss):
    lives.works()
    lives.order(END)
    report = bpftruss.report()
    begun, done, _ = lives.numbers()
    assert begun == done == report.total("getppid")
    return report


# --- what may befall it --------------------------------------------------------------------------


def stop(lives):
    lives.workload.pause()
    lives.workload.signal(signal.SIGCONT)


@contextlib.contextmanager
def traced(lives, end):
    """A tracer has come, and is ended by a signal."""
    argv = [need("strace"), "-qq", "-o", "/dev/null", "-p", str(lives.pid)]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as strace:
        tracer = b"\nTracerPid:\t%d\n" % strace.pid
        try:
            until(lambda: tracer in slurp("/proc/%d/status" % lives.pid), "strace attaches")
            yield
        finally:
            strace.send_signal(end)
            try:
                strace.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                strace.kill()
                raise


def freeze(lives):
    with frozen(lives.pid):
        before = lives.done()
        time.sleep(0.05)
        assert lives.done() == before
    lives.works()


def trace(lives):
    """A tracer comes, sees every call and goes."""
    with traced(lives, signal.SIGINT):
        lives.works()


EVENTS = {"stop": stop, "freeze": freeze, "trace": trace,
          "rename": lambda lives: lives.obeys(RENAME),
          "become": lambda lives: lives.obeys(EXEC)}  # fmt: skip


@pytest.mark.parametrize("event", EVENTS)
def test_a_target_is_counted_exactly_whatever_befalls_it(live, lives, event):
    bpftruss = start(live, lives)
    for _ in range(3):
        EVENTS[event](lives)
        lives.works()
    finish(lives, bpftruss)


def test_a_target_is_counted_exactly_when_all_befalls_it(live, lives):
    bpftruss = start(live, lives, "-f")
    for event in EVENTS.values():
        event(lives)
    report = finish(lives, bpftruss)
    report.must_have("execve", calls=1, errors=0)
    assert report.only("prctl")["calls"] >= 1


@pytest.mark.parametrize("how", [contextlib.nullcontext, frozen], ids=["running", "frozen"])
def test_a_target_that_is_killed_has_the_calls_that_it_made(live, lives, how):
    bpftruss = start(live, lives)
    with how(lives.pid):
        lives.workload.signal(signal.SIGKILL)
    report = bpftruss.report()
    begun, done, _ = lives.numbers()
    assert done <= report.total("getppid") <= begun <= done + 1


def test_a_target_that_is_frozen_all_the_time_is_attached_to_and_let_go(live, lives):
    lives.workload.go()
    lives.works()
    with frozen(lives.pid):
        before = lives.done()
        report = live.attach(lives.pid).interrupt()
        assert report.total("getppid") == 0 and lives.done() == before
    lives.works()


def test_a_target_that_is_traced_at_attach_is_counted_exactly(live, lives):
    with traced(lives, signal.SIGKILL):
        bpftruss = start(live, lives)
    finish(lives, bpftruss)
