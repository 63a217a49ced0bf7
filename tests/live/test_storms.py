# SPDX-License-Identifier: BSD-2-Clause
"""
Storms that any user can make: of tasks that end, names, numbers, users and cgroups. The daemon's
memory is bounded in each, no call is lost, and what lost its number or its name is said. Tables
have the size that is needed for the threads that there are.
"""

import json
import os
import signal
import subprocess
import sys

import pytest

from cgroups import cgroup_mount, cgroup_remove, need_threads
from daemons import gap_reasons, history_of, memory_kib, start_daemon, watched
from harness import IS_X86, Report, Talker, skip_if_sanitized, until
from test_cost import CALLER

SOMEBODY = 54321
LIMIT_KIB = 64 << 10
LIVE_LIMIT_KIB = 96 << 10  # with all of --max-rows
ASKED_LIMIT_KIB = 96 << 10  # while one answer of 15,000 rows after the other is made
AFTERWARDS_KIB = 60 << 10  # of which the tables of the kernel are 28 MiB
FRESH_FIRST = 4000


def storm(live, tmp_path, kind, number, user=SOMEBODY, meanwhile=None):
    """The daemon after a storm, and how many calls were made in it."""
    skip_if_sanitized()
    # The watchdog's pace is the one at which unused memory is given back.
    options = ["--interval", "1h", "--budget", "none"]
    # Tables of these sizes do not grow, for which counting would begin anew.
    options += ["--max-tasks", 1536, "--max-rows", 40000, "--max-errnos", 12288]
    daemon = start_daemon(live, tmp_path / "daemon", *options, env=watched(400000))
    target = live.workload("storm", kind, number, user)
    target.go()
    while meanwhile and target.popen.poll() is None:
        meanwhile(daemon)
    assert target.wait() == 0
    return daemon, json.loads(target.stdout().splitlines()[-1])["calls"]


def must_be_bounded(daemon, limit_kib=LIMIT_KIB):
    """While it lasts, with a reading on top; and afterwards it is given back."""
    report = daemon.snapshot(lossy=True)
    peak = memory_kib(daemon.pid, "VmHWM")
    print("%d rows, %d KiB at the peak, %s" % (len(report.rows), peak, report.losses))
    assert peak < limit_kib
    until(lambda: memory_kib(daemon.pid) < AFTERWARDS_KIB, "memory is given back")
    return report


def calls_of(report, chosen):
    return sum(row["calls"] for row in report.rows if chosen(row))


def must_have_other_calls(report, made):
    """All calls of the other ABI, where there is one."""
    if IS_X86:
        assert calls_of(report, lambda row: row["abi"] == "x32") == made


def is_made_up(row):
    """Numbers of the storm, or none at all."""
    return row["nr"] is None or row["nr"] >= FRESH_FIRST


def test_threads_that_call_made_up_numbers(live, tmp_path):
    daemon, made = storm(live, tmp_path, "numbers", 8000)
    report = must_be_bounded(daemon)
    assert calls_of(report, is_made_up) >= made
    assert report.losses["numbers_folded"] > 0
    own = [row for row in report.rows if row["comm"] == "storm" and is_made_up(row)]
    assert len(own) <= 65
    assert "calls counted without their number" in daemon.verb("snapshot")


def test_processes_of_ever_new_names(live, tmp_path):
    daemon, made = storm(live, tmp_path, "names", 2500)
    report = must_be_bounded(daemon)
    must_have_other_calls(report, made)
    assert report.losses["kinds_folded"] > 0
    assert "processes counted without name" in daemon.verb("snapshot")


def test_threads_of_processes_that_stay(live, tmp_path):
    """No thread of these processes may be folded: what is too much stays in the kernel."""
    daemon, made = storm(live, tmp_path, "stay", 600)
    must_have_other_calls(must_be_bounded(daemon, LIVE_LIMIT_KIB), made)


def test_differences_of_a_storm_keep_to_their_limit(live, tmp_path):
    """
    Each question leaves a mark; none may go before the history has what came since. Twice 8 MB is
    the most.
    """

    def ask(daemon):
        assert daemon.request("/v1/snapshot?since=1000000000")[0] in (200, 503)
        assert daemon.status("recent", "bytes") <= 16 << 20

    daemon, made = storm(live, tmp_path, "names", 2500, meanwhile=ask)
    assert daemon.status("recent", "bytes") <= 16 << 20
    must_have_other_calls(must_be_bounded(daemon, ASKED_LIMIT_KIB), made)


def test_threads_that_fail_in_any_way(live, tmp_path):
    daemon, made = storm(live, tmp_path, "errnos", 2000)
    report = must_be_bounded(daemon)

    def is_failing(row):
        return row["comm"] in ("storm", "[overflow]") and 480 <= (row["nr"] or 0) < 496

    assert calls_of(report, is_failing) == made
    assert sum(row["errors"] for row in report.rows if is_failing(row)) == made
    # A row has at most the errnos that have a name, and 64 others.
    assert max(len(row["errnos"]) for row in report.rows) < 64 + 160
    failing = [row for row in report.rows if is_failing(row)]
    assert sum(sum(row["errnos"].values()) for row in failing) < made
    assert not report.data["exact"]


def test_twenty_thousand_processes(live, tmp_path):
    daemon, made = storm(live, tmp_path, "processes", 20000)
    report = must_be_bounded(daemon)
    assert report.total("getppid") >= made


def test_users_that_come_and_go(live, tmp_path):
    daemon, made = storm(live, tmp_path, "users", 6000, user=0)
    report = must_be_bounded(daemon)
    assert report.total("setresuid") >= made


LONG_NAME = "x" * 250
# Were all their names kept, they would take 45 MB: only that many can fail.
CGROUPS = 13000 if os.environ.get("DRILLS") == "full" else 400


@pytest.fixture
def deep_place():
    """The path of a cgroup that is nearly as long as one can be."""
    place = os.path.join(cgroup_mount(), "storm-%d" % os.getpid())
    while len(place) + 2 * len(LONG_NAME) < os.pathconf("/", "PC_PATH_MAX"):
        os.mkdir(place)
        place = os.path.join(place, LONG_NAME)
    place = os.path.dirname(place)
    yield place
    while place != cgroup_mount():
        os.rmdir(place)
        place = os.path.dirname(place)


def test_cgroups_that_come_and_go(live, tmp_path, deep_place):
    daemon, _ = storm(live, tmp_path, "processes", 10)
    for i in range(CGROUPS):
        path = os.path.join(deep_place, "%d" % i)
        os.mkdir(path)
        # Late in a run pytest is large, and slow to fork.
        subprocess.run(["sh", "-c", 'echo 0 >"$0/cgroup.procs"', path], check=True)
        until(lambda: cgroup_remove(path), "the cgroup is empty")
    must_be_bounded(daemon)


# --- the size of tables --------------------------------------------------------------------------

SINGLE = ("getuid", "geteuid", "getgid", "getegid", "gettid", "getpid", "umask")


@pytest.mark.parametrize("number", [3000, 20000])
def test_threads_of_a_running_process_have_rows_of_their_own(live, number):
    need_threads(number)
    report, _ = live.count("threads", "alike", number, 7)
    assert report.total("getppid") == 7 * number
    assert {name: report.total(name) for name in SINGLE} == dict.fromkeys(SINGLE, number)
    assert report.only("exit")["no_return"] == number


def test_a_table_that_the_user_made_stays_as_large(live):
    report, _ = live.count("crowd", 500, options=["-f", "--max-tasks", 100], lossy=True)
    assert report.losses["task_table_full"] > 0


def test_a_task_that_found_no_record_gets_one_later(live):
    first, second = (live.add(Talker, [sys.executable, "-c", CALLER]) for _ in range(2))
    bpftruss = live.attach([first.pid, second.pid], "--max-tasks", 1)
    second.ask("ask 101")
    first.popen.stdin.close()
    first.wait()
    asked, own, lines = 101, 0, bpftruss.text().count(b"\n")
    while not own and asked < 2000:
        second.ask("ask 10")
        asked += 10
        bpftruss.signal(signal.SIGUSR1)
        lines += 1
        until(lambda: bpftruss.text().count(b"\n") >= lines, "a report so far")
        report = Report(bpftruss.text().splitlines()[-1], lossy=True)
        own = report.total("getppid", pid=second.pid)
    # The calls that it made while the other one lived are nobody's, and the last ones are its own.
    assert 0 < own <= asked - 101
    assert report.total("getppid") == asked
    second.popen.stdin.close()
    report = Report(bpftruss.end_text().splitlines()[-1].encode(), lossy=True)
    assert report.total("getppid") == asked


def test_a_daemon_makes_larger_tables_before_calls_lose_their_process(live, tmp_path):
    """It begins anew, and its history has what was counted before; between them is a gap."""
    options = ["-n", "threads", "--budget", "none"]
    daemon = start_daemon(live, tmp_path / "daemon", *options, env=watched(400000))
    live.play("threads", "alike", 10, 7)
    number = max(5000, daemon.room() + 1)
    need_threads(number)
    target = live.workload("threads", "alike", number, 7)

    def restarted():
        words = daemon.stderr()
        assert "cannot be enlarged" not in words, words
        return "counting was restarted" in words

    until(restarted, "the tables grow")
    until(lambda: daemon.status("counting", "threads") == number + 1, "all are counted")
    assert daemon.room() > number + 1
    target.play()
    report = daemon.snapshot()
    assert report.total("getppid") == 7 * number
    assert {name: report.total(name) for name in SINGLE} == dict.fromkeys(SINGLE, number)
    daemon.stop()
    steps = [step["snapshot"]["rows"] for step in history_of(daemon)["steps"]]
    asked = [row["calls"] for rows in steps for row in rows if row["syscall"] == "getppid"]
    assert sum(asked) == 7 * 10 + 7 * number
    restarts = daemon.stderr().count("counting was restarted")
    assert gap_reasons(daemon) == ["not_running"] * restarts
