# SPDX-License-Identifier: BSD-2-Clause
"""
Call stacks of programs whose stacks are known, each frame by frame the one that eu-stack found while
the program waited in the same call.
"""

import re
import shlex
import subprocess
import sys

import pytest

from harness import BPFTRUSS, IS_X86
from stacks import (BUILDS, MODES, Wait, count_waits, fixture, judge, must_be_complete,
                    output_of, stack_differences, stack_text, symbols, symbols_outside_libc,
                    wait_everywhere)  # fmt: skip


@pytest.fixture(scope="module")
def counted(live_together):
    """All modes of all builds, counted at once, and the report."""
    waiting = wait_everywhere(live_together)
    bpftruss = live_together.attach([each.target for each in waiting], "--stacks")
    for each in waiting:
        each.finish()
    return waiting, bpftruss.report()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("build", BUILDS)
def test_every_stack_is_the_one_that_eu_stack_finds(counted, build, mode):
    waiting, report = counted
    fixture("chain-" + build)
    (each,) = [each for each in waiting if (each.build, each.mode) == (build, mode)]
    (row,) = report.select("read", pid=each.target)
    judge(each, row)
    must_be_complete(row for row in report.rows if row["pid"] in (each.pid, each.target))


def test_handlers_were_entered_from_stubs_of_the_linker(live):
    """The mode of that purpose above would say nothing otherwise."""
    each = live.add(Wait, "fixed", "steps", **MODES["steps"])
    each.finish()
    stub = []
    for frames in each.expected.values():
        names = [frame.name for frame in frames]
        if "__restore_rt" in names:
            stub.append(frames[names.index("__restore_rt") + 1])
    sections = output_of("readelf", "-SW", fixture("chain-fixed"))
    start, size = re.search(r" \.plt +PROGBITS +(\w+) \w+ (\w+)", sections).groups()
    plt = range(int(start, 16), int(start, 16) + int(size, 16))
    assert {frame.pc % 16 for frame in stub if frame.pc in plt} >= {0, 6, 11}


def test_a_stack_has_127_frames_at_most(live):
    deep = {number: live.add(Wait, "O2", "deep", number) for number in (100, 200)}
    bpftruss = live.attach([each.pid for each in deep.values()], "--stacks")
    for each in deep.values():
        each.finish()
    report = bpftruss.report()
    for number, end in ((100, "complete"), (200, "truncated")):
        (row,) = report.select("read", pid=deep[number].pid)
        (stack,), (expected,) = row["stacks"], deep[number].expected.values()
        assert stack["end"] == end
        assert len(stack["frames"]) == min(len(expected), 127)
        assert stack_differences(stack, expected[:127]) == []


# --- other languages -----------------------------------------------------------------------------


def names_of(stacks):
    return [symbols_outside_libc(stack) for stack in stacks]


def having(stacks, *names):
    return [stack for stack in stacks if all(name in stack for name in names)]


def test_exceptions_of_cxx_pass_through_stacks(live):
    stacks = names_of(count_waits(live, fixture("throws"), waits=5))
    assert len(stacks) == 5
    assert {stack[0] for stack in stacks} == {"shop::wait_here"}
    assert len(having(stacks, "shop::Guard::~Guard")) == 1
    assert len(having(stacks, "shop::order<double>")) == 2
    assert len(having(stacks, "shop::counter<double>")) == 4
    (nobody,) = having(stacks, "shop::nobody_cares")
    # gcc 16 keeps what only throws apart from the rest of main.
    assert "__cxa_throw" in nobody and {"main", "main.cold"} & set(nobody)


def test_rust_has_its_names(live):
    stacks = names_of(count_waits(live, fixture("panics"), waits=3))
    assert all(stack[0] == "panics::wait_here" for stack in stacks)
    assert len(having(stacks, "panics::main")) == 3
    opened = "<panics::Wooden<T> as panics::Door>::open"
    assert len(having(stacks, opened)) == 2
    assert not [name for stack in stacks for name in stack if "17h" in str(name)]


# --- other processes -----------------------------------------------------------------------------


def test_a_32_bit_process_has_no_stacks_but_all_counts(live):
    report, _ = live.run(fixture("small"), options=["--stacks"])
    rows = {name: report.only(name, "i386") for name in ("getppid", "close")}
    assert (rows["getppid"]["calls"], rows["close"]["errors"]) == (7, 3)
    for row in rows.values():
        (stack,) = row["stacks"]
        assert (stack["end"], stack["frames"]) == ("32_bit_process", [])


def test_32_bit_calls_of_a_64_bit_process_have_stacks(live):
    report = live.count_exactly("numbers", options=["--stacks"])
    foreign = [row for row in report.rows if row["abi"] != "x86_64" and row["calls"]]
    assert foreign
    must_be_complete(report.rows)


def test_forked_children_have_the_same_stacks(live):
    report = live.count_exactly("forks", "clone", 50, options=["-f", "--stacks"])
    must_be_complete(report.rows)
    assert {symbols(stack)[-1] for stack in report.stacks()} == {"_start"}


LINKER = "ld-linux-x86-64.so.2"


def begins_a_program(stack):
    """
    The outermost frame is where the kernel starts the program or its linker; stripped ones have no
    names, but call libc's.
    """
    *_, inner, last = [None] + stack["frames"]
    if last["module"] == LINKER:
        return last["symbol"] in ("_start", "_dl_start_user", None)
    if last["symbol"]:
        return last["symbol"] in ("_start", "clone3", "__clone3", "clone", "__clone")
    return str(inner["symbol"]).startswith("__libc_start_main") and last["module"]


def test_a_storm_of_programs_has_no_wrong_stack(live):
    """A complete stack begins where programs and their linker begin."""
    loop = "i=0; while [ $i -lt 100 ]; do /bin/true; /bin/false; i=$((i+1)); done; ls / >/dev/null"
    bpftruss = live.start("sh", "-c", loop, options=["-f", "--stacks"])
    report = bpftruss.report()
    assert report.total("execve") >= 201
    wrong, whole, calls = set(), 0, 0
    for row in report.rows:
        for stack in row["stacks"]:
            calls += stack["calls"]
            if stack["end"] != "complete":
                may_be = stack["end"] in ("table_pending", "paged_out")
                assert may_be, stack_text(stack)
                continue
            whole += stack["calls"]
            if not begins_a_program(stack):
                wrong.add(row["syscall"] + "\n" + stack_text(stack))
    assert wrong == set(), "\n\n".join(wrong)
    assert whole > 0.9 * calls


@pytest.mark.parametrize("options", [[], ["-t", "getppid"]])
def test_a_call_that_is_refused_has_the_stack_of_its_own_caller(live, options):
    target = live.spawn(fixture("refused"), stdin=subprocess.PIPE)
    bpftruss = live.attach(target.pid, "--stacks", *options)
    target.tell(b"x")
    report = bpftruss.report()
    row = report.only("getppid")
    assert row["calls"] == row["denied"] == 100
    (stack,) = row["stacks"]
    assert symbols(stack)[:3] == ["syscall", "asks_parent", "main"]


def test_a_command_has_the_limits_that_it_would_have_without_us(live):
    script = "ulimit -Sn 123; exec %s -c --stacks sh -c 'ulimit -Sn'" % shlex.quote(BPFTRUSS)
    result = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert result.stdout == "123\n"


# Code that is made while a program runs, as CPython's for -X perf: a call between little else.
TRAMPOLINES = """
import ctypes, mmap, sys
CODES = [bytes.fromhex("f30f1efa4883ec08ffd74883c408c3"), bytes.fromhex("f30f1efa554889e5ffd75dc3")]
flags, prot = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
memory = mmap.mmap(-1, 4096, flags=flags, prot=prot)
at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
getppid = ctypes.cast(ctypes.CDLL(None).getppid, ctypes.c_void_p).value
for i, code in enumerate(CODES):
    memory[i * 64 : i * 64 + len(code)] = code
calls = [ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(at + i * 64) for i in range(len(CODES))]
print("ready", flush=True)
sys.stdin.readline()
for call in calls:
    for _ in range(50):
        call(getppid)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(not IS_X86, reason="the code is that of x86-64")
def test_stacks_go_on_behind_trampolines_without_frame_pointers(live):
    target = subprocess.Popen(
        [sys.executable, "-c", TRAMPOLINES], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert target.stdout.readline() == b"ready\n"
    bpftruss = live.attach(target.pid, "--stacks", "-t", "getppid")
    target.stdin.write(b"\n")
    target.stdin.flush()
    assert target.stdout.readline() == b"done\n"
    report = bpftruss.interrupt()
    target.kill()
    target.wait()
    row = report.only("getppid")
    assert row["calls"] == 100
    for stack in row["stacks"]:
        assert stack["end"] == "complete", stack
        assert any(frame["module"] is None for frame in stack["frames"])
