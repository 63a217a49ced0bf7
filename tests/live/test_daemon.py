# SPDX-License-Identifier: BSD-2-Clause
"""The daemon: what it counts, that answers add up, who may ask, and how it begins and ends."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from urllib.parse import unquote

import pytest

from bpf_objects import in_kernel
from cgroups import cgroup_mount
from daemons import counts, must_equal_seen_whole, start_daemon, tick, watched
from harness import BPFTRUSS, run, until

NOBODY = 65534
MEMBER = {"user": 1234, "group": NOBODY, "extra_groups": []}
STRANGER = {"user": 1234, "group": 1234, "extra_groups": []}


@pytest.fixture
def daemon(live, tmp_path):
    # The memory is large enough that other processes of the host do not push marks out.
    options = "--interval", "1h", "--recent", "256M"
    return start_daemon(live, tmp_path / "daemon", *options)


# --- counts --------------------------------------------------------------------------------------


def test_what_came_since_a_saved_snapshot_is_what_the_workload_says(live, tmp_path, daemon):
    target = live.workload("calls")
    before = daemon.save(tmp_path / "before")
    target.play()
    report = daemon.snapshot("--since", before, "-p", target.pid)
    must_equal_seen_whole(report, target.table())


def test_a_table_of_the_daemon_is_that_of_the_client(live, tmp_path, daemon):
    """With a chart the client reads the whole snapshot and makes the table itself."""
    target = live.play("calls")
    for options in (
        "",
        "-w",
        "-w --by comm,syscall --top 3 --sort calls",
        "-w --columns calls,p99 --min-calls 2 -t !%network,exit_group",
        "--errors",
        "--format=strace -t %file",
        "-w --hist --waiting read --errors-only --by unit,comm,syscall",
    ):
        asked = "snapshot", "-p", target.pid, *options.split()
        texts = daemon.verb(*asked), daemon.verb(*asked, "--chart", tmp_path / "chart.svg")
        lines = [re.sub(r"(not known: |.*elapsed).*\n+", "", text).split("\n") for text in texts]
        assert lines[0] == lines[1] and len(lines[0]) > 3, options


def test_asking_clears_nothing_and_answers_add_up(live, tmp_path, daemon):
    """Three clients with marks of their own, in any order, of a target that never rests."""
    target, number = live.workload("steady", 150, 101), 0
    first = daemon.save(tmp_path / "first")
    marks = {name: first for name in "abc"}
    parts = {name: [] for name in "abc"}
    target.go()
    while target.popen.poll() is None or number < 9:
        name = "abcab"[number % 5]
        number += 1
        part = daemon.snapshot("--since", marks[name], lossy=True)
        parts[name].append(part)
        marks[name] = tmp_path / ("%s%d" % (name, number))
        marks[name].write_bytes(part.text)
    whole = daemon.snapshot("--since", first, lossy=True)
    wanted = added_up([whole], target.pid)
    assert sum(row["calls"] for row in wanted.values()) > 10000
    for name in "abc":
        parts[name].append(daemon.snapshot("--since", marks[name], lossy=True))
        assert added_up(parts[name], target.pid) == wanted, name
        ends = [part.data["end"] for part in parts[name]]
        assert [part.data["start"] for part in parts[name][1:]] == ends[:-1]


def added_up(reports, pid):
    """Counts and buckets of a process, by call."""
    rows = [row for report in reports for row in report.rows if row["pid"] == pid]
    return counts([{"rows": rows}])


def test_a_span_begins_with_the_reading_before_it(live, daemon):
    """Calls in flight may be older than the span."""
    target = live.play("calls")
    before = daemon.snapshot("-p", target.pid, lossy=True)
    assert before.rows
    time.sleep(1.1)
    late = daemon.snapshot("--since", "1s", lossy=True)
    assert late.data["start"] == before.data["end"]
    assert target.pid not in late.all("pid")
    long = daemon.snapshot("--since", "1h", "-p", target.pid, lossy=True)
    assert long.counts(True) == before.counts(True)


def test_every_format_has_the_same_counts(live, tmp_path, daemon):
    """Counts begin with the first call of a process."""
    target = live.play("calls")
    only = ["-p", target.pid]
    whole = daemon.snapshot(*only)
    calls = whole.sum("calls")
    execve = whole.only("execve")
    assert execve["calls"] == 1 and execve["errors"] == 0
    assert whole.only("exit_group")["no_return"] == 1
    assert str(calls) in daemon.verb("snapshot", *only)
    assert str(calls) in daemon.verb("snapshot", *only, "-w", "--by", "comm", "--columns", "calls")
    rows = daemon.verb("snapshot", *only, "--csv").splitlines()
    assert len(rows) - 1 == len({(row["abi"], row["nr"]) for row in whole.rows})
    for options in (["--hist"], ["--errors"], ["--format=strace"], ["--by", "unit"]):
        assert daemon.verb("snapshot", *only, *options)
    chart = tmp_path / "chart.svg"
    daemon.verb("snapshot", *only, "--chart", chart)
    assert chart.read_text().startswith("<svg ")


def test_stacks_come_through_the_daemon_in_every_form(live, tmp_path):
    """
    Report checks that the stacks of a row add up to it. The process lives for a second: of one that
    ends at once, nobody may have learned in time what code it runs.
    """
    daemon = start_daemon(live, tmp_path / "daemon", "--stacks", "-n", "pace")
    target = live.play("pace", 100)
    # No question waits for names: they come in a later report.
    until(lambda: ("pace", "main") in daemon.snapshot("-p", target.pid).frames(), "named frames")
    folded, flame, page = (tmp_path / name for name in ("folded", "flame.svg", "page.html"))
    # Other tests may play the same at the same time.
    which = "-p", target.pid
    text = daemon.verb("snapshot", *which, "--stacks", "--folded", folded, "--flame", flame, "--html", page)
    assert "`main" in text
    total = sum(int(line.split()[-1]) for line in folded.read_text().splitlines())
    assert total == daemon.snapshot(*which).sum("calls")
    assert flame.read_text().startswith("<svg ")
    assert '<figure class="graph" data-weight="calls">' in page.read_text()


def test_targets_choose_among_what_was_counted(live, daemon):
    """The daemon itself is no part of the counts."""
    target = live.play("calls")
    for option, value in (("-n", "cal*"), ("-U", "root")):
        assert target.pid in daemon.snapshot(option, value).all("pid")
    assert daemon.snapshot("-n", "cal*").all("comm") == {"calls"}
    assert daemon.snapshot("-n", "no-such-name").rows == []
    assert daemon.pid not in daemon.snapshot().all("pid")


def test_a_cgroup_chooses_among_what_was_counted(live, daemon):
    cgroup_mount()
    target = live.play("calls")
    assert target.pid in daemon.snapshot("-g", "/").all("pid")


def test_only_the_configured_targets_are_counted(live, tmp_path):
    daemon = start_daemon(live, tmp_path / "daemon", "-n", "calls")
    live.play("calls")
    assert daemon.snapshot().all("comm") == {"calls"}
    assert "name calls" in daemon.verb("status")


# --- what is refused -----------------------------------------------------------------------------


def test_marks_of_another_daemon_are_refused(live, tmp_path, daemon):
    before = daemon.save(tmp_path / "before")
    daemon.stop()
    again = start_daemon(live, tmp_path / "daemon")
    said = again.refusal("snapshot", "--since", before, status=[1])
    assert "no longer knows that snapshot" in said


def test_what_makes_no_sense_is_refused_in_one_sentence(daemon):
    for words, sentence in (
        ("--since soon", "neither a span"),
        ("--by tid", "does not keep thread"),
        ("--stacks", "takes no call stacks"),
        ("nonsense", "is not an option"),
        ("--since /", "not a saved snapshot"),
    ):
        assert sentence in daemon.refusal("snapshot", *words.split())


def test_bad_requests_have_their_status_and_a_sentence(daemon):
    for status, targets in BAD_REQUESTS.items():
        for target in targets.split():
            got, headers, body = daemon.request(target)
            assert got == status, target
            assert headers["Content-Type"].startswith("application/json"), target
            assert json.loads(body)["error"], target


BAD_REQUESTS = {
    400: """/v1/snapshot?since=yesterday /v1/snapshot?pid=0x10 /v1/snapshot?sicne=1
            /v1/snapshot?since=1&mark=1 /v1/snapshot?from=1&since=1 /v1/snapshot?from=1&step=1
            /v1/snapshot?trace=nothing /v1/snapshot?trace=read&trace=write /v1/snapshot?by=nothing
            /v1/report?format=json /v1/report?by=nothing /v1/status?x=1 /v1/baselines/none?pid=1
            /v1/history?step=9223372036854775807&from=0&to=0
            /v1/history?sum=nothing /v1/snapshot?sum=comm,nothing /v1/baselines/none?sum=comm""",
    404: "/v1/nothing /v2/snapshot /v1/baselines/none",
    410: "/v1/snapshot?mark=1&boot_id=x /v1/report?stacks=calls",
    413: "/v1/history?from=1&to=10002&step=1",
}


def test_a_name_that_the_client_refuses_is_refused_by_the_daemon(daemon):
    for name in ("..", ".", ".x", "%2e%2e", "now", "1h", "x..y", "a%20b"):
        got, _, body = daemon.request("/v1/baselines/" + name, "PUT")
        assert got == 400 and "is not a name for a baseline" in json.loads(body)["error"], name
        said = run("baseline", "save", unquote(name), "--socket", daemon.socket)
        assert said.returncode == 2 and "is not a name for a baseline" in said.stderr, name
    # Nor may anything else be put.
    assert daemon.request("/v1/snapshot", "PUT")[0] == 405


def test_without_a_daemon_the_sentence_says_how_to_start_one(tmp_path):
    result = run("snapshot", "--socket", tmp_path / "none")
    assert result.returncode == 1
    assert "systemctl start bpftruss" in result.stderr


# --- who may ask ---------------------------------------------------------------------------------


PEER = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
except OSError as error:
    sys.exit("errno %d" % error.errno)
headers = b" HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n"
s.sendall(sys.argv[2].encode() + headers)
print(s.makefile().readline().split()[1])
"""


def status_as(daemon, target="/v1/status", method="GET", **credentials):
    """Returns what a peer with these credentials gets, or the errno if it cannot connect."""
    argv = ["python3", "-c", PEER, daemon.socket, "%s %s" % (method, target)]
    result = subprocess.run(argv, capture_output=True, text=True, check=False, **credentials)
    return result.stdout.strip() or result.stderr.strip()


@pytest.fixture
def shared(live, tmp_path):
    """A daemon whose socket others can reach, of the group nogroup."""
    place = tmp_path / "daemon"
    daemon = start_daemon(live, place, "--group", "nogroup")
    for folder in [place] + list(place.parents):
        if str(folder) != "/":
            os.chmod(folder, os.stat(folder).st_mode | 0o711)
    return daemon


def test_the_socket_belongs_to_root_and_to_a_group_that_may_ask_and_change_nothing(shared):
    found = os.stat(shared.socket)
    assert (found.st_mode & 0o777, found.st_uid, found.st_gid) == (0o660, 0, NOBODY)
    assert status_as(shared, **MEMBER) == "200"
    assert status_as(shared, user=1234, group=1234, extra_groups=[NOBODY]) == "200"
    assert status_as(shared, "/v1/baselines/x", "PUT", **MEMBER) == "403"
    assert status_as(shared, "/v1/baselines/x", "DELETE", **MEMBER) == "403"
    # Others cannot connect, or are refused all the same.
    assert status_as(shared, **STRANGER) == "errno 13"
    os.chmod(shared.socket, 0o666)
    assert status_as(shared, **STRANGER) == "403"


# --- its life ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_it_leaves_nothing_in_the_kernel_and_can_start_again(live, tmp_path, end):
    before = in_kernel("prog")
    daemon = start_daemon(live, tmp_path / "daemon")
    assert in_kernel("prog") - before
    getattr(daemon, end)()
    until(lambda: not in_kernel("prog") - before, "the programs are gone")
    assert os.path.exists(daemon.socket) == (end == "kill")
    again = start_daemon(live, tmp_path / "daemon")
    assert again.snapshot().data["exact"] is True


def receive(listener, wanted):
    while True:
        text = listener.recv(4096).decode()
        if wanted in text.split("\n"):
            return text


def test_the_manager_is_told_of_start_reload_watchdog_and_end(live, tmp_path):
    listener, path = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), str(tmp_path / "notify")
    listener.bind(path)
    listener.settimeout(60)
    environment = {**watched(200000), "NOTIFY_SOCKET": path}
    daemon = start_daemon(live, tmp_path / "daemon", env=environment)
    receive(listener, "READY=1")
    receive(listener, "WATCHDOG=1")
    daemon.signal(signal.SIGHUP)
    receive(listener, "RELOADING=1")
    receive(listener, "READY=1")
    daemon.stop()
    receive(listener, "STOPPING=1")


def test_a_socket_that_systemd_holds_outlives_the_daemon(live, tmp_path):
    """Systemd's part is played by the test: LISTEN_FDS with the socket as descriptor 3."""
    path = str(tmp_path / "held")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    code = (
        "import os, sys\n"
        "os.dup2(int(sys.argv[1]), 3)\n"
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')\n"
        "os.execv(sys.argv[2], sys.argv[2:])\n"
    )
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    command = [sys.executable, "-c", code, listener.fileno(), BPFTRUSS, "daemon"]
    daemon = live.spawn(*command, "--state-dir", state, pass_fds=[listener.fileno()])
    until(lambda: "clients ask" in daemon.stderr() or daemon.popen.poll() is not None, "ready")
    result = run("status", "--socket", path)
    assert result.returncode == 0, result.stderr + daemon.stderr()
    assert "clients ask at %s\n" % path in daemon.stderr()
    daemon.stop(signal.SIGTERM)
    assert os.path.exists(path)


# --- configuration -------------------------------------------------------------------------------

GOOD = """\
# A comment.
[daemon]
socket = %(place)s/other
state-dir = %(place)s/state
[targets]
name = calls
follow = no
[tables]
stacks = no
kernel-stacks = no
[history]
interval = 1h
"""


def configured(tmp_path, text):
    path = tmp_path / "bpftruss.conf"
    path.write_text(text % {"place": tmp_path / "daemon"})
    return str(path)


UNDONE = "no-history = yes\nno-history = no\n[targets]\nall = yes\nall = no\n"


@pytest.mark.parametrize("more, options, targets", [
    ("", [], "name calls"), ("", ["-n", "other"], "name other"), (UNDONE, [], "name calls")
], ids=["obeyed", "flags win", "no undoes yes"])  # fmt: skip
def test_the_configuration_is_obeyed_and_flags_win(live, tmp_path, more, options, targets):
    path = configured(tmp_path, GOOD + more)
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path, *options)
    assert os.path.exists(daemon.socket) and not os.path.exists(str(tmp_path / "daemon" / "other"))
    assert daemon.status("counting", "targets") == targets
    assert daemon.status("history", "interval_ns") == 3600 * 10**9


@pytest.mark.parametrize("text, sentence", [
    ("[daemon]\nsockt = /x\n", "no key sockt"),
    ("[targets]\nname = " + "x" * 300 + "\n", "too long"),
    ("[metrics]\nlisten = localhost\n", "is not ADDRESS:PORT"),
    ("[daemon]\ngroup = no-such-group\n", "there is no group"),
])  # fmt: skip
def test_faults_of_the_configuration_are_told_with_their_line(tmp_path, text, sentence):
    path = configured(tmp_path, text)
    result = run("daemon", "--check-config", "--config", path)
    assert result.returncode == 2
    first, last = result.stderr.splitlines()
    assert first.startswith("bpftruss: %s:2: " % path) and sentence in first, result.stderr
    assert last == "bpftruss: 1 error in the configuration"
    # A daemon that does not start writes the same as a line of its log.
    result = run("daemon", "--config", path)
    assert result.returncode == 2 and "Z bpftruss: error: %s:2: " % path in result.stderr


def test_the_configuration_is_said_to_be_good_or_missing(tmp_path):
    result = run("daemon", "--check-config", "--config", configured(tmp_path, GOOD))
    assert (result.returncode, result.stdout) == (0, "the configuration is in order\n")
    result = run("daemon", "--check-config", "--config", tmp_path / "none")
    assert result.returncode == 2 and "none" in result.stderr


def test_a_reload_takes_the_new_interval_and_a_bad_one_changes_nothing(live, tmp_path):
    path = configured(tmp_path, GOOD)
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path)
    for interval, says in (("2h", "was reloaded"), ("never", "is unchanged")):
        configured(tmp_path, GOOD.replace("1h", interval))
        daemon.signal(signal.SIGHUP)
        until(lambda: says in daemon.stderr(), says)
        assert daemon.status("history", "interval_ns") == 7200 * 10**9


def test_a_reload_that_wants_a_history_makes_its_folder(live, tmp_path):
    """As nobody else may see it, whatever umask the daemon was given."""
    path = configured(tmp_path, GOOD + "no-history = yes\n")
    state = tmp_path / "new"
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path, "--state-dir", state,
                          preexec_fn=lambda: os.umask(0o277))  # fmt: skip
    assert not state.exists()
    configured(tmp_path, GOOD)
    daemon.signal(signal.SIGHUP)
    until(lambda: "was reloaded" in daemon.stderr(), "it has begun")
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert (state / "history.db").exists() and "misses" not in daemon.stderr()


def test_any_number_of_reloads_say_what_cannot_change(live, tmp_path):
    """The configurations before must be gone only when nothing looks at them."""
    path = configured(tmp_path, GOOD)
    environment = dict(os.environ, MALLOC_PERTURB_="165")
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path, env=environment)

    def reload(text):
        configured(tmp_path, text)
        tick(daemon)
        return daemon.stderr().count("change only when")

    for number in range(1, 5):
        assert reload(GOOD.replace("1h", "%dh" % number)) == 0
    assert reload(GOOD.replace("name = calls", "name = other")) == 1
    assert reload(GOOD) == 1
    daemon.stop()
    assert not os.path.exists(daemon.socket)
