# SPDX-License-Identifier: BSD-2-Clause
"""
Names of call stacks that take long to find: servers that do not answer, files that are made to keep
whoever reads them busy, or to eat his memory. The daemon answers all the same, with the names that it
has, and what it keeps is bounded. Nothing here looks at a clock: what counts is what comes first.
"""

import contextlib
import ctypes
import itertools
import lzma
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

import pytest

from daemons import memory_kib, must_be_below, start_daemon
from harness import (BPFTRUSS, Report, deaf_command, meanwhile, need_unshare, program,
                     skip_if_sanitized, slurp, until, write)  # fmt: skip
from stacks import DebugServer, Loads, fixture, needs_client
from test_inline import copy_of
from test_stack_hostile import SECTION, sections

CALLS = 100


def names_of(daemon):
    return daemon.status("names")


def frames_of(daemon):
    """All frames of the stacks of getppid, as (module, symbol)."""
    return daemon.snapshot(lossy=True).frames("getppid")


@pytest.fixture
def start(live, tmp_path):
    """
    start(names) is a daemon that counts the stacks of programs so called; it ends well. Whoever asks
    all the time makes it spend more than any budget.
    """
    started = []

    def start_one(*names, options=(), **how):
        chosen = [word for name in names for word in ("-n", name)]
        place = tmp_path / "daemon"
        options = ("--stacks", "--budget", "none", *chosen, *options)
        started.append(start_daemon(live, place, *options, **how))
        return started[-1]

    yield start_one
    for daemon in started:
        daemon.stop()


@pytest.fixture
def loads(live):
    """loads() is another of these programs; it goes on to its end when all has been asked."""
    programs = []

    def add(kind=Loads, *arguments):
        programs.append(live.add(kind, *arguments))
        return programs[-1]

    yield add
    for each in programs:
        each.finish()


def must_name_others(daemon, other):
    """
    Files of another process have their names, whatever the first one waits for. Before the table of the C
    library is there, a stack may lack the function that has called it: so it calls more than once.
    """
    other.do("load %s" % fixture("beta.so"))

    def is_named():
        other.do("call beta_one 1")
        return ("beta.so", "beta_one") in frames_of(daemon)

    until(is_named, "other names come")


# Each kind of question; a snapshot is read whole.
QUESTIONS = [
    lambda daemon: daemon.status("schema") == 1,
    lambda daemon: daemon.get("/v1/snapshot")["schema"] == 1,
    lambda daemon: daemon.request("/metrics")[0] == 200,
]


def answers_everything(daemon):
    assert all(ask(daemon) for ask in QUESTIONS)


def workers_of(daemon):
    """The processes that read files for it."""
    return set(daemon.children())


def must_answer_while_a_worker_is_busy(daemon):
    """Waits until for each question the same worker was there before it and after the answer."""
    for question in QUESTIONS:
        until(lambda: (before := workers_of(daemon)) and question(daemon)
              and before & workers_of(daemon), "an answer while a worker is at it")


# --- servers that do not answer -------------------------------------------------------------------


@pytest.fixture
def server():
    """Answers when it is told to."""
    served = DebugServer(program("inlined"), slow=True)
    yield served
    served.close()


@needs_client
def test_a_report_that_waits_for_names_comes_when_a_signal_does(live, tmp_path, server):
    """The report has all that was counted, and says what is missing."""
    target = live.workload(copy_of("inlined", tmp_path, "--strip-all"), CALLS)
    bpftruss = live.attach(target.pid, "--stacks", "--debuginfod", env=server.env)
    target.play()
    until(lambda: server.asked, "the server is asked")
    assert bpftruss.interrupt().total("getppid") == CALLS
    assert re.search(r"\d+ frames have no names, or not all", bpftruss.stderr())


@needs_client
def test_a_report_that_was_asked_for_twice_waits_for_no_names(live, server):
    """The first signal is the command's, which does not care: who sends a second one is in a hurry."""
    options = ["--stacks", "--debuginfod"]
    with deaf_command(live, options=options, env=server.env) as bpftruss:
        bpftruss.signal(signal.SIGINT)
        until(lambda: "a second signal reports now" in bpftruss.stderr(), "it waits")
        bpftruss.signal(signal.SIGINT)
        # The servers would have kept it for a minute.
        bpftruss.popen.wait(20)
    assert not server.asked
    assert Report(bpftruss.text(), lossy=True).total("execve") >= 1


@needs_client
def test_a_server_that_does_not_answer_holds_up_nobody(live, tmp_path, server, start, loads):
    path = copy_of("inlined", tmp_path, "--strip-all")
    # Files that are mapped before counting begins have their tables: these stacks are whole.
    target, other = live.workload(path, CALLS), loads()
    daemon = start("inlined", "loads", options=["--debuginfod"], env=server.env)
    target.play()
    until(lambda: server.asked, "the server is asked")
    answers_everything(daemon)
    assert {symbol for module, symbol in frames_of(daemon) if module == "inlined"} == {None}
    assert names_of(daemon)["waiting"] > 0
    # Nor do other files wait for it.
    must_name_others(daemon, other)
    assert {symbol for module, symbol in frames_of(daemon) if module == "inlined"} == {None}
    server.told.set()
    until(lambda: ("inlined", "work") in frames_of(daemon), "the name comes in a later report")


# --- files that keep a reader busy ----------------------------------------------------------------


def test_a_checksum_that_takes_long_holds_up_nobody(live, tmp_path, start):
    """Three files without an end to speak of, which cost whoever made them nothing."""
    debug = tmp_path / "huge.debug"
    debug.write_bytes(b"x")
    path = copy_of("pace", tmp_path, "--strip-all", "--remove-section=.note.gnu.build-id",
                   "--add-gnu-debuglink=%s" % debug)  # fmt: skip
    (tmp_path / ".debug").mkdir()
    shutil.copy(debug, tmp_path / ".debug")
    for place in (debug, tmp_path / ".debug" / "huge.debug"):
        os.truncate(place, 1 << 30)
    daemon = start("pace")
    target = live.workload(path, 100)
    target.go()
    must_answer_while_a_worker_is_busy(daemon)
    assert target.wait() == 0


def test_a_table_that_takes_long_holds_up_nobody(tmp_path, start, loads):
    """The file has functions by the hundred thousand; other files have their tables meanwhile."""
    daemon = start("loads")
    loads().do("load " + shutil.copy(fixture("heavy.so"), str(tmp_path)))
    must_answer_while_a_worker_is_busy(daemon)


def perf_map_write(path, lines):
    with open(path, "a") as file:
        for at in range(lines):
            file.write("%x 10 function_number_%d\n" % (0x100000 + 16 * at, at))


def test_perf_maps_hold_up_nobody(start, loads):
    """Two processes in turn, each with a map that is nearly as large as one may be."""
    programs, daemon = [loads(), loads()], start("loads")
    for each in programs:
        perf_map_write(each.perf_map, 800000)
        assert 24 << 20 < os.path.getsize(each.perf_map) < 32 << 20
    numbers = itertools.count(1)

    def play():
        """Not too often: each function is a stack of its own, and counting begins anew after some thousand."""
        time.sleep(0.05)
        number = next(numbers)
        for each in programs:
            each.do("jit made_%d 1" % number)

    with meanwhile(play):
        for _ in range(5):
            must_answer_while_a_worker_is_busy(daemon)
    until(lambda: ("[jit]", "made_1") in frames_of(daemon), "names of such a map come")
    must_be_below(memory_kib(daemon.pid), 100 << 10)


# A folder, the second argument, that is a file system of this process's own: it has to answer.
MOUNTED = """
import ctypes, os, struct, sys
loads, folder = sys.argv[1:3]
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
if libc.unshare(0x20000) or libc.mount(b"none", b"/", None, 0x44000, None):
    sys.exit("unshare: %d" % ctypes.get_errno())
# Where all of this was built below that folder, the program must be found elsewhere.
if loads.startswith(folder + "/"):
    if libc.mount(os.path.dirname(loads).encode(), b"/mnt", None, 0x1000, None):
        sys.exit("bind: %d" % ctypes.get_errno())
    loads = "/mnt/" + os.path.basename(loads)
if libc.mount(b"mounted", folder.encode(), b"fuse", 0, options.encode()):
    sys.exit("mount: %d" % ctypes.get_errno())
"""

# A program in whose folder every look takes for ever: nobody answers.
HUNG = MOUNTED + """
os.set_inheritable(fd, True)  # it hangs as long as somebody might answer
os.execv(loads, ["loads"])
"""


@pytest.fixture
def fuse():
    if not os.path.exists("/dev/fuse"):
        pytest.skip("no FUSE here")
    need_unshare("-m", "--propagation", "private")


@pytest.mark.usefixtures("fuse")
def test_a_file_system_that_does_not_answer_holds_up_nobody(start, loads):
    """The perf map of a process is looked for where the process sees it."""
    hung = loads(Loads, sys.executable, "-c", HUNG, fixture("loads"), "/tmp")
    other, daemon = loads(), start("loads")
    hung.do("bare 100")
    must_answer_while_a_worker_is_busy(daemon)
    must_name_others(daemon, other)
    until(lambda: names_of(daemon)["failed"] > 0, "it is given up")


# A program whose folder, its second argument, is one that another process serves, until that is
# stopped: from then on whoever opens a file there waits for ever. All files, "0.so" and so on, are
# the third argument. The process that serves them writes its pid to the file of the fourth.
SERVED = MOUNTED + """
path, pid_path = sys.argv[3:]
content = open(path, "rb").read()
if os.fork():
    os.close(fd)
    os.execv(loads, ["loads"])
libc.prctl(1, 9)  # it ends with the program
with open(pid_path, "w") as file:
    file.write("%d\\n" % os.getpid())
HOUR = 3600

def attributes(node):
    is_file = node > 1
    blocks = (len(content) + 511) // 512
    return struct.pack("<6Q10I", node, len(content) if is_file else 0, blocks, 1, 1, 1, 0, 0, 0,
                       0o100755 if is_file else 0o40755, 1, 0, 0, 0, 4096, 0)

def answer(opcode, node, body):
    if opcode == 26:  # INIT
        return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 17, 0, 16, 12, 1 << 17, 1, 32, 0, *[0] * 8)
    if opcode == 1:  # LOOKUP
        if not body.endswith(b".so\\0"):
            return None
        found = int(body.split(b".")[0]) + 2
        return struct.pack("<4Q2I", found, 0, HOUR, HOUR, 0, 0) + attributes(found)
    if opcode == 3:  # GETATTR
        return struct.pack("<Q2I", HOUR, 0, 0) + attributes(node)
    if opcode == 14:  # OPEN: what was read before is kept
        return struct.pack("<Q2I", 1, 2, 0)
    if opcode == 15:  # READ
        offset, size = struct.unpack_from("<8xQI", body)
        return content[offset : offset + size]
    return b"" if opcode in (18, 25) else None  # RELEASE, FLUSH

while True:
    request = os.read(fd, 1 << 18)
    _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
    if opcode == 2:  # FORGET
        continue
    body = answer(opcode, node, request[40:])
    error = 0 if body is not None else -2 if opcode == 1 else -38  # ENOENT, ENOSYS
    os.write(fd, struct.pack("<IiQ", 16 + len(body or b""), error, unique) + (body or b""))
"""


class ServedLoads(Loads):
    """Loads, and a folder of libraries that can be told to hang."""

    def __init__(self, directory, folder):
        os.mkdir(folder)
        self.folder, pid_path = folder, folder + ".pid"
        files = fixture("loads"), folder, fixture("alpha.so"), pid_path
        super().__init__(directory, sys.executable, "-c", SERVED, *files)
        self.server = int(until(lambda: os.path.exists(pid_path) and slurp(pid_path), "a server"))

    def hang(self):
        os.kill(self.server, signal.SIGSTOP)


@pytest.mark.usefixtures("fuse")
def test_files_that_do_not_open_hold_up_nobody(tmp_path, start, loads):
    """
    They are mapped and run, but whoever opens them now waits for ever. Four are opened at a time, for
    5 seconds, and a start waits for 10: more remain.
    """
    hung, other = loads(ServedLoads, str(tmp_path / "served")), loads()
    for number in range(12):
        hung.call("%s/%d.so" % (hung.folder, number), "alpha_one", 1)
    hung.hang()
    daemon = start("loads")
    must_answer_while_a_worker_is_busy(daemon)
    hung.do("call alpha_one 10")
    must_name_others(daemon, other)
    assert not any(symbol == "alpha_one" for _, symbol in frames_of(daemon))
    answers_everything(daemon)


def open_files(pid):
    folder, links = "/proc/%d/fd" % pid, []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            links.append(os.readlink(os.path.join(folder, name)))
    return links


@pytest.mark.waits
@pytest.mark.usefixtures("fuse")
def test_a_file_is_closed_although_nobody_answers(tmp_path, start, loads):
    """Even that is a question to a file system, which hangs after its file was read."""
    hung, other = loads(ServedLoads, str(tmp_path / "served")), loads()
    daemon = start("loads")
    hung.call(hung.folder + "/0.so", "alpha_one", 10)
    until(lambda: ("0.so", "alpha_one") in frames_of(daemon), "its name comes")
    hung.hang()
    until(lambda: not any(path.endswith("/0.so") for path in open_files(daemon.pid)), "it is closed")
    answers_everything(daemon)
    must_name_others(daemon, other)


def test_a_perf_map_that_is_too_large_names_nothing_and_costs_nothing(start, loads):
    each, daemon = loads(), start("loads")
    perf_map_write(each.perf_map, 10)
    os.truncate(each.perf_map, 33 << 20)
    each.do("jit made_up 10")
    until(lambda: names_of(daemon)["failed"] > 0, "it is said")
    assert not any(module == "[jit]" for module, _ in frames_of(daemon))


# --- files that eat memory ------------------------------------------------------------------------

SYMBOL = struct.Struct("<IBBHQQ")
SYMTAB, STRTAB = 2, 3


def with_many_symbols(source, path, count):
    """A copy with so many functions more, at addresses where there is no code."""
    data = bytearray(slurp(source))
    table = sections(data)
    place, fields = next((place, fields) for place, fields in table if fields[1] == SYMTAB)
    names_place, names = table[fields[6]]
    assert names[1] == STRTAB
    symbols = data[fields[4] : fields[4] + fields[5]]
    strings = data[names[4] : names[4] + names[5]]
    first = len(strings)
    strings += "".join(map("function_%08d\0".__mod__, range(count))).encode()
    names_of_symbols = range(first, first + 18 * count, 18)
    addresses = itertools.count(0x10000000, 16)
    same = [itertools.repeat(value) for value in (0x12, 0, 1, 16)]
    symbols += b"".join(map(SYMBOL.pack, names_of_symbols, *same[:3], addresses, same[3]))
    for where, header, content in ((place, fields, symbols), (names_place, names, strings)):
        data += bytes(-len(data) % 8)
        header[4], header[5] = len(data), len(content)
        data += content
        SECTION.pack_into(data, where, *header)
    write(path, data)
    os.chmod(path, 0o755)


def test_two_million_symbols_are_named_and_not_kept(tmp_path, start, loads):
    skip_if_sanitized()
    each, daemon = loads(), start("loads")
    paths = {name: str(tmp_path / ("%s.so" % name)) for name in ("alpha", "beta")}
    for name, path in paths.items():
        with_many_symbols(fixture(name + ".so"), path, 2000000)
    before = memory_kib(daemon.pid, "VmHWM")
    for name, path in paths.items():
        each.call(path, name + "_one", 10)
    wanted = {("alpha.so", "alpha_one"), ("beta.so", "beta_one")}
    until(lambda: wanted <= frames_of(daemon), "both have their names")
    must_be_below(memory_kib(daemon.pid, "VmHWM") - before, 16 << 10)
    assert names_of(daemon)["bytes"] < 16 << 20


def xz_of_zeros(blocks):
    """An .xz file of so many blocks of 16 MiB. They are all the same, so one is compressed and repeated."""
    data = lzma.compress(bytes(1 << 24), check=lzma.CHECK_NONE, preset=0)
    at = len(data) - 12 - 4 * (struct.unpack("<I", data[-8:-4])[0] + 1)
    record = re.match(rb"(?:[\x80-\xff]*[\x00-\x7f]){2}", data[at + 2:], re.DOTALL).group()
    index = bytes([0, blocks]) + record * blocks
    index += bytes(-len(index) % 4)
    index += struct.pack("<I", zlib.crc32(index))
    footer = struct.pack("<I", len(index) // 4 - 1) + data[-4:-2]
    footer = struct.pack("<I", zlib.crc32(footer)) + footer + b"YZ"
    return data[:12] + data[12:at] * blocks + index + footer


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    """A small program whose symbols are a gigabyte of nothing."""
    folder = tmp_path_factory.mktemp("bomb")
    packed = folder / "packed"
    packed.write_bytes(xz_of_zeros(64))
    path = copy_of("pace", folder, "--strip-all", "--add-section=.gnu_debugdata=%s" % packed)
    assert os.path.getsize(path) < 2 << 20
    return path


# Arguments: program, file, question. A process begins with the peak of the one that made it, and that
# of the tests is large: so a small one makes the worker, and prints the peak of that.
WORKER = """
import os, sys
fds = [os.open(sys.argv[2], os.O_RDONLY), os.memfd_create("output"), os.open(sys.argv[3], os.O_RDONLY)]
child = os.fork()
if not child:
    for at, fd in enumerate(fds):
        os.dup2(fd, 20 + at)
    for at, place in enumerate((3, 4, 9)):  # file, output, question
        os.dup2(20 + at, place)
    os.execv(sys.argv[1], ["bpftruss", "--elf-worker", "16", "1"])  # with a question, about symbols
print(os.wait4(child, 0)[2].ru_maxrss)
"""


def worker_peak_kib(path, offsets, directory):
    """The memory that a worker took to look for the symbols of some offsets in a file."""
    question = directory / "question"
    question.write_bytes(b"".join(struct.pack("<Q", offset) for offset in offsets))
    result = subprocess.run(
        [sys.executable, "-c", WORKER, BPFTRUSS, path, str(question)],
        check=True, capture_output=True, text=True)
    return int(result.stdout)


def test_a_bomb_bursts_in_a_worker_and_not_far(bomb, tmp_path):
    """Nor do holes give room: a file may be as long as anybody likes."""
    skip_if_sanitized()
    must_be_below(worker_peak_kib(bomb, [0x1000, 0x1100], tmp_path), 200 << 10)
    path = shutil.copy(bomb, str(tmp_path / "holes"))
    os.truncate(path, 4 << 30)
    must_be_below(worker_peak_kib(path, [0x1000], tmp_path), 200 << 10)


def test_the_daemon_outlives_a_bomb(live, tmp_path, bomb, start):
    skip_if_sanitized()
    daemon = start("pace")
    live.play(shutil.copy(bomb, str(tmp_path)), 100)
    until(lambda: names_of(daemon)["places"] > 0, "its stacks are seen")
    until(lambda: not names_of(daemon)["waiting"], "all that can be known is known")
    answers_everything(daemon)
    must_be_below(memory_kib(daemon.pid, "VmHWM"), 100 << 10)


# --- what is not kept open ------------------------------------------------------------------------


def umount(path):
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.umount(path.encode()) == 0


@pytest.mark.waits
def test_a_file_system_can_be_unmounted_once_its_programs_have_ended(live, tmp_path, start):
    place = str(tmp_path / "mounted")
    os.mkdir(place)
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        target = live.workload(shutil.copy(program("pace"), place + "/mounted"), 100)
        daemon = start("mounted")
        target.play()
        until(lambda: ("mounted", "main") in frames_of(daemon), "its frames are named")
        until(lambda: umount(place), "it is unmounted")
        # Nobody has forgotten their names.
        assert ("mounted", "main") in frames_of(daemon)
    finally:
        umount(place)
