# SPDX-License-Identifier: BSD-2-Clause
"""What --last keeps: the newest calls, each either shown or accounted for, and what --save-on writes of them."""

import json
import os
import re
import signal
import sys

import pytest
from harness import BPFTRUSS, Process, run, slurp, until
from recordings import SUM, Target, opened, sums_of, target  # noqa: F401


def record(live, target, *arguments):
    argv = [BPFTRUSS, "-p", str(target.pid)] + [str(argument) for argument in arguments]
    recorder = live.add(Process, argv)
    until(lambda: "counting" in recorder.stderr(), "it counts")
    return recorder


def sums(recorder):
    return sums_of(recorder.stderr())


def test_the_last_calls_are_printed(live, target):
    recorder = record(live, target, "--last", 7, "-t", "open")
    target.ask("opens", 0, 100)
    assert recorder.stdout() == b""
    recorder.stop()
    assert opened(recorder.stdout().decode()) == list(range(93, 100))
    [end] = sums(recorder)
    assert end == {"name": None, "what": "counted", "shown": 7, "left": 0, "old": 93, "over": 0,
                   "lost": 0, "all": 100}
    assert "100 calls recorded, none overwritten" in recorder.stderr()
    assert "not shown" not in recorder.stdout().decode()


def test_calls_of_the_last_time_are_printed(live, target):
    recorder = record(live, target, "--last", "1h", "-t", "open")
    target.ask("opens", 0, 100)
    recorder.stop()
    assert opened(recorder.stdout().decode()) == list(range(100))
    [end] = sums(recorder)
    assert (end["shown"], end["old"]) == (100, 0)


def test_calls_before_the_last_time_are_too_old(live, target):
    recorder = record(live, target, "--last", "1ms", "-t", "open")
    target.ask("opens", 0, 100)
    target.ask("naps", 0.1)
    recorder.stop()
    assert opened(recorder.stdout().decode()) == []
    [end] = sums(recorder)
    assert (end["shown"], end["old"]) == (0, 100)


def test_the_last_calls_are_those_that_are_chosen(live, target):
    recorder = record(live, target, "--last", 3, "--path", "/nonexistent/*7")
    target.ask("opens", 0, 100)
    recorder.stop()
    assert opened(recorder.stdout().decode()) == [77, 87, 97]
    [end] = sums(recorder)
    assert end["shown"] == 3


def test_the_oldest_calls_are_overwritten(live, target):
    recorder = record(live, target, "--last", 1000000, "--record-size", "64K", "-t", "open")
    target.ask("opens", 0, 5000)
    recorder.stop()
    numbers = opened(recorder.stdout().decode())
    [end] = sums(recorder)
    assert end["over"] > 0 and end["all"] == 5000
    if not end["lost"]:
        assert numbers == list(range(5000 - len(numbers), 5000))
        assert end["over"] == 5000 - len(numbers)
        # What was before the first of them is no gap.
        assert "not shown" not in recorder.stdout().decode()
    # Each is larger than its head, and smaller than three of these.
    assert 64 * 1024 / 450 < len(numbers) < 64 * 1024 / 150
    assert re.search(r"reaches back \d", recorder.stderr())


def test_a_signal_prints_and_goes_on(live, target):
    recorder = record(live, target, "--last", 5, "-t", "open")
    target.ask("opens", 0, 10)
    recorder.signal(signal.SIGUSR1)
    until(lambda: sums(recorder), "it prints")
    assert opened(recorder.stdout().decode()) == list(range(5, 10))
    target.ask("opens", 10, 10)
    recorder.stop()
    assert opened(recorder.stdout().decode()) == list(range(5, 10)) + list(range(15, 20))
    middle, end = sums(recorder)
    assert (middle["what"], middle["all"]) == ("so far", 10)
    assert (end["what"], end["all"], end["old"]) == ("counted", 20, 15)


def test_a_call_that_began_before_is_shown_as_sleeping_each_time(live):
    sleeper = live.workload("calls")
    recorder = record(live, sleeper, "--last", 5)

    def shown_twice():
        before = len(sums(recorder))
        recorder.signal(signal.SIGUSR1)
        until(lambda: len(sums(recorder)) > before, "it prints")
        found = re.findall(r"^read\(0.*\(sleeping\.\.\.\)$", recorder.stdout().decode(), re.M)
        return len(found) >= 2

    until(shown_twice, "it is said to sleep")
    recorder.stop()


@pytest.mark.parametrize("form", ["json", "strace"])
def test_other_forms(live, target, form):
    recorder = record(live, target, "--last", 5, "-t", "open", "--format", form)
    target.ask("opens", 0, 10)
    recorder.stop()
    lines = recorder.stdout().decode().splitlines()
    if form == "json":
        lines = [json.dumps(json.loads(line)["args"]) for line in lines]
    assert [int(re.search(r"/nonexistent/(\d+)", line)[1]) for line in lines] == list(range(5, 10))


def test_a_command_that_ends(tmp_path):
    out = tmp_path / "calls"
    script = "import os\nfor i in range(50): os.getppid()\nos._exit(3)"
    result = run("--last", 4, "-o", out, sys.executable, "-c", script)
    assert result.returncode == 3
    names = [line.split("(")[0] for line in out.read_text().splitlines()]
    assert names == ["getppid"] * 3 + ["exit_group"]


THREADS = """
import os, threading
def work():
    for i in range(3000):
        os.getppid()
threads = [threading.Thread(target=work) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_calls_of_a_thread_are_in_order(tmp_path):
    out = tmp_path / "calls"
    result = run("--last", 5000, "-t", "getppid", "--json", "-o", out, sys.executable, "-c", THREADS)
    assert result.returncode == 0, result.stderr
    calls = [json.loads(line) for line in out.read_text().splitlines()]
    numbers = {}
    for call in calls:
        if "not_shown" not in call:
            numbers.setdefault(call["tid"], []).append(call["number"])
    match = SUM.search(result.stderr)
    assert match["all"] == "12000" and int(match["shown"]) == sum(map(len, numbers.values()))
    for own in numbers.values():
        assert own == sorted(set(own))
        if match["lost"] == "0":
            assert own == list(range(own[0], own[-1] + 1)) and own[-1] == 3000
    if match["lost"] == "0":
        assert sum(map(len, numbers.values())) == 5000


def test_stacks_are_printed_below(live, target):
    recorder = record(live, target, "--last", 1, "-k", "-t", "open")
    target.ask("opens", 0, 10)
    recorder.stop()
    first, *frames = recorder.stdout().decode().splitlines()
    assert opened(first) == [9]
    assert frames and all(frame.startswith("        ") for frame in frames)


def test_a_descriptor_is_never_called_what_it_became_later(live, tmp_path):
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    fd = os.open(first, os.O_WRONLY | os.O_CREAT)
    target = Target(pass_fds=[fd])
    try:
        target.ask("naps", 0)
        recorder = record(live, target, "--last", 1000)
        target.ask("write_to", fd, "one")
        target.ask("becomes", fd, second)
        target.ask("write_to", fd, "two")
        recorder.stop()
    finally:
        target.close()
        os.close(fd)
    lines = recorder.stdout().decode().splitlines()
    [one] = [line for line in lines if line.startswith("write(") and '"one"' in line]
    [two] = [line for line in lines if line.startswith("write(") and '"two"' in line]
    assert one.startswith("write(%d, " % fd)
    assert two.startswith("write(%d<%s>, " % (fd, second))


# --- --save-on ------------------------------------------------------------------------------------

ON_CLOSE = ("--last", 11, "-t", "open,close", "--save-on", "failed:EBADF")


def saved(path):
    return opened(path.read_text()) if path.exists() else []


@pytest.mark.parametrize("event, words", [
    ("failed:EBADF", ["closes", 900]),
    ("slower:500ms", ["naps", 0.6]),
])
def test_calls_are_saved_when_something_happens(live, target, tmp_path, event, words):
    out = tmp_path / "calls"
    recorder = record(live, target, "--last", 1000, "--save-on", event, "-o", out)
    target.ask("opens", 0, 10)
    assert sums(recorder) == []
    target.tell(*words)
    until(lambda: sums(recorder), "it saves")
    assert saved(out) == list(range(10))
    recorder.stop()
    [middle] = sums(recorder)
    assert (middle["name"], middle["what"]) == (str(out), "so far")
    assert re.search(r"^bpftruss: saved 1 time; \d+ calls recorded \+ 0 lost = \d+ counted$",
                     recorder.stderr(), re.M)
    assert not (tmp_path / "calls.2").exists()


def test_a_failure_of_another_kind_saves_nothing(live, target, tmp_path):
    out = tmp_path / "calls"
    recorder = record(live, target, "--last", 9, "--save-on", "failed:EIO,EBADF", "-o", out)
    target.ask("opens", 0, 10)
    recorder.stop()
    assert "saved 0 times;" in recorder.stderr()
    assert sums(recorder) == [] and out.read_text() == ""


def test_an_interruption_is_no_failure(live, target, tmp_path):
    out = tmp_path / "calls"
    recorder = record(live, target, "--last", 9, "-t", "read", "--save-on", "failed", "-o", out)
    os.kill(target.pid, signal.SIGSTOP)
    until(lambda: b"State:\tT" in slurp("/proc/%d/status" % target.pid), "it stops")
    os.kill(target.pid, signal.SIGCONT)
    target.ask("naps", 0)
    recorder.stop()
    # One ended by the signal, and the same again.
    assert "saved 0 times; 2 calls recorded" in recorder.stderr()


def test_each_file_has_a_number(live, target, tmp_path):
    out = tmp_path / "calls"
    recorder = record(live, target, *ON_CLOSE, "-o", out)
    for i in range(3):
        target.ask("opens", 10 * i, 10)
        target.ask("closes", 900)
        until(lambda: len(sums(recorder)) > i, "it saves")
    recorder.stop()
    for i, name in enumerate(("calls", "calls.2", "calls.3")):
        assert saved(tmp_path / name) == list(range(10 * i, 10 * i + 10))
    assert [end["name"] for end in sums(recorder)] == [str(out), "%s.2" % out, "%s.3" % out]
    assert "saved 3 times; 33 calls recorded" in recorder.stderr()


def test_what_is_met_soon_after_is_saved_at_the_end(live, target, tmp_path):
    out = tmp_path / "calls"
    recorder = record(live, target, *ON_CLOSE, "-o", out)
    target.ask("closes", 900)
    until(lambda: sums(recorder), "it saves")
    target.ask("opens", 10, 10)
    target.ask("closes", 900)
    recorder.stop()
    assert "saved 2 times; 12 calls recorded" in recorder.stderr()
    assert saved(tmp_path / "calls.2") == list(range(10, 20))


def test_what_comes_after_does_not_push_it_out(live, target, tmp_path):
    out = tmp_path / "calls"
    recorder = record(live, target, "--last", 2, "-t", "open,close", "--save-on", "failed:EBADF",
                      "-o", out)
    target.tell("opens", 0, 10)
    target.tell("closes", 900)
    target.tell("opens", 10, 1000)
    until(lambda: sums(recorder), "it saves")
    recorder.stop()
    first, second, *more = out.read_text().splitlines()
    assert opened(first) == [9] and second.startswith("close(900)")
    numbers = opened("\n".join(more))
    assert numbers == list(range(10, 10 + len(more)))


def test_a_process_that_ends_by_a_signal(live, target, tmp_path):
    out = tmp_path / "calls"
    recorder = record(live, target, "--last", 1000, "--save-on", "signal", "-o", out)
    target.ask("opens", 0, 10)
    target.tell("aborts")
    assert recorder.wait() == 0, recorder.stderr()
    assert saved(out) == list(range(10))
    assert "saved 1 time;" in recorder.stderr()


def test_a_process_that_exits_is_not_saved(live, target, tmp_path):
    out = tmp_path / "calls"
    recorder = record(live, target, "--last", 1000, "--save-on", "signal", "-o", out)
    target.ask("opens", 0, 10)
    target.popen.stdin.close()
    assert recorder.wait() == 0, recorder.stderr()
    assert "saved 0 times;" in recorder.stderr()


@pytest.mark.parametrize("arguments, sentence", [
    (["--last", "0"], "not a number of calls"),
    (["--last", "soon"], "--last"),
    (["--last", "5", "--max-events", "3"], "leave --max-events out"),
    (["--record-size", "1M"], "give --last, too"),
    (["--last", "5", "--record-size", "1K"], "from 64K to 64G"),
    (["--last", "5", "--save-on", "failed"], "give -o FILE, too"),
    (["--last", "5", "-o", "x", "--save-on", "slower"], "is none of"),
    (["--last", "5", "-o", "x", "--save-on", "failed:EFOO"], "not a list of errors"),
    (["--last", "5", "-o", "x", "-C", "--save-on", "failed"], "leave -C out"),
])
def test_nonsense_is_refused(arguments, sentence):
    result = run("-p", 1, *arguments)
    assert result.returncode == 2 and sentence in result.stderr, result.stderr
