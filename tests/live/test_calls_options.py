# SPDX-License-Identifier: BSD-2-Clause
"""Options of single calls: which are shown, compared with a run that shows all, and what a line says."""

import re
import signal
import sys

import pytest

from call_lines import Calls, attach, show, show_command, watch
from harness import Process, program, run, until
from stacks import fixture, lines_outside_libc

OF_A_BUSY_HOST = {"calls"}

# --- filters -------------------------------------------------------------------------------------


def plain(call):
    """A line without names of descriptors: some come from calls that are left out."""
    return re.sub(r"\b(\d+)<[^<>]*>(?:\(deleted\))?\??|(?<=\)) +", r"\1", call.text)


def failed(*errors):
    return lambda call: call.result.startswith("Err#") and (
        not errors or call.result.split()[1] in errors)


FILES = {"open", "openat", "stat", "access", "unlink", "readlink"}

FILTERS = [
    (["-t", "getppid,openat"], lambda call: call.name in ("getppid", "openat")),
    (["-t", "%file"], lambda call: call.name in FILES),
    (["-t", "!%file,read,getppid"], lambda call: call.name not in FILES | {"read", "getppid"}),
    (["--failed"], failed()),
    (["-Z"], failed()),
    (["--failed=ENOTDIR,EACCES"], failed("ENOTDIR", "EACCES")),
    (["--failed=EACCES"], lambda call: False),
    (["-z"], lambda call: call.result.startswith("= ")),
    (["-t", "close,openat", "-z"], lambda call: call.name == "close" and call.result == "= 0"),
    (["--path", "/nonexistent/*"], lambda call: '"/nonexistent/' in call.arguments),
    (["--path", "*/below"], lambda call: "/below" in call.arguments),
    (["--path", "/dev/null"], lambda call: False),
    (["--path", "/dev/[a-n]ull/?elow", "--failed"], lambda call: "/below" in call.arguments),
    (["--fd", 3], lambda call: re.match(r"3\b", call.arguments) and call.name != "pipe2"),
    (["--fd", 3, "--failed"], lambda call: False),
]


def test_filters_show_exactly_what_they_choose(live):
    """All of them, and one that chooses all, watch the same run."""
    target = live.workload("calls")
    options = [[]] + [options for options, _ in FILTERS] + [["--max-events", 20]]
    watchers = [live.add(Calls, each + ["-p", target.pid]) for each in options]
    for watcher in watchers:
        watcher.wait_attached()
    target.go()
    everything, *filtered, first = [watcher.lines().must_have_lost_nothing() for watcher in watchers]
    assert len(everything.ended) > 1100
    for (options, chosen), lines in zip(FILTERS, filtered):
        expected = [plain(call) for call in everything.ended if chosen(call)]
        assert [plain(call) for call in lines.ended] == expected, options
        counted, all_counted = lines.conclusion.counted, everything.conclusion.counted
        # With -t nobody counts the others.
        assert counted < all_counted if "-t" in options else counted == all_counted, options
        assert lines.conclusion.left_out + len(expected) == counted, options
    assert [plain(call) for call in first.ended] == [plain(call) for call in everything.ended[:20]]


def test_max_events_counts_what_is_chosen(live):
    target, calls = watch(live, "calls", options=["--max-events", 3, "--failed=ENOENT"])
    lines = calls.lines()
    target.wait()
    assert [call.result for call in lines.ended] == ["Err#2 ENOENT"] * 3


def test_slower_than_shows_calls_that_took_so_long(live):
    """Ten sleeps of 10 ms each, among hundreds of other calls."""
    everything = show(live, "pace", 10)
    lines = show(live, "pace", 10, options=["--slower-than", "9ms"]).must_have_lost_nothing()
    assert len(lines.of("nanosleep")) == 10 and not lines.of("getppid")
    # Nobody counts the others.
    assert lines.conclusion.counted == 10 < everything.conclusion.counted


# --- the parts of a line -------------------------------------------------------------------------


def test_a_line_begins_with_what_is_asked_for(live):
    lines = show(live, "pace", 3, options=["-l", "--elapsed", "-D", "-E"])
    elapsed, deltas = ([float(call.times[i]) for call in lines.ended] for i in (0, 1))
    assert elapsed == sorted(elapsed)
    assert {len(call.times) for call in lines.ended} == {3}
    for i in range(1, len(elapsed)):
        assert abs(elapsed[i] - elapsed[i - 1] - deltas[i]) < 5e-6, lines.ended[i]
    for call in lines.of("nanosleep"):
        assert float(call.times[1]) >= 0.01 and float(call.times[2]) < 0.01
    assert all(call.pid == call.tid > 0 for call in lines.ended)


def test_threads_of_several_processes_are_told_apart_unasked(live):
    targets = [live.workload("pace", 2) for _ in range(2)]
    calls = attach(live, [target.pid for target in targets])
    for target in targets:
        target.go()
    assert {call.pid for call in calls.lines().ended} == {target.pid for target in targets}


def test_raw_arguments_are_numbers(live):
    lines = show(live, "calls", options=["-x"])
    values = [value for call in lines.ended for value in call.arguments.split(", ") if value]
    assert values and all(re.fullmatch(r"0x[0-9a-f]+\??|0|NULL", value) for value in values), values


def test_verbose_shows_structures(live):
    plain, verbose = (show_command(live, "cat", "/dev/null", options=options)
                      for options in ([], ["-v"]))
    assert "st_mode=" not in plain.text
    assert "st_mode=S_IFCHR|0666" in verbose.text


@pytest.mark.parametrize("options, shown", [([], "0x"), (["--environment"], '["ONE=1", "TWO=\\n"]')])
def test_environment_shows_that_of_an_exec(live, options, shown):
    lines = show_command(live, "/bin/true", options=options, env={"ONE": "1", "TWO": "\n"})
    assert lines.only("execve").arguments.startswith('"/bin/true", ["/bin/true"], ' + shown)


def test_dump_shows_all_that_is_moved(live, tmp_path):
    (tmp_path / "file").write_bytes(bytes(range(40)))
    lines = show_command(live, "cksum", tmp_path / "file", options=["--dump", "3"])
    read = next(call for call in lines.of("read") if "file>" in call.arguments)
    assert [line.split("  ")[0] for line in read.below] == ["0000", "0010", "0020"]
    assert read.below[0].startswith("0000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f")


DUMPED = """
import os, sys
data = bytes(range(256)) * 1000
out, path = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), sys.argv[1]
os.write(out, data[:200001])
os.writev(out, [data[:5120], data[:3], data[:7001]])
os.pread(out, 100000, 0)
os.preadv(out, [bytearray(3000), bytearray(3000)], 200000)
os.pwrite(out, data, 0)
os.pwrite(out, data * 5, 0)
"""


def dumped(call):
    """The buffers below a call, and what is said to be missing of them."""
    buffers, more = [], []
    for line in call.below:
        if line.startswith("..."):
            more.append(line)
            continue
        offset, rest = line.split("  ", 1)
        if int(offset, 16) == 0:
            buffers.append(b"")
        assert int(offset, 16) == len(buffers[-1])
        buffers[-1] += bytes.fromhex(rest[:49])
    return buffers, more


def test_dump_shows_large_buffers_whole(live, tmp_path):
    argv = [sys.executable, "-c", DUMPED, tmp_path / "file"]
    lines = show_command(live, *argv, options=["--dump", "3", "-t", "write,writev,pread64,preadv,pwrite64"])
    data = bytes(range(256)) * 5000
    file = data[:200001] + data[:5120] + data[:3] + data[:7001]
    (begin,) = [i for i, call in enumerate(lines.calls) if call.arguments.endswith(", 200001")]
    found = [dumped(call) for call in lines.calls[begin:]]
    assert found[:-1] == [
        ([data[:200001]], []),
        ([data[:5120], data[:3], data[:7001]], []),
        ([data[:100000]], []),
        ([file[200000:203000], file[203000:206000]], []),
        ([data[:256000]], []),
    ]
    # Of one call, a mebibyte and a little more.
    ((most,), (more,)) = found[-1]
    assert most == data[:(1 << 20) + 32] and more == "... %d more bytes" % (1280000 - len(most))


def test_stacks_stand_below_their_calls(live, tmp_path):
    (tmp_path / "input").write_text("aaaq")
    with open(tmp_path / "input", "rb") as stdin:
        lines = show_command(
            live, fixture("chain-O2"), "plain", options=["-k", "-t", "read"], stdin=stdin)
    reads = [call for call in lines.of("read") if call.arguments.startswith("0<")]
    assert [call.arguments.split(", ")[1] for call in reads] == ['"a"', '"a"', '"a"', '"q"']
    for call in reads:
        names = [line.split("`")[-1] for line in lines_outside_libc(call.below)]
        assert names[:5] == ["wait_here", "three", "two", "one", "main"], call.below


ASKS = """
import ctypes, fcntl, os, pty, signal, termios
libc = ctypes.CDLL(None)
file = os.open("/tmp", os.O_RDWR | os.O_TMPFILE)
os.getpgid(0)
fcntl.lockf(file, fcntl.LOCK_EX, 5)
fcntl.ioctl(os.pipe()[0], termios.FIONREAD, b"1234")
libc.prctl(15, b"my\\nname", 0, 0, 0)
libc.prctl(16, ctypes.create_string_buffer(16), 0, 0, 0)
fcntl.fcntl(file, fcntl.F_SETFL, os.O_NONBLOCK)
child = os.fork() or os._exit(3)
os.waitid(os.P_PID, child, os.WEXITED)
"""


def test_what_an_argument_points_at_may_depend_on_another(live):
    lines = show_command(live, sys.executable, "-c", ASKS, options=[
        "-v", "-t", "getpgid,fcntl,ioctl,prctl,waitid"]).must_have_lost_nothing()
    texts = [call.name + "(" + re.sub(r"<[^>]*>(?:\(deleted\))?\??", "", call.arguments) for call in lines.ended]
    begin = next(i for i, text in enumerate(texts) if text.startswith("getpgid"))
    expected = [
        r"fcntl\(\d, F_SETLKW, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=0, l_len=5}",
        r"ioctl\(\d, FIONREAD, \[0\]",
        r'prctl\(PR_SET_NAME, "my\\nname"',
        r'prctl\(PR_GET_NAME, "my\\nname"',
        r"fcntl\(\d, F_SETFL, O_RDONLY\|O_NONBLOCK",
        r"waitid\(P_PID, \d+, {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=\d+, si_uid=\d+, "
        r"si_status=3}, WEXITED, NULL",
    ]
    found = texts[begin + 1:]
    assert len(found) == len(expected), found
    assert all(re.fullmatch(form, text) for form, text in zip(expected, found)), found
    assert found[0].split(",")[0] == found[4].split(",")[0], "one file"


# --- asleep --------------------------------------------------------------------------------------


def test_a_call_that_sleeps_is_shown_once_and_again_when_it_ends(live):
    lines = show(live, "arguments", "sleeps")
    naps = [call for call in lines.calls if call.name == "nanosleep"]
    assert [call.result for call in naps] == ["(sleeping...)", "= 0"]
    assert [call.arguments for call in naps] == ["{tv_sec=2, tv_nsec=0}, NULL"] * 2


def test_a_call_that_began_before_is_shown_as_sleeping_once(live):
    target = live.workload("calls")
    calls = attach(live, target.pid)
    others = [
        attach(live, target.pid, *options)
        for options in (["-t", "!read"], ["--fd", 7], ["--failed"], ["-z"])
    ]
    until(lambda: calls.shown(), "it is said to sleep")
    # Another look at it, by somebody who came later.
    last = attach(live, target.pid)
    until(lambda: last.shown(), "it is said to sleep")
    target.go()
    first, *rest = calls.lines().must_have_lost_nothing().calls
    assert first.is_asleep() and re.fullmatch(r"0<pipe:\[\d+\]>\??, 0x[0-9a-f]+, \d+", first.arguments)
    assert [call.name for call in rest if call.is_asleep()] == []
    assert rest[0].name == "read" and rest[0].result == "= 3"
    assert not any(call.is_asleep() for other in others for call in other.lines().calls)


@pytest.mark.parametrize("options, left_out", [([], 0), (["--failed"], 1), (["-z"], 1)])
def test_a_call_of_which_neither_start_nor_end_is_seen_is_not_shown(live, options, left_out):
    """What another call of the thread, or of one before it, pointed at is not shown for it."""
    target = live.add(Process, [program("stuck")])
    until(lambda: target.stdout() == b"stuck\n", "it is stuck")
    calls = attach(live, target.pid, "-l", "-t", "!pause", *options)
    (stuck,) = set(target.threads()) - {target.pid}
    target.signal(signal.SIGKILL)
    lines = calls.lines()
    assert lines.text == ("" if left_out else "… 1 call of thread %d not shown\n" % stuck)
    assert lines.conclusion.left_out == left_out and lines.conclusion.counted == 1


def test_c_prints_the_table_behind_the_calls(live):
    target, calls = watch(live, "calls", options=["-C", "-t", "getppid,openat"])
    assert calls.wait() == 0 and target.wait() == 0
    text = calls.shown()
    assert text.count("\ngetppid()") + text.startswith("getppid()") == 1009
    assert re.search(r"^getppid +\.\d+ +1009$", text, re.M), text[-500:]
    assert re.search(r"^openat +\.\d+ +12 +12$", text, re.M), text[-500:]


def test_a_file_without_a_call_is_empty(live, tmp_path):
    target = live.workload("calls")
    (tmp_path / "out").write_text("older\n")
    result = run("-o", tmp_path / "out", "--path", "/none", "-d", "0.2", "-p", target.pid)
    assert result.returncode == 0 and (tmp_path / "out").read_text() == ""
