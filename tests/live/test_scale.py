# SPDX-License-Identifier: BSD-2-Clause
"""Tables have the size that is needed for the threads that there are."""

import signal
import sys

import pytest

from daemons import start_daemon, watched
from faults import gap_reasons, history_of
from harness import Report, Talker, slurp, until
from test_cost import CALLER

SINGLE = ("getuid", "geteuid", "getgid", "getegid", "gettid", "getpid", "umask")


@pytest.mark.parametrize("number", [3000, 20000])
def test_threads_of_a_running_process_have_rows_of_their_own(live, number):
    if number > int(slurp("/proc/sys/kernel/pid_max")) - 5000:
        pytest.skip("there may not be so many threads here: kernel.pid_max")
    report, _ = live.count("legion", number, 7)
    assert report.total("getppid") == 7 * number
    assert {name: report.total(name) for name in SINGLE} == dict.fromkeys(SINGLE, number)
    assert report.only("exit")["no_return"] == number


def test_a_table_that_the_user_made_stays_as_large(live):
    report, _ = live.count("crowd", 500, options=["-f", "--max-tasks", 100], lossy=True)
    assert report.losses["task_table_full"] > 0


def report_so_far(bpftruss):
    before = bpftruss.text().count(b"\n")
    bpftruss.signal(signal.SIGUSR1)
    until(lambda: bpftruss.text().count(b"\n") > before, "a report so far")
    return Report(bpftruss.text().splitlines()[-1], lossy=True)


def test_a_task_that_found_no_record_gets_one_later(live):
    first, second = (live.add(Talker, [sys.executable, "-c", CALLER]) for _ in range(2))
    bpftruss = live.attach([first.pid, second.pid], "--max-tasks", 1)
    second.ask("ask 101")
    first.popen.stdin.close()
    first.wait()
    asked, own = 101, 0
    while not own and asked < 2000:
        second.ask("ask 10")
        asked += 10
        report = report_so_far(bpftruss)
        own = report.total("getppid", pid=second.pid)
    # The calls that it made while the other one lived are nobody's, and the last ones are its own.
    assert 0 < own <= asked - 101
    assert report.total("getppid") == asked
    second.popen.stdin.close()
    bpftruss.wait()


def test_a_daemon_makes_larger_tables_before_calls_lose_their_process(live, tmp_path):
    """It begins anew, and its history has what was counted before; between them is a gap."""
    options = ["-n", "legion", "--budget", "none"]
    daemon = start_daemon(live, tmp_path / "daemon", *options, env=watched(400000))
    live.play("legion", 10, 7)
    target = live.workload("legion", 5000, 7)
    until(lambda: "counting was restarted" in daemon.stderr(), "the tables grow")
    until(lambda: daemon.status("counting", "threads") == 5001, "all are counted")
    assert daemon.status("counting", "tables", "threads", "capacity") > 5001
    target.play()
    report = daemon.snapshot()
    assert report.total("getppid") == 7 * 5000
    assert {name: report.total(name) for name in SINGLE} == dict.fromkeys(SINGLE, 5000)
    daemon.stop()
    steps = [step["snapshot"]["rows"] for step in history_of(daemon)["steps"]]
    asked = [row["calls"] for rows in steps for row in rows if row["syscall"] == "getppid"]
    assert sum(asked) == 7 * 10 + 7 * 5000
    assert gap_reasons(daemon) == ["not_running"]
