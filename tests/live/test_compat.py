# SPDX-License-Identifier: BSD-2-Clause
"""
Calls of 32-bit programs on 64-bit Arm: numbers, pairing and names of their own ABI. The workload has
no library, so it makes no call that is not written here.
"""

import os
import signal

import pytest

from harness import NATIVE, merge_errnos, program, slurp, until

pytestmark = [
    pytest.mark.skipif(NATIVE != "arm64", reason="64-bit Arm has this, other machines do not"),
    pytest.mark.skipif(
        not os.path.exists(program("compat")), reason="no 32-bit workload was built"
    ),
]

# Name, calls, errnos; the read is the barrier.
CALLS = {
    "read": (1, {}),
    "getppid": (23, {}),
    "close": (13, {"EBADF": 13}),
    "open": (7, {"ENOENT": 7}),
    "syscall_0xbb8": (5, {"ENOSYS": 5}),
    "cacheflush": (3, {}),
    "clone": (4, {}),
    "getuid32": (4, {}),
    "wait4": (4, {}),
    "rt_sigaction": (2, {}),
    "getpid": (3, {}),
    "kill": (3, {}),
    "setitimer": (1, {}),
    "rt_sigreturn": (4, {}),
    "prctl": (2, {}),
    "getgid32": (11, {"EACCES": 11}),
    "exit_group": (5, {}),
}


@pytest.fixture
def compat(live):
    """compat(what) is the workload at its barrier."""

    def start(what):
        target = live.workload("compat", what, asleep=False)
        wait_asleep(target)
        return target

    return start


def wait_asleep(target, call=b""):
    until(lambda: call in slurp("/proc/%d/syscall" % target.pid), "it is in its call")
    until(lambda: target.state() == "S", "the workload sleeps")


def count(live, target, *options):
    bpftruss = live.attach(target.pid, *options)
    target.go()
    return bpftruss.report()


def counts(report):
    """Returns the counts of 32-bit calls, added up over processes."""
    found = {}
    for row in report.rows:
        if row["abi"] != "arm":
            continue
        calls, errnos = found.get(row["syscall"], (0, {}))
        found[row["syscall"]] = (calls + row["calls"], merge_errnos([errnos, row["errnos"]]))
    return found


def test_calls_of_a_32_bit_program_are_those_that_it_made(live, compat):
    report = count(live, compat("calls"), "-f")
    assert counts(report) == CALLS
    assert {row["abi"] for row in report.rows} == {"arm"}
    report.must_have("rt_sigreturn", abi="arm", calls=4, errors=0, untimed=0)


def test_denied_calls_in_32_bits_never_began(live, compat):
    report = count(live, compat("calls"))
    assert report.total("getgid32", "denied", abi="arm") == 11
    assert sum(row["denied"] for row in report.rows) == 11


def test_a_64_bit_command_that_becomes_a_32_bit_program(live):
    """The execve is that of the program before."""
    report, _ = live.run(program("compat"), "exec")
    assert report.only("execve")["calls"] == 1
    assert counts(report) == {"execve": (1, {}), "getppid": (19, {}), "exit_group": (1, {})}


@pytest.mark.parametrize("attach", ["before", "after"])
def test_a_32_bit_sleep_that_is_stopped_goes_on_as_itself(live, compat, attach):
    """Attached to before it was stopped, or after that."""
    target = compat("sleep")
    bpftruss = live.attach(target.pid) if attach == "before" else None
    target.go()
    wait_asleep(target, b"162 ")  # nanosleep
    target.pause()
    bpftruss = bpftruss or live.attach(target.pid)
    target.signal(signal.SIGCONT)
    report = bpftruss.report()
    row = report.only("nanosleep", abi="arm")
    numbers = (2, 1, 0) if attach == "before" else (1, 0, 0)
    assert (row["calls"], row["interrupted"], row["errors"]) == numbers
    assert not report.select("restart_syscall", abi="arm")
