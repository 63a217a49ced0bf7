# SPDX-License-Identifier: BSD-2-Clause
"""
Call stacks as eu-stack sees them, and those of a report next to them.

eu-stack reads all of .eh_frame, of a process that stands still. A frame of a report is the same if
it is the same address of the same file, and its name is one of those that this address has there.
"""

import contextlib
import fcntl
import functools
import itertools
import os
import re
import shutil
import subprocess
import termios
import threading
import time

import pytest

from harness import BUILD, NUMBERS, Process, Talker, need, slurp, until
from prometheus import Server

FIXTURES = os.path.join(BUILD, "stacks")
READ = b"%d" % NUMBERS["read"]
FRAME_POINTERS = dict(os.environ, BPFTRUSS_FRAME_POINTERS="1")  # as where there is nothing better
DEBUG_ROOT = "/usr/lib/debug/.build-id"


def fixture(name):
    """Where a program of tests/stacks is; skips where it could not be built."""
    path = os.path.join(FIXTURES, name)
    if not os.path.exists(path):
        pytest.skip("%s could not be built here" % name)
    return path


def wait_looked(bpftruss, commands=0):
    """
    Until it has looked at what is new to it, which its children do; the command that it started is one,
    too. It sleeps then: one that still wants a CPU has not begun.
    """
    time.sleep(0.5)
    until(lambda: bpftruss.state() == "S" and len(bpftruss.children()) == commands, "it has looked at all files")


def copy(name, place):
    """The same file with an identity that nobody has seen before."""
    return shutil.copy(fixture(name), str(place))


# --- files ---------------------------------------------------------------------------------------


def output_of(*argv):
    return subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout


def build_id(path):
    """
    Returns (two digits, the others): the folder and the file of its debug file. None: it has none.
    """
    found = re.search("Build ID: (..)(.*)", output_of("readelf", "-nW", path))
    return found and found.groups()


@functools.lru_cache(None)
def demangle(name):
    """Demangles as binutils do, without parameters; Rust's hashes are no part of the name."""
    if not name.startswith(("_Z", "_R")):
        return name
    text = output_of("c++filt", "-p", name).rstrip("\n")
    return re.sub(r"::h[0-9a-f]{16}$|\[[0-9a-f]{15,16}\]", "", text)


def read_symbols(path):
    """{address: {name as it stands there: is it a label, which ends and begins nothing?}}"""
    found = {}
    for line in output_of("readelf", "-sW", path).splitlines():
        match = re.match(r" *\d+: ([0-9a-f]+) +(\S+) (FUNC|NOTYPE|IFUNC) .* (\S+)$", line)
        if match and " UND " not in line:
            is_label = match[3] == "NOTYPE" and match[2] == "0"
            found.setdefault(int(match[1], 16), {})[match[4].split("@")[0]] = is_label
    return found


class ElfFile:
    """Knows what may be said of the code of a file; its symbols may lie in another one."""

    def __init__(self, path, debug=None):
        self.segments = []
        for line in output_of("readelf", "-lW", path).splitlines():
            words = line.split()
            if words and words[0] == "LOAD":
                self.segments.append([int(word, 16) for word in words[1:6]])
        folder = build_id(path)
        if not debug and folder:
            debug = os.path.join(DEBUG_ROOT, folder[0], folder[1] + ".debug")
        self.names = read_symbols(path)
        if debug and os.path.isfile(debug):
            for address, names in read_symbols(debug).items():
                self.names.setdefault(address, {}).update(names)

    def address(self, offset):
        """The address in the file of an offset in it."""
        for start, address, _, size, _ in self.segments:
            if start <= offset < start + size:
                return address + offset - start
        raise AssertionError("no segment has offset %#x" % offset)

    def names_at(self, address):
        return self.names.get(address, {})


@functools.lru_cache(None)
def known_file(identity, path, debug):
    return ElfFile(path, debug)


def elf_file(path, debug=None):
    status = os.stat(path)
    return known_file((status.st_dev, status.st_ino, status.st_mtime_ns), path, debug)


# --- eu-stack ------------------------------------------------------------------------------------


class Frame:
    """Describes one frame of eu-stack: where it is in which file, and what is called there."""

    def __init__(self, pid, mappings, pc, name, debug):
        self.pc, self.name = pc, name
        self.file = None
        for start, end, offset, inode, path in mappings:
            if start <= pc < end:
                self.module = os.path.basename(path.replace(" (deleted)", "")) or None
                if inode:
                    link = "/proc/%d/map_files/%x-%x" % (pid, start, end)
                    self.file = elf_file(link, debug.get(self.module))
                    self.address = self.file.address(pc - start + offset)
                return
        raise AssertionError("%#x is not mapped" % pc)

    def __str__(self):
        return "%s`%s (%#x)" % (self.module, self.name, self.pc)

    def differs(self, got):
        """Why a frame of a report is another one; None if it is not."""
        if not self.file:
            return "" if got["offset"] != self.pc else None
        if got["module"] != self.module:
            return "other module"
        if not got["symbol"]:
            if self.name:
                return "no name"
            return "other address" if got["offset"] != self.address else None
        names = self.file.names_at(self.address - got["offset"])
        if got["symbol"].split("@")[0] not in map(demangle, names):
            return "nothing of that name is there"
        # The C library's assembly has labels in the middle of functions; eu-stack prefers them.
        if self.name not in names and not self.file.names_at(self.address).get(self.name):
            return "other name than " + str(self.name)
        return None


def read_mappings(pid):
    """[(start, end, offset, inode, path)] of a process's code."""
    found = []
    for line in slurp("/proc/%d/maps" % pid).decode("latin-1").splitlines():
        words = line.split(None, 5)
        start, end = (int(word, 16) for word in words[0].split("-"))
        path = words[5] if len(words) > 5 else ""
        if "x" in words[1]:
            found.append((start, end, int(words[2], 16), int(words[4]), path))
    return found


def eu_stacks(pid, debug=None):
    """{thread: [frames, innermost first]} of a process that waits. debug: {module: debug file}"""
    need("eu-stack")
    stacks, mappings = {}, read_mappings(pid)
    # It opens files by path; without -r the path would begin above the root of a chroot.
    argv = ["nsenter", "-t", str(pid), "-m", "-r", "eu-stack", "-r", "-n", "0", "-p", str(pid)]
    for line in output_of(*argv).splitlines():
        if line.startswith("TID "):
            frames = stacks[int(line[4:-1])] = []
        match = re.match(r"#\d+ +0x([0-9a-f]+) *(.*)$", line)
        if match:
            name = match[2].split("@")[0] or None
            frames.append(Frame(pid, mappings, int(match[1], 16), name, debug or {}))
    return stacks


# --- reports -------------------------------------------------------------------------------------


def frame_text(frame):
    return "%s`%s+%#x" % (frame["module"], frame["symbol"], frame["offset"])


def stack_text(stack):
    return "\n".join(map(frame_text, stack["frames"])) + "\n[%s]" % stack["end"]


def symbols(stack):
    return [frame["symbol"] for frame in stack["frames"]]


def frames_outside_libc(stack):
    """
    From the innermost function that is not the C library's: a call goes through one of its own, or,
    since glibc 2.41, through up to four.
    """
    return list(itertools.dropwhile(lambda frame: frame["module"] == "libc.so.6", stack["frames"]))


def symbols_outside_libc(stack):
    return [frame["symbol"] for frame in frames_outside_libc(stack)]


def lines_outside_libc(lines):
    """The functions of the lines of a stack, also without offsets."""
    outside = itertools.dropwhile(lambda line: line.startswith("libc.so.6`"), lines)
    return [re.sub(r"\+0x[0-9a-f]+$", "", line) for line in outside]


def stack_differences(got, expected):
    """Returns one line for each frame of a report's stack that is not the one of eu-stack."""
    lines = []
    if len(got["frames"]) != len(expected):
        lines.append("%d frames, not %d" % (len(got["frames"]), len(expected)))
    for frame, wanted in zip(got["frames"], expected):
        why = wanted.differs(frame)
        if why is not None:
            lines.append("%s is not %s: %s" % (frame_text(frame), wanted, why))
    return lines


def must_be_complete(rows):
    """All calls of these rows have whole stacks."""
    stacks = [(row["syscall"], stack) for row in rows for stack in row["stacks"]]
    broken = {call + "\n" + stack_text(stack) for call, stack in stacks if stack["end"] != "complete"}
    assert broken == set(), "\n\n".join(broken)


# --- fixtures ------------------------------------------------------------------------------------


class Waiting(Process):
    """A fixture that waits in read, on a stack that eu-stack has seen before it is let go on."""

    def __init__(self, directory, argv, debug=None, child=False, waits=1, threads=1, **options):
        super().__init__(directory, argv, stdin=subprocess.PIPE, **options)
        self.debug, self.waits, self.nr_threads = debug, waits, threads
        self.expected = {}  # by program counters: threads may wait on the same stack
        self.target = self.pid
        if child:
            (self.target,) = until(self.children, "a child")
        self.look()

    def reads(self, tid):
        path = "/proc/%d/task/%s/" % (self.target, tid)
        asleep = b"\nState:\tS" in slurp(path + "status")
        return asleep and slurp(path + "syscall").split()[:2] == [READ, b"0x0"]

    def readers(self):
        """The threads that wait for input, once it has all been read and all of them wait."""
        unread = bytearray(4)
        fcntl.ioctl(self.popen.stdin, termios.FIONREAD, unread)
        tids = [tid for tid in os.listdir("/proc/%d/task" % self.target) if self.reads(tid)]
        return tids if len(tids) == self.nr_threads and not any(unread) else None

    def look(self):
        tids = until(self.readers, "wait in read")
        stacks = eu_stacks(self.target, self.debug)
        for tid in tids:
            self.expected[tuple(frame.pc for frame in stacks[int(tid)])] = stacks[int(tid)]

    def finish(self):
        """Calls read twice more from each place where it waits."""
        for left in reversed(range(self.waits)):
            self.tell(b"xx" + b"q" * self.nr_threads)
            if left:
                self.look()
        assert self.wait() == 0, self.stderr()


# How many frames the fixture adds between main and the wait, below a handler or not.
BUILDS = "clang clang-O0 O0 O2 O3-realign fixed static static-pie stripped linked mini".split()
SYMBOLS = {"linked": "chain-O2.debug", "mini": "chain-mini.symbols"}
MODES = {
    "plain": {},
    "deep": {"number": 100},
    "syscall": {},
    "realigned": {},
    "timer": {},
    "altstack": {},
    "fault": {},
    "steps": {"number": 9, "waits": 9},
    "threads": {"number": 5},
    "vfork": {"child": True},
}


class Wait(Waiting):
    """Runs one mode of tests/stacks/chain.c."""

    def __init__(self, directory, build, mode, number=1, **options):
        self.build, self.mode = build, mode
        threads = number if mode == "threads" else 1
        argv = [fixture("chain-" + build), mode, str(number)]
        debug = {os.path.basename(argv[0]): os.path.join(FIXTURES, SYMBOLS.get(build, ""))}
        super().__init__(directory, argv, threads=threads, debug=debug, **options)


def wait_everywhere(live):
    """All modes of all builds of that program."""
    builds = [build for build in BUILDS if os.path.exists(os.path.join(FIXTURES, "chain-" + build))]
    return [live.add(Wait, build, mode, **how) for build in builds for mode, how in MODES.items()]


class Loads(Talker):
    """tests/stacks/loads.c: brings code into its address space, a line of input at a time."""

    def __init__(self, directory, *argv, **options):
        super().__init__(directory, argv or [fixture("loads")], cwd=FIXTURES, **options)
        self.perf_map = "/tmp/perf-%d.map" % self.pid

    def do(self, *lines):
        """A word ends at a blank: paths of fixtures, which may have some, are made relative."""
        for line in lines:
            assert self.ask(line.replace(FIXTURES + "/", "./")) == b"done", line

    def call(self, path, function, number):
        """Loads a library, of which it calls a function so often."""
        self.do("load %s" % path, "call %s %d" % (function, number))

    def count(self, live, *lines, options=(), looks=False):
        """The report of what it does for some lines, after which it ends."""
        bpftruss = live.attach(self.pid, "--stacks", *options)
        self.do(*lines)
        if looks:
            wait_looked(bpftruss)
        self.finish()
        return bpftruss.report()

    def finish(self):
        self.popen.stdin.close()
        assert self.wait() == 0, self.stderr()

    def close(self):
        super().close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.perf_map)


def count_waits(live, *argv, **options):
    """The stacks of a fixture that waits, counted; all are whole, and those that eu-stack finds."""
    each = live.add(Waiting, argv, **options)
    bpftruss = live.attach(each.pid, "--stacks")
    each.finish()
    report = bpftruss.report()
    judge(each, report.only("read"))
    must_be_complete(report.rows)
    return report.stacks("read")


def judge(fixture, row):
    """Each stack that read was called from is one that eu-stack saw; all of those were counted."""
    expected, found = list(fixture.expected.values()), []
    for stack in row["stacks"]:
        differ = [stack_differences(stack, frames) for frames in expected]
        assert [] in differ, "\n".join(min(differ, key=len)) + "\n\n" + stack_text(stack)
        found.append(differ.index([]))
    assert sorted(found) == list(range(len(expected)))


# --- debuginfod ----------------------------------------------------------------------------------


needs_client = pytest.mark.skipif(
    not shutil.which("debuginfod-find"), reason="no debuginfod-find here (package debuginfod)"
)


class DebugServer:
    """
    A debuginfod on loopback that knows one file; asked has the paths of all requests. A slow one
    answers when it is told to, not before.
    """

    def __init__(self, path, slow=False):
        self.asked, self.told = [], threading.Event()
        self.wanted = "/buildid/%s/debuginfo" % "".join(build_id(path))
        self.bytes = bytearray(slurp(path))
        if not slow:
            self.told.set()
        self.http = Server(self.answer)
        self.env = dict(os.environ, DEBUGINFOD_URLS="http://" + self.http.target)

    def answer(self, request):
        self.asked.append(request.path)
        self.told.wait(60)
        content = self.bytes if request.path == self.wanted else b""
        return 200 if content else 404, "application/octet-stream", content

    def close(self):
        self.told.set()
        self.http.close()
