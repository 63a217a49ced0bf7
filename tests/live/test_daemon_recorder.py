# SPDX-License-Identifier: BSD-2-Clause
"""The daemon's recorder: each call is dumped or accounted for, files are saved and bounded, few may ask."""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys

import pytest
from bpf_objects import held, listed
from cgroups import move
from daemons import READ_ANEW, memory_kib, must_be_below, start_daemon, watched
from harness import BPFTRUSS, Lossy, run, until, write
from recordings import Target, opened, sums_of, target  # noqa: F401

OF_A_BUSY_HOST = {"calls"}
NOBODY = 65534
NOT_RECORDING = "set 'record = yes' in [recorder]"


@pytest.fixture
def recording(live, tmp_path, target):
    """A daemon that records one process with these options."""
    return lambda *options: start_daemon(
        live, tmp_path / "daemon", "--record", "-p", target.pid, *options)


def dump(daemon, *options):
    """What is printed, and the line that accounts for it."""
    result = run("recorder", "dump", "--socket", daemon.socket, *options)
    assert result.returncode == 0, result.stderr
    [end] = sums_of(result.stderr)
    assert end["what"] == "so far"
    return result.stdout, end


def test_known_calls_are_dumped(target, recording):
    daemon = recording()
    target.ask("opens", 0, 100)
    text, end = dump(daemon, "-t", "open")
    assert opened(text) == list(range(100))
    assert (end["shown"], end["old"], end["over"], end["lost"]) == (100, 0, 0, 0)
    # It is all still there for the next one, and all else is, too.
    text, more = dump(daemon)
    assert opened(text) == list(range(100)) and "write(1" in text
    assert (more["shown"], more["left"]) == (more["all"], 0) and more["all"] >= end["all"]
    assert "not shown" not in text


def test_calls_before_a_time_are_too_old(target, recording):
    daemon = recording()
    target.ask("opens", 0, 100)
    text, end = dump(daemon, "--since", "1h", "-t", "open")
    assert opened(text) == list(range(100)) and end["old"] == 0
    target.ask("naps", 0.1)
    text, end = dump(daemon, "--since", "1ms", "-t", "open")
    assert opened(text) == [] and end["old"] >= 100


@pytest.mark.parametrize("options, numbers", [
    (["-p", "1"], []),
    (["-n", "no such thread"], []),
    (["-n", "pyth*"], range(20)),
    (["--failed=EACCES"], []),
    (["--failed=ENOENT"], range(20)),
    (["-z"], []),
    (["--path", "*/*7"], [7, 17]),
    (["--slower-than", "1h"], []),
])
def test_conditions(target, recording, options, numbers):
    daemon = recording()
    target.ask("opens", 0, 20)
    text, end = dump(daemon, "-t", "open", *options)
    assert opened(text) == list(numbers) and end["shown"] == len(numbers)


@pytest.mark.parametrize("form", ["json", "strace"])
def test_forms(tmp_path, target, recording, form):
    daemon = recording()
    target.ask("opens", 0, 5)
    text, _ = dump(daemon, "-t", "open", "--format", form, "-o", tmp_path / "out")
    assert text == ""
    lines = (tmp_path / "out").read_text().splitlines()
    if form == "json":
        lines = [json.dumps(json.loads(line)["args"]) for line in lines]
    assert [int(re.search(r"/nonexistent/(\d+)", line)[1]) for line in lines] == list(range(5))


def test_the_oldest_are_overwritten_and_counted(target, recording):
    daemon = recording("--record-size", "64K")
    # Those of another CPU would be overwritten only by what is done there.
    os.sched_setaffinity(target.pid, {min(os.sched_getaffinity(target.pid))})
    target.ask("opens", 0, 5000)
    text, end = dump(daemon)
    numbers = opened(text)
    assert end["over"] > 4000 and end["shown"] == end["all"] - end["over"] - end["lost"]
    if not end["lost"]:
        assert numbers == list(range(5000 - len(numbers), 5000))
    status = daemon.status("recorder")
    assert status["bytes"] == 65536 and status["overwritten"] >= end["over"]
    assert "recorder  back " in daemon.verb("status")


def test_several_pieces_are_one_recording(target, recording):
    daemon = recording()
    target.ask("opens", 0, 20000)
    text, end = dump(daemon, "-t", "open")
    assert end["lost"] or opened(text) == list(range(20000))
    assert end["shown"] == len(opened(text)) == 20000 - end["lost"]


def test_only_some_calls_are_recorded_and_all_are_counted(target, recording):
    daemon = recording("--record-calls", "close")
    target.ask("opens", 0, 100)
    target.ask("closes", 900)
    text, end = dump(daemon)
    assert [line.split("(")[0] for line in text.splitlines()] == ["close"]
    assert end["all"] == 1
    assert daemon.snapshot("-p", str(target.pid)).total("openat", "errors") == 100


def test_without_a_recorder_nothing_is_there_for_it(live, tmp_path, target):
    daemon = start_daemon(live, tmp_path / "daemon", "-p", target.pid)
    names = {each.get("name") for each in listed("map") if each["id"] in held(daemon.popen.pid)["map"]}
    assert "slots" in names and not names & {"open_calls", "call_rings", "call_ring", "call_totals"}
    assert daemon.status("recorder") is None and "recorder" not in daemon.verb("status")
    assert NOT_RECORDING in daemon.refusal("recorder", "dump", status=(1,))
    assert daemon.request("/v1/recorder")[0] == 410


@pytest.mark.parametrize("words", [[], ["dmup"], ["dump", "now"]])
def test_words_that_are_no_request(words):
    result = run("recorder", *words)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "dump prints what the daemon has recorded" in result.stderr


# --- who may ask ---------------------------------------------------------------------------------


def test_a_member_of_the_group_is_told_why_not(live, tmp_path, target):
    daemon = start_daemon(live, tmp_path / "daemon", "--record", "-p", target.pid, "--group", "nogroup")
    for folder in [tmp_path / "daemon", tmp_path] + list(tmp_path.parents):
        if str(folder) != "/":
            os.chmod(folder, os.stat(folder).st_mode | 0o711)
    program = str(tmp_path / "bpftruss")
    shutil.copy(BPFTRUSS, program)

    def ask(*words):
        argv = [program, *words, "--socket", daemon.socket]
        return subprocess.run(argv, capture_output=True, text=True, check=False,
                              user=1234, group=NOBODY, extra_groups=[])

    assert ask("status").returncode == 0
    result = ask("recorder", "dump")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert "only root and the daemon's user may see them" in result.stderr


# --- files ---------------------------------------------------------------------------------------


def folder_of(daemon):
    return os.path.join(daemon.state, "recorder")


def saved(daemon):
    """The files that are there, by name."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(name for name in os.listdir(folder_of(daemon)) if not name.startswith("."))
    return []


def read(daemon, name):
    with open(os.path.join(folder_of(daemon), name), encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("event, words", [
    ("failed:EBADF", ["closes", 900]), ("slower:500ms", ["naps", 0.6]), ("signal", ["aborts"])
])
def test_what_led_to_an_event_is_saved(target, recording, event, words):
    daemon = recording("--save-on", event)
    target.ask("opens", 0, 10)
    target.tell(*words)
    [name] = until(lambda: saved(daemon), "a file")
    assert re.fullmatch(r"\d{8}T\d{6}\.\d{3}Z\.txt", name)
    found = os.stat(os.path.join(folder_of(daemon), name))
    assert (found.st_mode & 0o777, os.stat(folder_of(daemon)).st_mode & 0o777) == (0o600, 0o700)
    text = read(daemon, name)
    assert opened(text) == list(range(10))
    [end] = sums_of(text)
    assert text.splitlines()[-1].endswith("so far") and end["lost"] == 0
    until(lambda: daemon.status("recorder", "saved") == 1, "it is counted")
    assert "/%s (save-on was met 1 time)" % name in daemon.stderr()


def test_what_does_not_happen_saves_nothing(target, recording):
    daemon = recording("--save-on", "failed:EIO", "--save-on", "slower:1h")
    target.ask("opens", 0, 10)
    target.ask("closes", 900)
    dump(daemon)
    assert saved(daemon) == [] and daemon.status("recorder", "saved") == 0


@pytest.mark.waits
def test_whoever_writes_a_file_is_no_event(live, tmp_path, cgroup, target):
    """Its own calls fail, too, as those of any program: the loader looks for files."""
    alone = cgroup("bpftruss-recorder-%d" % os.getpid())
    move(target.pid, alone)
    daemon = start_daemon(live, tmp_path / "daemon", "--record", "-g", alone, "--save-on", "failed")
    move(daemon.popen.pid, alone)
    for count in (1, 2):
        target.ask("closes", 900)
        until(lambda: daemon.status("recorder", "saved") == count, "a file")
    assert daemon.stderr().count("(save-on was met 1 time)") == 2, daemon.stderr()
    text, end = dump(daemon)
    assert end["left"] > 0 and text.count("EBADF") == 2


def test_the_oldest_files_are_removed(target, recording, tmp_path):
    folder = tmp_path / "daemon" / "state" / "recorder"
    os.makedirs(folder, mode=0o700)
    os.chmod(folder.parent, 0o700)
    old = ["2020010%dT000000.000Z.txt" % day for day in range(1, 5)]
    for name in old:
        write(folder / name, b"x" * (400 << 10))
    write(folder / "notes", b"of somebody")
    daemon = recording("--save-on", "failed:EBADF", "--save-size", "1M")
    target.ask("closes", 900)
    until(lambda: daemon.status("recorder", "saved") == 1, "a file")
    left = saved(daemon)
    assert left[:2] == old[2:] and len(left) == 4 and left[-1] == "notes"
    assert daemon.status("recorder", "save_removed") == 2


def test_a_file_that_cannot_be_written_is_said(target, recording, tmp_path):
    folder = tmp_path / "daemon" / "state"
    os.makedirs(folder, mode=0o700)
    write(folder / "recorder", b"no folder")
    daemon = recording("--save-on", "failed:EBADF")
    target.ask("closes", 900)
    until(lambda: "recorded calls cannot be saved: cannot open" in daemon.stderr(), "it is said")
    assert daemon.status("recorder", "save_failed") == 1
    # It goes on.
    target.ask("opens", 0, 3)
    assert opened(dump(daemon)[0]) == [0, 1, 2]


# --- its life ------------------------------------------------------------------------------------

CONFIG = "[recorder]\nrecord = yes\nrecord-size = %s\n%s[targets]\npid = %d\n"


def test_a_reload_takes_what_saves_and_says_what_waits_for_a_restart(live, tmp_path, target):
    path = tmp_path / "bpftruss.conf"

    def configure(size, more=""):
        path.write_text(CONFIG % (size, more, target.pid))

    configure("1M")
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path)
    target.ask("opens", 0, 3)
    configure("1M", "save-on = failed:EBADF\nsave-on = signal\n")
    daemon.signal(signal.SIGHUP)
    until(lambda: READ_ANEW in daemon.stderr(), "it is read")
    assert "change only when" not in daemon.stderr().replace("\n", " ")
    target.ask("closes", 900)
    [name] = until(lambda: saved(daemon), "a file")
    # What was recorded before is still there.
    assert opened(read(daemon, name)) == [0, 1, 2]
    configure("2M")
    daemon.signal(signal.SIGHUP)
    until(lambda: "record-calls and what is in [targets]" in daemon.stderr(), "it says so")
    assert daemon.status("recorder", "bytes") == 1 << 20


def test_keys_without_a_recorder_are_refused(tmp_path):
    result = run("daemon", "--check-config", "--save-on", "signal")
    assert result.returncode == 2 and "set record = yes, too" in result.stderr


THREADS = """
import sys, threading, os
threading.stack_size(65536)
over = threading.Event()
for line in sys.stdin:
    for i in range(int(line)):
        threading.Thread(target=over.wait, daemon=True).start()
    os.close(os.dup(0))
    print("done", flush=True)
"""


def test_larger_tables_keep_what_was_recorded(live, tmp_path, cgroup):
    alone = cgroup("bpftruss-recorder-%d" % os.getpid())
    daemon = start_daemon(live, tmp_path / "daemon", "--record", "-g", alone, env=watched(200000))
    other = Target()
    many = subprocess.Popen([sys.executable, "-c", THREADS], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    try:
        for each in (other, many):
            move(each.pid, alone)
        other.ask("opens", 0, 10)
        many.stdin.write("%d\n" % max(3000, daemon.room()))
        many.stdin.flush()
        assert many.stdout.readline() == "done\n"
        until(lambda: "counting was restarted" in daemon.stderr(), "larger tables")

        def goes_on():
            """A second restart may come, and have a gap as the first one has."""
            other.ask("opens", 10, 10)
            return opened(dump(daemon, "-p", str(other.pid))[0])[-10:] == list(range(10, 20))

        until(goes_on, "later calls are recorded")
        text, end = dump(daemon, "-p", str(other.pid))
        assert opened(text)[:10] == list(range(10)) and end["lost"] == 0
        restarts = daemon.stderr().count("counting was restarted")
        # One after the other, and round after round, but for what is made in the gap of a restart.
        gaps = [pair for pair in itertools.pairwise(opened(text)) if pair[1] - pair[0] not in (1, -9)]
        assert len(gaps) <= restarts, gaps
        assert [line for line in text.splitlines() if "not shown" in line] == [
            "… calls of some milliseconds not shown"] * restarts
    finally:
        many.kill()
        many.communicate()
        other.close()


def test_beyond_the_budget_it_is_given_up_first(live, tmp_path, target):
    config = tmp_path / "bpftruss.conf"
    config.write_text("[daemon]\nbudget = 0.01%%\n[recorder]\nrecord = yes\n[targets]\npid = %d\n"
                      % target.pid)
    daemon = start_daemon(live, tmp_path / "daemon", "--config", config, env=watched(400000))
    target.ask("opens", 0, 3)

    def is_paused():
        target.ask("naps", 0)
        return "single calls are not recorded from now on" in daemon.stderr()

    until(is_paused, "it is given up")
    assert "which errors" not in daemon.stderr().split("single calls")[0]
    target.ask("opens", 3, 100)
    result = run("recorder", "dump", "--socket", daemon.socket, "-t", "open")
    [end] = sums_of(result.stderr)
    assert opened(result.stdout) == [0, 1, 2] and end["left"] >= 100
    assert "the daemon records no calls now, to stay in its budget" in result.stderr
    assert daemon.status("recorder", "paused") is True and "paused now" in daemon.verb("status")
    config.write_text(config.read_text().replace("0.01%", "100%"))
    daemon.signal(signal.SIGHUP)
    until(lambda: READ_ANEW in daemon.stderr(), "it is read anew")
    target.ask("opens", 103, 3)
    text, end = dump(daemon)
    assert opened(text) == [0, 1, 2, 103, 104, 105] and end["lost"] == 0
    # Where calls were given up, it says how many.
    gaps = [int(number) for number in re.findall(r"(\d+) calls? of thread \d+ not shown", text)]
    assert sum(gaps) == end["left"]
    # Of all of them, the errors are counted.
    assert daemon.snapshot("-p", str(target.pid), lossy=True).total("openat", "calls") == 106


# --- hostile clients -----------------------------------------------------------------------------


@pytest.mark.waits
def test_clients_that_take_nothing_hold_up_nobody(target, recording):
    daemon = recording()
    target.ask("opens", 0, 40000)
    before = memory_kib(daemon.popen.pid)
    stuck = []
    try:
        for _ in range(200):
            client = socket.socket(socket.AF_UNIX)
            client.connect(daemon.socket)
            client.sendall(b"GET /v1/recorder HTTP/1.1\r\nHost: localhost\r\n\r\n")
            stuck.append(client)
        until(lambda: daemon.status("clients", "requests") >= 200, "they are answered")
        # A piece for some of them; the others are asked to come again.
        must_be_below(memory_kib(daemon.popen.pid) - before, 64 << 10)
        target.ask("opens", 0, 10)
        text, end = dump(daemon, "-t", "open")
        assert end["shown"] + end["lost"] == 40010 and opened(text)[-10:] == list(range(10))
    finally:
        for client in stuck:
            client.close()


HEAD = struct.Struct("24sIHH8Q")


def test_positions_that_nobody_gave_out(target, recording):
    daemon = recording("--record-size", "64K")
    target.ask("opens", 0, 3000)
    status, _, body = daemon.request("/v1/recorder")
    head = HEAD.unpack_from(body)
    end = head[5]
    assert status == 200 and HEAD.size < len(body) and head[4] == end
    for position in (1, 7, 8, end - 1, end - 8, end, end + 1, end + 10**6, 2**63, 2**64 - 1,
                     *range(end - 30000, end - 29000, 3)):
        status, _, body = daemon.request("/v1/recorder?from=%d" % position)
        assert status == 200 and len(body) <= HEAD.size + (1 << 20), position
    for wrong in ("?from=-1", "?from=x", "?from=%d" % 2**64, "?to=1"):
        assert daemon.request("/v1/recorder" + wrong)[0] == 400
    text, end = dump(daemon)
    if end["lost"]:
        raise Lossy({"calls": end["lost"]})
    assert opened(text)[-1] == 2999


@pytest.mark.parametrize("body", [b"", b"x" * 40, b"\0" * 200, HEAD.pack(b"9", 1, 0, 0, *range(8))])
def test_a_server_that_is_no_daemon(live, tmp_path, body):
    path = str(tmp_path / "socket")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    asking = subprocess.Popen([BPFTRUSS, "recorder", "dump", "--socket", path],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    client, _ = server.accept()
    client.recv(4096)
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    client.close()
    out, err = asking.communicate(timeout=60)
    server.close()
    assert asking.returncode == 1 and out == "" and "both must be of one version" in err
