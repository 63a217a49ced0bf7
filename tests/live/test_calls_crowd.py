# SPDX-License-Identifier: BSD-2-Clause
"""Single calls of programs and hosts that are too much: what is shown is bounded, right, and adds up."""

import re
import resource
import subprocess
import sys

import pytest

from call_lines import Calls, attach, show
from cgroups import need_threads
from harness import skip_if_sanitized, slurp, until

OF_A_BUSY_HOST = {"calls"}


def peak_bytes(process):
    return int(re.search(r"VmHWM:\s+(\d+) kB", slurp("/proc/%d/status" % process.pid).decode())[1]) << 10


def test_calls_that_are_as_large_as_can_be_are_shown_or_stated(live):
    """Their makers are as fast as they can be; the reader takes what it can, and not too much memory."""
    skip_if_sanitized()
    target = live.workload("torrent", "large", 50000)
    bystander = live.workload("calls")
    calls = attach(live, [target.pid, bystander.pid], "-f", "-s", 1022)
    before = peak_bytes(calls)
    target.go()
    assert target.wait() == 0
    peak = peak_bytes(calls)
    lines = calls.interrupt()
    assert peak - before < 256 << 20
    assert lines.conclusion.counted == sum(row["calls"] for row in target.table().rows)
    assert lines.conclusion.shown > 1000
    longest = 8 * len('{iov_base="", iov_len=4096}, ') + 4 * 8 * 1022 + 200
    assert max(map(len, lines.text.splitlines())) < longest
    assert re.search(r"[^ -~\n\t…]", lines.text) is None


def test_a_host_of_sleeping_threads_does_not_stall_what_is_awake(live):
    skip_if_sanitized()
    need_threads(5000)
    target = live.workload("torrent", "masses", 200, 5000)
    calls = live.add(Calls, ["-a", "-l", "-t", "getppid"]).wait_attached()
    before = peak_bytes(calls)
    target.go()
    assert target.wait() == 0
    until(lambda: calls.shown().count("\n%d/" % target.pid) or calls.popen.poll() is not None, "lines")
    peak = peak_bytes(calls)
    lines = calls.interrupt()
    shown = [call for call in lines.of("getppid") if call.pid == target.pid]
    stated = sum(count for tid, count in lines.gaps if tid in {call.tid for call in shown})
    assert len(shown) + stated == target.table().total("getppid") == 100 * 200
    assert len({call.tid for call in shown}) == 100
    assert peak - before < 128 << 20


def test_each_thread_of_a_crowd_that_sleeps_is_said_to_once(live):
    lines = show(live, "torrent", "lull", 20, 300, options=["-l", "-t", "read"])
    sleeping = [call.tid for call in lines.calls if call.is_asleep()]
    assert len(sleeping) == len(set(sleeping)) == 300
    # The barrier; and each of them ends with the process.
    assert len(lines.of("read")) == 1 + 300


SLEEPERS = """
import sys, threading
for _ in range(int(sys.argv[1])):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("asleep", flush=True)
sys.stdin.read()
"""


def test_threads_that_slept_before_and_are_too_many_to_examine_are_counted(live):
    target = live.spawn(sys.executable, "-S", "-c", SLEEPERS, 300, stdin=subprocess.PIPE)
    until(lambda: target.stdout(), "they sleep")
    calls = live.add(Calls, ["--last", "10s", "-d", "1.2", "-p", target.pid])
    assert calls.wait() == 0
    assert calls.shown().count("(sleeping...)\n") == 256
    assert "bpftruss: 45 threads that slept from the start on were not examined: " in calls.stderr()


def test_threads_in_calls_that_were_not_asked_for_take_no_places_of_others(live):
    target = live.spawn(sys.executable, "-S", "-c", SLEEPERS, 300, stdin=subprocess.PIPE)
    until(lambda: target.stdout(), "they sleep")
    calls = live.add(Calls, ["--last", "10s", "-d", "1.2", "-t", "read", "-p", target.pid])
    assert calls.wait() == 0
    assert calls.shown().count("(sleeping...)\n") == 1
    assert "not examined" not in calls.stderr()


OPENS_LONG_NAMES = """
import os
for _ in range(4):
    os.mkdir("x" * 200)
    os.chdir("x" * 200)
for _ in range(4000):
    os.open(".", os.O_RDONLY)
"""


def test_names_that_find_no_room_are_counted(live, tmp_path):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4100:
        pytest.skip("no process may open so many files here")
    calls = live.add(Calls, [sys.executable, "-c", OPENS_LONG_NAMES], cwd=tmp_path,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4100, hard)))
    lines = calls.lines().must_have_lost_nothing()
    assert sum('(AT_FDCWD, ".", ' in call.text for call in lines.ended) == 4000
    (count,) = re.findall(r"^bpftruss: (\d+) names of descriptors forgotten for want of memory$",
                          calls.stderr(), re.M)
    # Names take 2 MiB of one process, and these more than 800 bytes each.
    assert 4000 - (2 << 20) / 800 < int(count) < 4000


@pytest.mark.parametrize("options", [[], ["--max-tasks", 50]])
def test_a_fork_bomb_adds_up(live, options):
    target = live.workload("bomb", 2000)
    calls = attach(live, target.pid, "-f", *options)
    target.play()
    lines = calls.lines(has_room=not options)
    assert lines.conclusion.counted == sum(row["calls"] for row in target.table().rows)
    # Whoever has a record is shown.
    assert lines.conclusion.shown > 50
