# SPDX-License-Identifier: BSD-2-Clause
"""The daemon: what it counts, that answers add up, who may ask, and how it begins and ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import unquote

import pytest

from daemons import must_equal_seen_whole, start_daemon
from harness import BPFTRUSS, Report, run, until

NOBODY = 65534


@pytest.fixture
def daemon(live, tmp_path):
    # Whatever else runs on the host, what it counts does not push marks out.
    options = "--interval", "1h", "--recent", "256M"
    return start_daemon(live, tmp_path / "daemon", *options)


def save(daemon, path, *options):
    """A snapshot in a file, as --since takes it."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(daemon.verb("snapshot", "--json", *options))
    return str(path)


# --- counts --------------------------------------------------------------------------------------


def test_what_came_since_a_saved_snapshot_is_what_the_workload_says(live, tmp_path, daemon):
    target = live.workload("calls")
    before = save(daemon, tmp_path / "before")
    target.go()
    assert target.wait() == 0
    report = daemon.snapshot("--since", before, "-p", target.pid)
    must_equal_seen_whole(report, target.table())


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["-w"],
        ["-w", "--by", "comm,syscall", "--top", "3", "--sort", "calls"],
        ["-w", "--columns", "calls,p99", "--min-calls", "2", "-t", "!%network,exit_group"],
        ["--errors"],
        ["--format=strace", "-t", "%file"],
    ],
)
def test_a_table_of_the_daemon_is_that_of_the_client(live, tmp_path, daemon, options):
    """With a chart the client reads the whole snapshot and makes the table itself."""
    target = live.workload("calls")
    target.go()
    assert target.wait() == 0
    asked = "snapshot", "-p", target.pid, *options
    written = daemon.verb(*asked)
    made = daemon.verb(*asked, "--chart", tmp_path / "chart.svg")
    lines = [[line for line in text.split("\n") if "elapsed" not in line] for text in (written, made)]
    assert lines[0] == lines[1] and len(lines[0]) > 3


def test_a_process_is_counted_from_its_first_call(live, daemon):
    target = live.workload("calls")
    target.go()
    assert target.wait() == 0
    report = daemon.snapshot("-p", target.pid)
    execve = report.only("execve")
    assert execve["calls"] == 1 and execve["errors"] == 0
    assert report.only("exit_group")["no_return"] == 1


def test_asking_clears_nothing_and_answers_add_up(live, tmp_path, daemon):
    """Three clients with marks of their own, in any order, of a target that never rests."""
    target = live.workload("steady", 150, 101)
    first = save(daemon, tmp_path / "first")
    marks = {name: first for name in "abc"}
    parts = {name: [] for name in "abc"}
    target.go()
    number = 0
    while target.popen.poll() is None or number < 9:
        name = "abcab"[number % 5]
        number += 1
        text = daemon.verb("snapshot", "--json", "--since", marks[name])
        parts[name].append(Report(text.encode(), lossy=True))
        marks[name] = str(tmp_path / ("%s%d" % (name, number)))
        with open(marks[name], "w", encoding="utf-8") as file:
            file.write(text)
    whole = daemon.snapshot("--since", first, lossy=True)
    wanted = counted_of(whole, target.pid)
    assert sum(row["calls"] for row in wanted.values()) > 10000
    for name in "abc":
        text = daemon.verb("snapshot", "--json", "--since", marks[name])
        parts[name].append(Report(text.encode(), lossy=True))
        assert added_up(parts[name], target.pid) == wanted, name
        ends = [part.data["end"] for part in parts[name]]
        assert [part.data["start"] for part in parts[name][1:]] == ends[:-1]


def counted_of(report, pid):
    """Counts and buckets of a process and its children, by call."""
    return added_up([report], pid)


def added_up(reports, pid):
    total = {}
    for row in (row for report in reports for row in report.rows if row["pid"] == pid):
        sum_of = total.setdefault(row["syscall"], {"calls": 0, "errors": 0, "wall_ns": 0})
        for field in list(sum_of):
            if isinstance(field, str):
                sum_of[field] += row[field] or 0
        for low, _, count in row["histogram"]:
            sum_of[low] = sum_of.get(low, 0) + count
    return {name: row for name, row in total.items() if row["calls"]}


def test_a_span_begins_with_the_reading_before_it(live, daemon):
    """Calls in flight may be older than the span."""
    target = live.workload("calls")
    target.go()
    assert target.wait() == 0
    before = daemon.snapshot("-p", target.pid, lossy=True)
    assert before.rows
    time.sleep(1.1)
    late = daemon.snapshot("--since", "1s", lossy=True)
    assert late.data["start"] == before.data["end"]
    assert target.pid not in {row["pid"] for row in late.rows}
    long = daemon.snapshot("--since", "1h", "-p", target.pid, lossy=True)
    assert long.counts(True) == before.counts(True)


def test_every_format_has_the_same_counts(live, tmp_path, daemon):
    target = live.workload("calls")
    target.go()
    assert target.wait() == 0
    only = ["-p", target.pid]
    whole = daemon.snapshot(*only)
    calls = whole.sum("calls")
    chart = tmp_path / "chart.svg"
    assert str(calls) in daemon.verb("snapshot", *only)
    assert daemon.verb("snapshot", *only, "-w", "--by", "comm", "--columns", "calls").count(
        str(calls)
    )
    rows = daemon.verb("snapshot", *only, "--csv").splitlines()
    assert len(rows) - 1 == len({(row["abi"], row["nr"]) for row in whole.rows})
    for options in (["--hist"], ["--errors"], ["--format=strace"], ["--by", "unit"]):
        assert daemon.verb("snapshot", *only, *options)
    daemon.verb("snapshot", *only, "--chart", chart)
    assert chart.read_text().startswith("<svg ")


def test_stacks_come_through_the_daemon_in_every_form(live, tmp_path):
    """
    Report checks that the stacks of a row add up to it. The process lives for a second: of one that
    ends at once, nobody may have learned in time what code it runs.
    """
    daemon = start_daemon(live, tmp_path / "daemon", "--stacks", "-n", "pace")
    target = live.workload("pace", 100)
    target.go()
    assert target.wait() == 0

    def symbols():
        return {
            frame["symbol"]
            for row in daemon.snapshot("-p", target.pid).rows
            for stack in row["stacks"]
            for frame in stack["frames"]
        }

    # No question waits for names: they come in a later report.
    until(lambda: "main" in symbols(), "its frames are named")
    folded, flame = tmp_path / "folded", tmp_path / "flame.svg"
    text = daemon.verb("snapshot", "--stacks", "--folded", folded, "--flame", flame)
    assert "`main" in text
    total = sum(int(line.split()[-1]) for line in folded.read_text().splitlines())
    assert total == daemon.snapshot().sum("calls")
    assert flame.read_text().startswith("<svg ")


@pytest.mark.parametrize("option, value", [("-n", "cal*"), ("-U", "root"), ("-g", "/")])
def test_targets_choose_among_what_was_counted(live, daemon, option, value):
    target = live.workload("calls")
    target.go()
    assert target.wait() == 0
    chosen = {row["pid"] for row in daemon.snapshot(option, value).rows}
    assert target.pid in chosen


def test_targets_that_do_not_match_are_not_in_the_answer(live, daemon):
    target = live.workload("calls")
    target.go()
    assert target.wait() == 0
    assert {row["comm"] for row in daemon.snapshot("-n", "cal*").rows} == {"calls"}
    assert daemon.snapshot("-n", "no-such-name").rows == []


def test_the_daemon_does_not_count_itself(daemon):
    daemon.snapshot()
    assert daemon.pid not in {row["pid"] for row in daemon.snapshot().rows}


def test_only_the_configured_targets_are_counted(live, tmp_path):
    daemon = start_daemon(live, tmp_path / "daemon", "-n", "calls")
    target = live.workload("calls")
    target.go()
    assert target.wait() == 0
    assert {row["comm"] for row in daemon.snapshot().rows} == {"calls"}
    assert "name calls" in daemon.verb("status")


# --- what is refused -----------------------------------------------------------------------------


def refused(daemon, *arguments, status=1):
    result = run(arguments[0], "--socket", daemon.socket, *arguments[1:])
    assert result.returncode == status, result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_marks_of_another_daemon_are_refused(live, tmp_path, daemon):
    before = save(daemon, tmp_path / "before")
    daemon.stop()
    again = start_daemon(live, tmp_path / "daemon")
    assert "does not know that snapshot" in refused(again, "snapshot", "--since", before)


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--since", "soon"], "neither a span"),
        (["--by", "tid"], "neither threads nor first"),
        (["--stacks"], "takes no call stacks"),
        (["nonsense"], "is not an option"),
        (["--since", "/"], "not a saved snapshot"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(daemon, options, sentence):
    result = run("snapshot", "--socket", daemon.socket, *options)
    assert result.returncode in (1, 2)
    assert sentence in result.stderr and result.stderr.count("\n") == 1, result.stderr


@pytest.mark.parametrize(
    "target, status",
    [
        ("/v1/nothing", 404),
        ("/v2/snapshot", 404),
        ("/v1/snapshot?since=yesterday", 400),
        ("/v1/snapshot?pid=0x10", 400),
        ("/v1/snapshot?mark=1&boot_id=x", 410),
        ("/v1/snapshot?sicne=1", 400),
        ("/v1/snapshot?since=1&mark=1", 400),
        ("/v1/snapshot?from=1&since=1", 400),
        ("/v1/snapshot?from=1&step=1", 400),
        ("/v1/snapshot?trace=nothing", 400),
        ("/v1/snapshot?trace=read&trace=write", 400),
        ("/v1/snapshot?by=comm", 400),
        ("/v1/report?format=json", 400),
        ("/v1/report?by=nothing", 400),
        ("/v1/report?stacks=calls", 410),
        ("/v1/status?x=1", 400),
        ("/v1/history?from=1&to=10002&step=1", 413),
        ("/v1/history?step=9223372036854775807&from=0&to=0", 400),
        ("/v1/baselines/none?pid=1", 400),
        ("/v1/baselines/none", 404),
    ],
)
def test_bad_requests_have_their_status_and_a_sentence(daemon, target, status):
    got, headers, body = daemon.request(target)
    assert got == status
    assert headers["Content-Type"].startswith("application/json")
    assert json.loads(body)["error"]


def test_a_name_that_the_client_refuses_is_refused_by_the_daemon(daemon):
    for name in ("..", ".", ".x", "%2e%2e", "now", "1h", "x..y", "a%20b"):
        got, _, body = daemon.request("/v1/baselines/" + name, "PUT")
        assert got == 400 and "is no name for a baseline" in json.loads(body)["error"], name
        said = run("baseline", "save", unquote(name), "--socket", daemon.socket)
        assert said.returncode == 2 and "is no name for a baseline" in said.stderr, name


def test_other_methods_are_refused(daemon):
    assert daemon.request("/v1/snapshot", "PUT")[0] == 405


def test_without_a_daemon_the_sentence_says_how_to_start_one(tmp_path):
    result = run("snapshot", "--socket", tmp_path / "none")
    assert result.returncode == 1
    assert "systemctl start bpftruss" in result.stderr


# --- who may ask ---------------------------------------------------------------------------------


def status_as(daemon, target="/v1/status", method="GET", **credentials):
    """What a peer with these credentials gets, or the errno with which it cannot connect."""
    code = (
        "import socket, sys\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "try:\n"
        "    s.connect(sys.argv[1])\n"
        "except OSError as error:\n"
        "    sys.exit('errno %d' % error.errno)\n"
        "s.sendall(b'%s %s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n'\n"
        "          % (sys.argv[2].encode(), sys.argv[3].encode()))\n"
        "print(s.makefile().readline().split()[1])\n"
    )
    result = subprocess.run(
        ["python3", "-c", code, daemon.socket, method, target],
        capture_output=True,
        text=True,
        check=False,
        **credentials,
    )
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


def test_the_socket_belongs_to_root_and_its_group(shared):
    found = os.stat(shared.socket)
    assert (found.st_mode & 0o777, found.st_uid, found.st_gid) == (0o660, 0, NOBODY)


def test_members_of_the_group_may_ask(shared):
    assert status_as(shared, user=1234, group=NOBODY, extra_groups=[]) == "200"
    assert status_as(shared, user=1234, group=1234, extra_groups=[NOBODY]) == "200"


def test_members_may_not_change_anything(shared):
    who = {"user": 1234, "group": NOBODY, "extra_groups": []}
    assert status_as(shared, "/v1/baselines/x", "PUT", **who) == "403"
    assert status_as(shared, "/v1/baselines/x", "DELETE", **who) == "403"


def test_others_cannot_even_connect(shared):
    assert status_as(shared, user=1234, group=1234, extra_groups=[]) == "errno 13"


def test_others_who_can_connect_are_refused_all_the_same(shared):
    os.chmod(shared.socket, 0o666)
    assert status_as(shared, user=1234, group=1234, extra_groups=[]) == "403"


# --- its life ------------------------------------------------------------------------------------


def programs():
    """Ids of the programs that the kernel holds."""
    listed = subprocess.run(["bpftool", "-j", "prog", "list"], stdout=subprocess.PIPE, check=True)
    return {program["id"] for program in json.loads(listed.stdout)}


def test_it_ends_cleanly_and_leaves_nothing(live, tmp_path):
    before = programs()
    daemon = start_daemon(live, tmp_path / "daemon")
    assert programs() - before
    daemon.stop()
    assert not os.path.exists(daemon.socket)
    until(lambda: not programs() - before, "the programs are gone")


def test_killed_it_leaves_nothing_in_the_kernel_and_can_start_again(live, tmp_path):
    before = programs()
    daemon = start_daemon(live, tmp_path / "daemon")
    daemon.kill()
    until(lambda: not programs() - before, "the programs are gone")
    assert os.path.exists(daemon.socket)
    again = start_daemon(live, tmp_path / "daemon")
    assert again.snapshot().data["exact"] is True


def test_a_second_daemon_does_not_take_the_socket(live, tmp_path, daemon):
    result = run("daemon", "--socket", daemon.socket, "--state-dir", tmp_path / "daemon" / "state")
    assert result.returncode == 1
    assert daemon.socket in result.stderr
    assert daemon.get("/v1/status")["exact"] is True


def notifications(tmp_path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = str(tmp_path / "notify")
    listener.bind(path)
    listener.settimeout(60)
    return listener, path


def receive(listener, wanted):
    while True:
        text = listener.recv(4096).decode()
        if wanted in text.split("\n"):
            return text


def test_the_manager_is_told_of_start_reload_watchdog_and_end(live, tmp_path):
    listener, path = notifications(tmp_path)
    environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="200000")
    environment.pop("WATCHDOG_PID", None)
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
    daemon.signal(signal.SIGTERM)
    assert daemon.wait() == 0
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


def test_the_configuration_is_obeyed_and_flags_win(live, tmp_path):
    path = configured(tmp_path, GOOD)
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path)
    assert os.path.exists(daemon.socket) and not os.path.exists(str(tmp_path / "daemon" / "other"))
    assert daemon.get("/v1/status")["counting"]["targets"] == "name calls"
    assert daemon.get("/v1/status")["history"]["interval_ns"] == 3600 * 10**9


def test_flags_replace_the_targets_of_the_configuration(live, tmp_path):
    path = configured(tmp_path, GOOD)
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path, "-n", "other")
    assert daemon.get("/v1/status")["counting"]["targets"] == "name other"


@pytest.mark.parametrize(
    "text, line, sentence",
    [
        ("[daemon]\nsockt = /x\n", 2, "no key sockt"),
        ("[targets]\nname = " + "x" * 300 + "\n", 2, "too long"),
        ("[metrics]\nlisten = localhost\n", 2, "is no ADDRESS:PORT"),
        ("[daemon]\ngroup = no-such-group\n", 2, "there is no group"),
    ],
)
def test_faults_of_the_configuration_are_told_with_their_line(tmp_path, text, line, sentence):
    path = configured(tmp_path, text)
    result = run("daemon", "--check-config", "--config", path)
    assert result.returncode == 2
    assert "%s:%d: " % (path, line) in result.stderr and sentence in result.stderr, result.stderr


def test_a_good_configuration_is_said_to_be_so(tmp_path):
    result = run("daemon", "--check-config", "--config", configured(tmp_path, GOOD))
    assert (result.returncode, result.stdout) == (0, "the configuration is in order\n")


def test_no_undoes_yes(live, tmp_path):
    text = GOOD + "no-history = yes\nno-history = no\n[targets]\nall = yes\nall = no\n"
    daemon = start_daemon(live, tmp_path / "daemon", "--config", configured(tmp_path, text))
    status = daemon.get("/v1/status")
    assert status["history"] is not None and status["counting"]["targets"] == "name calls"


def test_a_configuration_that_is_named_must_be_there(tmp_path):
    result = run("daemon", "--check-config", "--config", tmp_path / "none")
    assert result.returncode == 2 and "none" in result.stderr


def test_a_reload_takes_the_new_interval_and_a_bad_one_changes_nothing(live, tmp_path):
    path = configured(tmp_path, GOOD)
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path)

    def reload(text, says):
        configured(tmp_path, text)
        daemon.signal(signal.SIGHUP)
        until(lambda: says in daemon.stderr(), says)
        return daemon.get("/v1/status")["history"]["interval_ns"]

    assert reload(GOOD.replace("1h", "2h"), "was read anew") == 7200 * 10**9
    assert reload(GOOD.replace("1h", "never"), "stays as it was") == 7200 * 10**9


def test_any_number_of_reloads_say_what_cannot_change(live, tmp_path):
    """The configurations before must be gone only when nothing looks at them."""
    path = configured(tmp_path, GOOD)
    environment = dict(os.environ, MALLOC_PERTURB_="165")
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path, env=environment)

    def reload(text):
        before = daemon.stderr().count("was read anew")
        configured(tmp_path, text)
        daemon.signal(signal.SIGHUP)
        until(lambda: daemon.stderr().count("was read anew") > before, "a reload")
        return daemon.stderr().count("change only when")

    for number in range(1, 5):
        assert reload(GOOD.replace("1h", "%dh" % number)) == 0
    assert reload(GOOD.replace("name = calls", "name = other")) == 1
    assert reload(GOOD) == 1
    daemon.stop()
    assert not os.path.exists(daemon.socket)
