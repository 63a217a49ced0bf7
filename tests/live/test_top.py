# SPDX-License-Identifier: BSD-2-Clause
"""bpftruss top: its figures against a workload that counts, and its screen in a real terminal."""

import collections
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from harness import BPFTRUSS, must_be_exact, must_say_exact, need, need_terminals, slurp, until
from test_paths import KNOWN, THREADS

FOREVER = 1000000  # rounds


def top(live, *arguments):
    return live.spawn(BPFTRUSS, "top", *arguments)


def pace(live, *arguments):
    """A workload that goes on for as long as the test, 100 rounds a second."""
    target = live.workload("pace", FOREVER, *arguments)
    target.go()
    return target


def once(live, interval, *arguments):
    """The one frame of a top that counts for so long."""
    process = top(live, "--once", "--json", "-i", interval, *arguments)
    assert process.wait() == 0, process.stderr()
    (data,) = objects(process)
    return data


def wait_frames(process, count):
    """Until it has written so many more."""
    seen = len(objects(process))
    until(lambda: len(objects(process)) >= seen + count, "%d intervals" % count)


def objects(process):
    """The whole lines that were written so far, as JSON."""
    lines = process.stdout().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def line_of(data, pid):
    (line,) = [line for line in data["lines"] if line["pid"] == pid] or [None]
    return line


# --- figures -------------------------------------------------------------------------------------


def test_a_signal_that_asks_for_a_report_does_not_end_it(live):
    process = top(live, "--json", "-i", "0.1", "-p", os.getpid())
    wait_frames(process, 1)
    process.signal(signal.SIGUSR1)
    wait_frames(process, 3)
    process.stop()


def test_intervals_add_up_to_what_the_process_did(live):
    rounds = 61
    target = live.workload("pace", rounds)
    process = top(live, "--json", "-i", "0.1", "-p", target.pid)
    wait_frames(process, 1)
    target.play()
    wait_frames(process, 3)
    process.stop()
    data = objects(process)
    for one in data:
        must_be_exact(one)
    lines = [line for line in (line_of(one, target.pid) for one in data) if line]
    # Ten getppid, close and nanosleep a round; the read before it and exit_group after it.
    assert sum(line["calls"] for line in lines) == 12 * rounds + 2
    assert sum(line["errors"] for line in lines) == rounds
    for before, after in zip(data, data[1:]):
        assert before["end"] == after["start"]
        assert before["counting_ns"] + after["elapsed_ns"] == after["counting_ns"]
    # It is gone once it did nothing for an interval.
    assert line_of(data[-1], target.pid) is None


@pytest.mark.parametrize("by", ["path", "dir"])
def test_paths_add_up_over_the_intervals(live, by):
    target = live.workload("paths", "known", THREADS)
    process = top(live, "--json", "-i", "0.1", "--by", by, "-p", target.pid)
    wait_frames(process, 1)
    target.play()
    wait_frames(process, 3)
    process.stop()
    found = collections.Counter()
    for data in objects(process):
        must_be_exact(data)
        assert data["by"] == by
        for line in data["lines"]:
            assert line["pid"] is None
            found[line["missing"] if line[by] is None else line[by]] += line["calls"]
    if by == "path":
        assert found["/nonexistent/deep"] == KNOWN["/nonexistent/deep"]
        assert found["unreadable"] == KNOWN["[unreadable]"]
    else:
        assert found["/nonexistent"] == KNOWN["/nonexistent/deep"] + KNOWN["/nonexistent/other"]
        assert found["/dev/null"] == KNOWN["/dev/null/below"]


def test_what_sleeps_all_the_time_is_asleep_though_no_call_ends(live):
    target = live.workload("pace", 1)
    data = once(live, 0.5, "-p", target.pid)
    line = line_of(data, target.pid)
    assert line["calls"] == 0 and line["threads"] == 1
    assert line["sleep_ns"] == data["elapsed_ns"]
    assert line["in_flight"] == 1 and line["oldest_syscall"] == "read"
    assert line["oldest_is_minimum"] is True
    assert line["oldest_in_flight_ns"] >= data["elapsed_ns"]


def test_the_time_of_a_single_thread_adds_up(live):
    target = pace(live)
    data = once(live, 1, "-p", target.pid)
    line = line_of(data, target.pid)
    states = ("usr_ns", "sys_ns", "runq_ns", "lock_ns", "sleep_ns")
    assert sum(line[key] for key in states) == line["threads_ns"] == data["elapsed_ns"]
    assert line["sleep_ns"] > data["elapsed_ns"] / 2
    # At most 100 rounds a second; at least 10 on the slowest machine.
    most = data["elapsed_ns"] / 10**7 + 2
    assert 10 * 12 <= line["calls"] <= most * 12
    assert line["errors"] <= most
    assert 10_000_000 <= line["max_ns"] <= 1_000_000_000


def test_user_time_is_user_time(live):
    target = pace(live, "spin")
    data = once(live, 1, "-p", target.pid)
    line = line_of(data, target.pid)
    assert line["usr_ns"] + line["runq_ns"] > data["elapsed_ns"] / 2
    assert line["usr_ns"] > 10 * line["sys_ns"] and line["usr_ns"] > line["sleep_ns"]
    assert line["sleep_ns"] < data["elapsed_ns"] / 2


def test_once_is_one_frame_of_text(live):
    target = pace(live)
    process = top(live, "--once", "-i", "0.5", "-p", target.pid)
    assert process.wait() == 0, process.stderr()
    lines = process.stdout().decode("ascii").splitlines()
    assert len(lines) == 5 and lines[0].startswith("bpftruss top")
    must_say_exact(lines[2])
    assert lines[3].split()[:3] == ["PID", "COMM", "CALLS/s"]
    assert lines[4].split()[:2] == [str(target.pid), "pace"]
    assert 100 <= float(lines[4].split()[2]) <= 1300
    assert all(len(line) <= 80 for line in lines)


def test_lines_are_sorted_grouped_and_cut(live):
    busy, idle = pace(live), live.workload("pace", 1)
    for arguments, expected in [
        (["--sort", "calls"], [busy.pid, idle.pid]),
        (["--sort", "oldest"], [idle.pid, busy.pid]),
        (["--sort", "calls", "--top", "1"], [busy.pid]),
        (["--by", "comm"], [None]),
    ]:
        data = once(live, 0.3, "-p", "%d,%d" % (busy.pid, idle.pid), *arguments)
        assert [line["pid"] for line in data["lines"]] == expected, arguments
    assert data["lines"][0]["comm"] == "pace" and data["lines"][0]["processes"] == 2


TWO_THREADS = """
import ctypes, os, threading, time
def work(name, pause):
    ctypes.CDLL(None).prctl(15, name)
    while True:
        os.getppid()
        time.sleep(pause)
for name, pause in ((b"often", 0.002), (b"rarely", 0.1)):
    threading.Thread(target=work, args=(name, pause), daemon=True).start()
time.sleep(0.3)
print("ready", flush=True)
time.sleep(1000)
"""


def threads(live):
    target = live.spawn(sys.executable, "-c", TWO_THREADS)
    until(lambda: target.stdout() == b"ready\n", "its threads")
    return target


def test_threads_have_lines_of_their_own_that_add_up(live):
    target = threads(live)
    data = once(live, 1, "-p", target.pid, "--by", "tid")
    lines = {line["thread"]: line for line in data["lines"] if line["tid"]}
    assert set(lines) == {"often", "rarely", "python3"}
    assert lines["often"]["calls"] > 5 * lines["rarely"]["calls"] > 0
    assert lines["python3"]["calls"] == 0
    for line in lines.values():
        states = ("usr_ns", "sys_ns", "runq_ns", "lock_ns", "sleep_ns")
        assert sum(line[key] for key in states) == line["threads_ns"] == data["elapsed_ns"]
    # How CPU time divides is an estimate for each of them.
    for key in ("calls", "threads_ns"):
        assert sum(line[key] for line in data["lines"]) == data["total"][key], key


@pytest.mark.parametrize("by", ["user", "container", "syscall", "unit", "comm"])
def test_any_grouping_adds_up(live, by):
    target = pace(live)
    data = once(live, 0.5, "-p", "%d,%d" % (target.pid, threads(live).pid), "--by", by)
    for key in ("calls", "errors", "in_flight"):
        assert sum(line[key] for line in data["lines"]) == data["total"][key], key
    assert data["total"]["calls"] > 0


@pytest.mark.parametrize("words, expected", [
    (["-w", "--by", "comm"], r"^pace +\d+ "),
    (["--csv", "--by", "pid,syscall"], r",pace,getppid,"),
    (["--errors"], r"^pace +close +EBADF "),
    (["-S", "p99"], r"^getppid +\d+ "),
    (["-t", "getppid", "--columns", "calls"], r"^getppid +\d+$"),
    (["--format", "strace"], r"% time"),
])  # fmt: skip
def test_once_reports_as_c_does(live, words, expected):
    process = top(live, "--once", "-d", "0.3", "-p", pace(live).pid, *words)
    assert process.wait() == 0, process.stderr()
    assert re.search(expected, process.stdout().decode(), re.M), process.stdout()


def test_all_processes_but_not_itself(live):
    target = pace(live)
    process = top(live, "--once", "--json", "-i", "0.5")
    assert process.wait() == 0, process.stderr()
    (data,) = objects(process)
    assert line_of(data, target.pid)["calls"] > 0
    assert line_of(data, process.pid) is None


@pytest.mark.parametrize("arguments, status, words", [
    (["-i", "0"], 2, "-i"),
    (["-i", "0.01"], 2, "0.1"),
    (["--sort", "nothing"], 2, "--sort"),
    (["--by", "arg7"], 2, "--by"),
    (["--csv"], 2, "--once"),
    (["--once", "--frob"], 2, "--frob"),
    (["--sort", "+nothing"], 2, "--sort"),
    (["word"], 2, "word"),
    (["-Q"], 2, "-Q"),
    ([], 1, "--once"),
    (["--once", "-p", "4194304"], 1, "4194304"),
])  # fmt: skip
def test_errors(live, arguments, status, words):
    process = top(live, *arguments)
    assert process.wait() == status
    assert process.stdout() == b""
    assert words in process.stderr() and process.stderr().count("\n") == 1


# --- the screen ----------------------------------------------------------------------------------


class Terminal:
    """A tmux of its own with one window."""

    def __init__(self, directory, *arguments, environment=(), term=None, width=80, height=24):
        self.socket = os.path.join(directory, "tmux")
        self.status = os.path.join(directory, "status")
        words = ["env", *environment] + (["TERM=" + term] if term else [])
        words += [BPFTRUSS, "top", "-i", "0.2", *arguments]
        script = shlex.join(words) + "; echo $? >%s; exec sleep 1000" % shlex.quote(self.status)
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), script)

    def tmux(self, *words):
        argv = ["tmux", "-S", self.socket, "-f", "/dev/null", *words]
        return subprocess.run(argv, check=True, capture_output=True).stdout.decode()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def lines(self):
        time.sleep(0.05)  # tmux does not get round to a resize while it is asked without pause
        return self.tmux("capture-pane", "-p").splitlines()

    def text(self):
        return "\n".join(self.lines())

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def wait(self, words):
        try:
            until(lambda: re.search(words, self.text(), re.M), words)
        except AssertionError:
            raise AssertionError("no %r in:\n%s" % (words, self.text())) from None

    def ended(self):
        until(lambda: os.path.exists(self.status) and slurp(self.status), "the end of top")
        return int(slurp(self.status))

    def quit(self, keys="q"):
        self.keys(*keys)
        assert self.ended() == 0

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


@pytest.fixture
def terminal(live, tmp_path):
    need("tmux")
    need_terminals()
    terminals = []

    def start(*arguments, **options):
        directory = tmp_path / ("terminal%d" % len(terminals))
        directory.mkdir()
        terminals.append(Terminal(str(directory), *arguments, **options))
        return terminals[-1]

    yield start
    for one in terminals:
        one.close()


def pids_on(screen):
    """Returns the numbers in the first column, from above."""
    return [int(found) for found in re.findall(r"^ *(\d+) ", "\n".join(screen.lines()), re.M)]


def shown(terminal, target, **options):
    """A screen that shows a process."""
    screen = terminal("-p", str(target.pid), **options)
    screen.wait(r"%d pace" % target.pid)
    return screen


def test_a_session_at_the_screen(live, terminal):
    busy, idle = pace(live), live.workload("pace", 1)
    screen = terminal("-p", "%d,%d" % (busy.pid, idle.pid))
    screen.wait(r"PID COMM +CALLS/s")
    until(lambda: pids_on(screen) == [busy.pid, idle.pid], "both, the busy one first")

    screen.keys("<", "<", "<")  # past COMM and PID to the last column: OLDEST
    screen.wait("sort OLDEST")
    until(lambda: pids_on(screen) == [idle.pid, busy.pid], "the other order")
    screen.keys(">")
    screen.wait("sort PID")

    screen.keys("/", str(idle.pid))
    screen.wait("filter: %d" % idle.pid)
    until(lambda: pids_on(screen) == [idle.pid], "one only")
    screen.keys("Enter")
    screen.wait("filter %d\n" % idle.pid)
    screen.keys("Escape")
    until(lambda: len(pids_on(screen)) == 2, "both again")

    screen.keys("g")
    screen.wait(r"PROCS COMM")
    screen.wait(r" 2 pace")
    screen.keys("g", "g", "g", "g", "g", "g")
    screen.wait(r"PID COMM")

    screen.keys("h")
    screen.wait("any key goes back")
    screen.keys("x")
    screen.wait(r"PID COMM")

    screen.quit()
    assert "PID COMM" not in screen.text(), "the terminal is as it was"


def test_a_process_is_opened_and_ends(live, terminal):
    target = pace(live)
    screen = shown(terminal, target, width=100)
    screen.keys("Enter")
    screen.wait(r"process %d \(pace\)  threads 1" % target.pid)
    screen.wait(r"getppid +\d+")
    screen.wait(r"nanosleep +\d+")
    target.signal(signal.SIGKILL)
    screen.wait(r"process %d \(pace\) has ended" % target.pid)
    screen.keys("Down", ">", "Escape")
    screen.wait("no process is counted")
    screen.quit()


def test_panes_threads_and_a_tree(live, terminal):
    target = threads(live)
    screen = terminal("-p", str(target.pid), width=120, height=30)
    screen.wait(r"cpu0 \[.*\] usr .* csw/s \d+  mig/s \d+")
    screen.wait(r"process %d \(python3\): calls  errors  durations" % target.pid)
    screen.wait(r"getppid +\d+")
    screen.keys("Tab")
    screen.wait("no call failed")
    screen.keys("Tab")
    screen.wait(r" - \d+\S+ +\d+ +\d+\.\d% \|+")
    screen.keys("Tab")
    screen.wait(r"^ +\d+ s ago .* calls +now$")
    screen.keys("L")
    screen.wait(r"^all: calls  errors  durations  heat map")
    screen.keys("L", "l", "Tab")
    until(lambda: "durations" not in screen.text(), "no pane")
    screen.keys("H")
    screen.wait(r"%d +\d+ often " % target.pid)
    screen.wait(r"%d +%d python3 " % (target.pid, target.pid))
    # The order is that of the last interval: only what is alone on the screen is always first.
    screen.keys("/", "often", "Enter")
    until(lambda: "python3" not in screen.text() and "often " in screen.text(), "one thread")
    screen.keys("Enter")
    screen.wait(r"thread \d+ \(often\) of %d" % target.pid)
    screen.keys("Escape", "Escape", "H", "t")
    screen.wait("by pid as a tree")
    screen.keys("1", "I")
    screen.wait(r"sort CALLS/s reversed")
    screen.wait(r"^cpus \[")
    screen.quit()


def test_paths_at_the_screen_and_of_a_process(live, terminal):
    script = "while :; do test -e /nonexistent/path; test -e '/a\033[31m'; sleep 0.01; done"
    target = live.spawn("sh", "-c", script)
    screen = terminal("--by", "path", "-p", str(target.pid))
    screen.wait(r"^ +\d\S* +\d\S* .* /nonexistent/path$")
    screen.wait(r"by path, sort CALLS/s")
    screen.keys("/", "/", "p", "a", "Enter")

    def is_open():
        """In an interval without such a call there is no line to open."""
        screen.keys("Enter")
        return re.search(r"^/nonexistent/path  calls/s \d", screen.text(), re.M)

    until(is_open, "the path is open")
    screen.wait(r"^(newfstatat|faccessat2?) ")
    screen.keys("Escape", "Escape", "g")
    screen.wait(r"by dir, sort CALLS/s")
    screen.wait(r" /nonexistent$")
    screen.keys("g")
    screen.wait(r"%d sh" % target.pid)
    screen.keys("Tab", "Tab", "Tab", "Tab")
    screen.wait(r"heat map  paths")
    screen.wait(r"^ +\d\S* +\d\S* +\S+ /nonexistent/path$")
    screen.wait(r" /a\\x1b\[31m")
    screen.quit()


def test_children_stand_below_their_parent(live, terminal):
    parent = live.spawn("sh", "-c", "sleep 1000; :")
    child = until(
        lambda: slurp("/proc/%d/task/%d/children" % (parent.pid, parent.pid)).split(), "a child"
    )[0]
    screen = terminal("-p", "%d,%s" % (parent.pid, child.decode()), "--sort", "pid")
    screen.wait("%d sh" % parent.pid)
    screen.keys("t")
    screen.wait("%s `-sleep" % child.decode())
    screen.quit()


def test_pause_and_delay(live, terminal):
    target = pace(live)
    screen = shown(terminal, target)
    screen.keys("p")
    screen.wait("paused")
    before = slurp("/proc/%d/stat" % target.pid)  # it goes on while the picture stands
    frozen = screen.lines()
    until(lambda: slurp("/proc/%d/stat" % target.pid) != before, "time passes")
    assert screen.lines() == frozen
    screen.keys("p")
    until(lambda: screen.lines() != frozen, "new figures")
    screen.keys("d", "0.5", "Enter")
    screen.wait(r"every 0\.5 s")
    screen.keys("d", "x", "Enter")
    screen.wait("from 0.1 to 3600")
    screen.keys("C-c")
    assert screen.ended() == 0


def test_every_size_of_window(live, terminal):
    target = pace(live)
    screen = shown(terminal, target)
    screen.resize(140, 40)
    screen.wait(r"HISTORY +%CPU .*STATES +MAX +OLDEST")
    screen.wait(r"process %d \(pace\): calls  errors  durations" % target.pid)
    screen.resize(40, 10)
    screen.wait(r"CALLS/s +%SYS\n")
    assert "MAX" not in screen.text()
    screen.resize(40, 5)
    until(lambda: screen.lines()[0].startswith("calls/s"), "totals alone above the table")
    screen.wait(r"%d pace" % target.pid)
    screen.resize(3, 2)
    screen.keys("Enter", "Escape", "h", "h", "Down")
    screen.resize(80, 24)
    screen.wait(r"^ +PID .* %CPU .* OLDEST$")
    screen.quit()


def test_names_cannot_write_to_the_terminal(live, terminal):
    code = (
        "import time\n"
        "open('/proc/self/comm', 'wb').write(b'\\x1b[7m\\x9b31mEVIL\\xc3\\xbc')\n"
        "print('ready', flush=True)\n"
        "time.sleep(1000)\n"
    )
    target = live.spawn(sys.executable, "-c", code)
    until(lambda: target.stdout() == b"ready\n", "its name")
    screen = terminal("-p", str(target.pid), width=120)
    screen.wait(r"%d \\x1b\[7m\\x9b31m" % target.pid)
    screen.keys("Enter")
    screen.wait(r"process %d \(\\x1b\[7m\\x9b31mEVIL\\xc3\\xbc" % target.pid)
    screen.quit("qq")


@pytest.mark.parametrize("environment, colored", [((), True), (("NO_COLOR=1",), False)])
def test_no_color(live, terminal, environment, colored):
    screen = shown(terminal, live.workload("pace", 1), environment=environment)
    screen.keys("p")
    screen.wait("paused")
    assert ("\x1b[31m" in screen.tmux("capture-pane", "-e", "-p")) == colored


@pytest.mark.parametrize("term", ["dumb", "nonsense"])
def test_terminals_that_cannot(terminal, term):
    screen = terminal(term=term)
    assert screen.ended() == 1
    text = "".join(screen.text().split())  # it is broken into lines anywhere
    assert text.startswith("bpftruss:topdrawsonaterminal") and "--once" in text


def test_sigterm_gives_the_terminal_back(live, terminal):
    target = live.workload("pace", 1)
    screen = shown(terminal, target)
    shell = int(screen.tmux("list-panes", "-F", "#{pane_pid}"))
    (child,) = slurp("/proc/%d/task/%d/children" % (shell, shell)).split()
    os.kill(int(child), signal.SIGTERM)
    assert screen.ended() == 0
    assert "PID COMM" not in screen.text()
