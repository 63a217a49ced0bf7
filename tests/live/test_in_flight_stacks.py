# SPDX-License-Identifier: BSD-2-Clause
"""The user stacks that --in-flight shows: of threads that sleep on, each frame the one that eu-stack finds."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from harness import IS_X86, Process, run, slurp, until
from stacks import (BUILDS, MODES, Wait, copy, fixture, frames_outside_libc, lines_outside_libc,
                    stack_differences, stack_text, symbols, symbols_outside_libc,
                    wait_everywhere)  # fmt: skip
from test_stack_users import folder_for_all, mount_overlay, mount_tmpfs, replace_contents

pytestmark = pytest.mark.skipif(not IS_X86, reason="stacks of sleeping threads: x86-64 only")


def told(*pids):
    """What --in-flight says: {pid: items}."""
    options = [word for pid in pids for word in ("-p", pid)]
    result = run("--in-flight", "--json", "--top", 999, *options)
    assert result.returncode == 0, result.stderr
    found = {}
    for item in json.loads(result.stdout)["in_flight"]:
        found.setdefault(item["pid"], []).append(item)
    return found


def slurp_wchan(pid):
    return slurp("/proc/%d/wchan" % pid).decode()


def text_of(pid):
    result = run("--in-flight", "-p", pid)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def waiting(live_together):
    """All modes of all builds of the program whose stacks are known, and what is said of them."""
    each = wait_everywhere(live_together)
    return each, told(*(one.target for one in each))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("build", BUILDS)
def test_every_stack_is_the_one_that_eu_stack_finds(waiting, build, mode):
    processes, items = waiting
    fixture("chain-" + build)
    (each,) = [each for each in processes if (each.build, each.mode) == (build, mode)]
    (item,) = [item for item in items[each.target] if item["syscall"] == "read"]
    stack = item["user_stack"]
    differ = [stack_differences(stack, frames) for frames in each.expected.values()]
    assert [] in differ, "\n".join(min(differ, key=len)) + "\n\n" + stack_text(stack)
    assert stack["end"] == "complete"
    assert item["threads"] == (each.nr_threads if mode == "threads" else 1)


def test_the_parent_of_a_vfork(live):
    each = live.add(Wait, "O2", "vfork", child=True)
    (item,) = told(each.pid)[each.pid]
    assert symbols_outside_libc(item["user_stack"])[:2] == ["wait_in_vfork", "main"]
    assert item["user_stack"]["end"] == "complete"


def test_a_line_for_each_frame(live):
    each = live.add(Wait, "O2", "plain")
    lines = text_of(each.pid).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("    user:  "))
    frames = [re.sub(r"^ *(user:)? *", "", line) for line in lines[first:]]
    names = lines_outside_libc(frames)
    assert names[:5] == ["chain-O2`" + name for name in "wait_here three two one main".split()]
    assert names[-1] == "chain-O2`_start"
    assert not any("called from:" in line for line in lines)


def test_the_outermost_of_many_frames_are_counted(live):
    each = live.add(Wait, "O2", "deep", number=100)
    stack = told(each.pid)[each.pid][0]["user_stack"]
    frames = len(stack["frames"])
    assert frames > 100
    text = text_of(each.pid)
    of_libc = frames - len(frames_outside_libc(stack))
    # Below it is what waits.
    assert text.count("`deeper+") == 30 - of_libc - 1
    assert "[%d more frames]" % (frames - 30) in text


def test_a_stack_that_is_too_deep_says_so(live):
    each = live.add(Wait, "O2", "deep", number=1000)
    (item,) = told(each.pid)[each.pid]
    assert item["user_stack"]["end"] == "truncated"
    assert len(item["user_stack"]["frames"]) == 127
    assert "[truncated]" in text_of(each.pid)


TURNS = {("nap", *["narrow"] * 16, "nap_in_turns"), ("nap", *["wide"] * 10, "nap_in_turns")}


def test_threads_that_go_on_have_stacks_of_one_moment_or_none(live):
    """They sleep a few milliseconds here and there: any other chain would be of both."""
    each = [live.add(Process, [fixture("chain-O2"), "turns"]) for _ in range(8)]
    seen = set()

    def look():
        for items in told(*(one.pid for one in each)).values():
            stack = items[0].get("user_stack")
            if not stack:
                continue
            names = symbols_outside_libc(stack)
            assert stack["end"] == "complete" and "main" in names, stack_text(stack)
            seen.add(tuple(names[: names.index("main")]))
            assert seen <= TURNS, stack_text(stack)
        return seen == TURNS

    for _ in range(20):
        look()
    until(look, "both ways are seen")


PYTHON = "import socket; a, b = socket.socketpair(); print(flush=True); a.recv(1)"


def test_python_down_to_its_first_frame(live):
    with subprocess.Popen([sys.executable, "-c", PYTHON], stdout=subprocess.PIPE) as python:
        python.stdout.readline()
        item = until(
            lambda: [
                item for item in told(python.pid)[python.pid] if item.get("syscall") == "recvfrom"
            ],
            "it waits in recv",
        )[0]
        python.kill()
    stack = item["user_stack"]
    assert stack["end"] == "complete", stack_text(stack)
    assert len(stack["frames"]) > 10
    assert symbols(stack)[-1] == "_start" or "__libc_start_main" in symbols(stack)


# Machine code that calls a function and returns: with a frame pointer, and as CPython's trampolines.
JIT = """
import ctypes, mmap, os, sys
begin, end = {"frame": (b"\\x55\\x48\\x89\\xe5", b"\\x5d\\xc3"),
              "trampoline": (b"\\x48\\x83\\xec\\x08", b"\\x48\\x83\\xc4\\x08\\xc3"),
              "int80": (b"\\xb8\\x1d\\0\\0\\0\\xcd\\x80", b""),
              "bare": (b"\\x55\\x31\\xed\\xff\\xcd", b"\\x5d\\x90\\xc3")}[sys.argv[1]]
pause = ctypes.cast(ctypes.CDLL(None).pause, ctypes.c_void_p).value
code = begin + b"\\x48\\xb8" + pause.to_bytes(8, "little") + b"\\xff\\xd0" + end
memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
memory.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
if sys.argv[2:]:
    with open("/tmp/perf-%d.map" % os.getpid(), "w") as out:
        out.write("%x 40 made_up\\n" % address)
print(hex(address), flush=True)
ctypes.CFUNCTYPE(None)(address)()
"""


@contextlib.contextmanager
def jit(*words):
    """(the item of its call, the address of its code) of a process that waits below code of no file."""
    with subprocess.Popen([sys.executable, "-c", JIT, *words], stdout=subprocess.PIPE) as python:
        address = int(python.stdout.readline(), 16)
        try:
            yield until(
                lambda: [item for item in told(python.pid)[python.pid]
                         if item.get("syscall") == "pause"],
                "it waits",
            )[0]["user_stack"], address  # fmt: skip
        finally:
            python.kill()
            with contextlib.suppress(FileNotFoundError):
                os.unlink("/tmp/perf-%d.map" % python.pid)


@pytest.mark.parametrize("kind", ["frame", "trampoline"])
def test_code_of_no_file_is_walked_and_named_by_its_perf_map(kind):
    with jit(kind, "named") as (stack, _):
        frame = frames_outside_libc(stack)[0]
    assert (frame["module"], frame["symbol"]) == ("[jit]", "made_up"), stack_text(stack)
    assert stack["end"] == "complete", stack_text(stack)


def test_code_of_no_file_without_a_map_is_an_address():
    with jit("frame") as (stack, address):
        frame = frames_outside_libc(stack)[0]
    assert not frame["module"] and not frame["symbol"]
    assert address < frame["offset"] < address + 64
    assert stack["end"] == "complete", stack_text(stack)


def test_code_without_a_frame_pointer_ends_a_stack_that_says_so():
    with jit("bare") as (stack, _):
        assert len(frames_outside_libc(stack)) == 1
    assert stack["end"] == "no_frame_pointer", stack_text(stack)


def test_a_32_bit_call_has_no_stack():
    with jit("int80") as (stack, _):
        assert stack is None


def test_more_stacks_than_are_taken_at_a_time():
    sleepers = [subprocess.Popen(["sleep", "1000"]) for _ in range(260)]
    try:
        pids = ",".join(str(sleeper.pid) for sleeper in sleepers)
        for sleeper in sleepers:
            until(lambda: "nanosleep" in slurp_wchan(sleeper.pid), "it sleeps")
        text = run("--in-flight", "--top", 999, "-p", pids).stdout
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()
    assert text.count("    user:  ") == 260
    assert "no user stack" not in text


# Its stack goes on in memory for which it would have to be asked: whoever reads there waits for ever.
HOLE = """
import ctypes, fcntl, mmap, struct
libc = ctypes.CDLL(None)
memory = mmap.mmap(-1, 3 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
faults = libc.syscall(323, 0)
fcntl.ioctl(faults, 0xc018aa3f, struct.pack("QQQ", 0xaa, 0, 0))
fcntl.ioctl(faults, 0xc020aa00, struct.pack("QQQQ", address + 8192, 4096, 1, 0))
pause = ctypes.cast(libc.pause, ctypes.c_void_p).value
memory.write(b"\\x48\\xb8" + pause.to_bytes(8, "little") + b"\\x48\\xbc" +
             (address + 8192 - 64).to_bytes(8, "little") + b"\\xff\\xd0")
memory[4096:4100] = b"here"
print(faults, flush=True)
ctypes.CFUNCTYPE(None)(address)()
"""


def test_memory_that_does_not_come_keeps_nobody_waiting(live):
    other = live.add(Wait, "O2", "plain")
    with subprocess.Popen([sys.executable, "-c", HOLE], stdout=subprocess.PIPE) as python:
        try:
            if int(python.stdout.readline()) < 0:
                pytest.skip("no userfaultfd here")
            (item,) = until(
                lambda: [item for item in told(python.pid)[python.pid]
                         if item.get("syscall") == "pause"],
                "it waits",
            )  # fmt: skip
            assert item["user_stack"] is None and item["caller"] == "libc.so.6"
            assert told(python.pid, other.pid)[other.pid][0]["user_stack"]["end"] == "complete"
        finally:
            python.kill()


@pytest.mark.parametrize("gone", ["replaced", "deleted"])
def test_names_are_those_of_what_is_mapped(live, tmp_path, gone):
    """At the path of the program there is now one that has other functions there, or none."""
    path = copy("chain-O2", tmp_path / "program")
    each = live.add(Process, [path, "plain"], stdin=subprocess.PIPE)
    each.wait_asleep_in("read")
    os.unlink(path)
    if gone == "replaced":
        shutil.copy(fixture("loads"), path)
    (item,) = told(each.pid)[each.pid]
    names = symbols_outside_libc(item["user_stack"])
    assert names[:5] == ["wait_here", "three", "two", "one", "main"]
    assert {frame["module"] for frame in item["user_stack"]["frames"]} == {"libc.so.6", "program"}


# Waits below a function of a library that calls what it is told to.
BELOW = """
import ctypes, sys
libc = ctypes.CDLL(None)
print(flush=True)
ctypes.CDLL(sys.argv[1]).alpha_one(libc.pause, 0)
"""


@pytest.mark.parametrize("written", [False, True], ids=["as it was", "written to"])
def test_a_file_of_an_overlay_that_was_written_to_names_nothing(written):
    """It has its number still, but the process has what was there before, under other names."""
    with folder_for_all() as top:
        mount_tmpfs(top)
        path = os.path.join(mount_overlay(top), "victim.so")
        argv = [sys.executable, "-c", BELOW, path]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as python:
            try:
                python.stdout.readline()
                until(lambda: slurp("/proc/%d/syscall" % python.pid).startswith(b"34 "), "it waits")
                if written:
                    replace_contents(path, fixture("beta.so"))
                (item,) = told(python.pid)[python.pid]
            finally:
                python.kill()
    frame = frames_outside_libc(item["user_stack"])[0]
    assert frame["module"] == "victim.so"
    assert frame["symbol"] == (None if written else "alpha_one"), stack_text(item["user_stack"])
