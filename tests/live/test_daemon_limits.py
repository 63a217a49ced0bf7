# SPDX-License-Identifier: BSD-2-Clause
"""
The daemon at its limits: a storm of processes, no memory, its own budget, a clock that jumps.
The daemon says what gives way; no number is wrong.
"""

import functools
import glob
import os
import re
import signal
import time

import pytest

from bpf_objects import held, must_be_unloaded
from cgroups import memory, move
from daemons import (counts, cpu_s, gap_reasons, history_of, memory_kib, must_be_below,
                     must_equal_seen_whole, of_steps, start_daemon, unix_connection, watched,
                     written)  # fmt: skip
from harness import Report, meanwhile, skip_if_sanitized, until, write

# --- a storm of processes ------------------------------------------------------------------------

STORM = 10007  # children, one after the other


def test_ten_thousand_processes_are_counted_to_the_last_call(live, tmp_path):
    daemon = start_daemon(live, tmp_path / "daemon", "-n", "forks", "--interval", "1h")
    target = live.workload("forks", "clone", STORM)
    mark = daemon.save(tmp_path / "mark")
    before, memory = cpu_s(daemon.pid), memory_kib(daemon.pid)
    target.go()
    assert target.popen.wait(300) == 0
    own, times = cpu_s(daemon.pid) - before, os.times()
    report = daemon.snapshot("--since", mark, lossy=True)
    must_have_all_calls(report, target.table())
    assert report.total("getppid") == STORM
    if not report.losses:
        must_equal_seen_whole(report, target.table())
    print(
        "%d processes: %.2f s of the daemon's CPU, %.2f s of theirs; %d KiB before, %d KiB after"
        % (STORM, own, times.children_user + times.children_system, memory, memory_kib(daemon.pid))
    )
    # Processes that have ended are folded: they do not add up.
    must_be_below(memory_kib(daemon.pid), memory + (16 << 10))


def must_have_all_calls(report, table):
    """
    Where the daemon had no CPU for seconds, some threads found no record: their calls are counted
    all the same, and the report says that it is not exact. Nor does it matter here how long they were
    on a CPU, which a switch that was not seen makes uncertain.
    """
    got, expected = report.counts(), table.counts()
    for field in ("calls", "errors"):
        assert {key: row[field] for key, row in got.items() if row["calls"]} == {
            key: row[field] for key, row in expected.items()
        }
    report.may_lose("task_table_full", "user_time_unknown", "switch_unseen")
    assert report.losses.get("switch_unseen", 0) < 10


def test_the_log_names_a_loss_when_it_begins_and_when_it_has_ended(live, tmp_path):
    """Once each, whatever it is called, on lines with a time and a level; stderr is no journal."""
    target = live.workload("threads", 11, 503)
    options = ["-p", target.pid, "--max-tasks", 2, "--interval", "1s"]
    daemon = start_daemon(live, tmp_path / "daemon", *options)
    assert "not exact" not in daemon.stderr()
    target.go()
    until(lambda: "task_table_full: no more" in daemon.stderr(), "the loss has ended")
    assert daemon.stderr().count("warning: task_table_full: the interval that ended is not") == 1
    assert re.search(r"exact: \d+ calls counted without process and time \(", daemon.stderr())
    for line in daemon.stderr().splitlines():
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ bpftruss: (error|warning|notice): \S", line)


# --- no memory -----------------------------------------------------------------------------------


def ask_for_much(daemon, connections):
    """Asks for all there is, and takes nothing; False: the daemon is gone."""
    try:
        connections.append(unix_connection(daemon.socket))
        connections[-1].request("GET", "/v1/snapshot")
    except OSError:
        return False
    return daemon.popen.poll() is None


def test_without_memory_it_dies_or_refuses_and_no_number_is_wrong(live, tmp_path):
    place = tmp_path / "daemon"
    with memory() as group:
        options = ["-n", "crowd", "-n", "calls", "--interval", "1s"]
        enter = functools.partial(move, "0", group.path)
        daemon = start_daemon(live, place, *options, preexec_fn=enter)
        objects = held(str(daemon.pid))
        live.play("calls")
        daemon.wait_intervals()
        known = counts([daemon.snapshot("-n", "calls").data])
        group.limit(group.used() + (6 << 20))
        crowd = live.workload("crowd", 1000)
        crowd.go()
        said, connections = [], []
        for _ in range(200):
            if not ask_for_much(daemon, connections):
                break
            try:
                status, _, body = daemon.request("/v1/snapshot?name=calls")
            except OSError:
                break
            said.append(status)
            if status == 200:
                assert counts([Report(body, lossy=True).data]) == known
        for connection in connections:
            connection.close()
        if daemon.popen.poll() is None and daemon.popen.returncode is None:
            time.sleep(0.1)
        ended = daemon.popen.poll()
        print("answers %s; ended %s" % ({s: said.count(s) for s in set(said)}, ended))
        print(daemon.stderr())
        assert set(said) <= {200, 500, 503}
        if ended is None:
            daemon.kill()
        else:
            assert ended in (-signal.SIGKILL, 1), daemon.stderr()
        must_be_unloaded(objects)
    again = start_daemon(live, place, *options)
    of_calls = {key: row for key, row in written(again).items() if key[0] == "calls"}
    assert of_calls == known
    again.wait_intervals()
    reasons = gap_reasons(again)
    assert "not_running" in reasons and "damaged" not in reasons
    assert again.snapshot(lossy=True).data["schema"] == 1


# --- its own budget ------------------------------------------------------------------------------

CONFIG = "[daemon]\nbudget = %s\n[targets]\nname = calls\nname = steady\n[history]\ninterval = 1h\n"


def start_with_budget(live, tmp_path, budget, *options):
    """The watchdog's pace is the one at which it looks at its cost."""
    config = tmp_path / "bpftruss.conf"
    config.write_text(CONFIG % budget)
    options = ["--config", config, *options]
    return start_daemon(live, tmp_path / "daemon", *options, env=watched(400000))


def must_have_errnos_again(live, daemon, mark):
    """It is exact again: nothing is lost from here on."""
    daemon.save(mark)
    target = live.play("calls")
    after = daemon.snapshot("-n", "calls", "--since", mark)
    assert after.errnos("openat")["ENOTDIR"] == 5
    return after, target


def must_have_at_least(report, table):
    got = report.counts()
    for key, row in table.counts().items():
        assert got[key]["calls"] >= row["calls"] and got[key]["errors"] >= row["errors"], key


def test_what_the_budget_gave_up_comes_back_when_it_fits(live, tmp_path):
    daemon = start_with_budget(live, tmp_path, "1.5%", "--stacks")
    load = live.workload("steady", 1000000, 29, asleep=False)
    load.go()
    until(lambda: "which errors occur are not counted" in daemon.stderr(), "errnos are given up")
    load.close()
    until(lambda: "which errors occur are counted again" in daemon.stderr(), "errnos come back")
    until(lambda: "call stacks are counted again" in daemon.stderr(), "stacks come back")
    until(lambda: daemon.status("cost", "step") == "normal", "nothing is given up")
    after, target = must_have_errnos_again(live, daemon, tmp_path / "mark")
    must_have_at_least(after, target.table())


def test_scrapes_spend_no_budget(live, tmp_path):
    """A client that asks as fast as it can must not make the daemon count less."""
    daemon = start_with_budget(live, tmp_path, "5%", "--stacks")
    wrong, spans = [], set()

    def scrape():
        status = daemon.request("/metrics")[0]
        if status not in (200, 503):
            wrong.append(status)

    def is_judged():
        used = daemon.status("cost", "used_percent")
        if used and used > 5:
            spans.add(used)
        return len(spans) >= 8

    with meanwhile(*[scrape] * 4):
        until(is_judged, "the daemon has seen eight spans beyond its budget")
    assert not wrong
    assert daemon.status("cost", "step") == "normal", daemon.stderr()


def test_a_text_of_metrics_is_given_again(live, tmp_path):
    """However many ask, there is no reading for each."""
    daemon = start_with_budget(live, tmp_path, "100%")
    texts = [daemon.request("/metrics")[2] for _ in range(20)]
    assert len(set(texts)) < len(texts)

    def scrapes():
        text = daemon.request("/metrics")[2].decode()
        (line,) = [line for line in text.splitlines() if line.startswith("bpftruss_scrapes_total ")]
        return int(line.split()[1])

    # All of them are counted, and a text grows old.
    until(lambda: scrapes() >= 20, "a text that was made later")


def test_past_its_budget_it_gives_up_errnos_says_so_and_counts_on(live, tmp_path):
    daemon = start_with_budget(live, tmp_path, "0.01%", "--stacks")
    config = tmp_path / "bpftruss.conf"
    load = live.workload("steady", 100000, 29, asleep=False)
    load.go()
    until(lambda: "call stacks are not counted" in daemon.stderr(), "stacks are given up")
    until(lambda: "which errors occur are not counted" in daemon.stderr(), "errnos are given up")
    assert daemon.status("cost", "step") == "no_errnos"
    load.close()
    target = live.play("calls")
    report = daemon.snapshot("-n", "calls", lossy=True)
    assert report.data["exact"] is False
    assert report.losses["errnos_off"] > 0
    must_have_at_least(report, target.table())
    assert report.total("getppid") == 1009 and report.total("getuid") >= 101
    assert report.total("close", "errors") >= 13
    assert b"\nbpftruss_budget_step" in daemon.request("/metrics")[2]
    assert "errno" in daemon.verb("status")
    config.write_text(CONFIG % "100%")
    daemon.signal(signal.SIGHUP)
    until(lambda: "was reloaded" in daemon.stderr(), "it is read anew")
    assert daemon.status("cost", "step") == "normal"
    must_have_errnos_again(live, daemon, tmp_path / "mark")
    daemon.stop()


# --- a clock that jumps --------------------------------------------------------------------------


def faketime():
    """The library that makes a process see another time of day; its monotonic clock stays."""
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if not found:
        pytest.skip("no libfaketime here")
    return found[0]


class Clock:
    """The time of day of one process."""

    def __init__(self, path):
        self.path = str(path)
        self.set(0)

    def set(self, days):
        write(self.path + ".new", "%+dd\n" % days)
        os.rename(self.path + ".new", self.path)

    def environment(self):
        return dict(
            os.environ,
            LD_PRELOAD=faketime(),
            FAKETIME_TIMESTAMP_FILE=self.path,
            FAKETIME_DONT_FAKE_MONOTONIC="1",
            FAKETIME_NO_CACHE="1",
        )


@pytest.mark.parametrize("days", [1, -1])
def test_a_clock_that_is_set_changes_no_count_and_no_length(live, tmp_path, days):
    skip_if_sanitized("libfaketime asks for memory before sanitizers have any")
    clock = Clock(tmp_path / "clock")
    place = tmp_path / "daemon"
    options = ["-n", "calls", "--interval", "1s"]
    daemon = start_daemon(live, place, *options, env=clock.environment())
    begun = time.monotonic_ns()

    def play():
        live.play("calls")
        daemon.wait_intervals()

    play()
    clock.set(days)
    play()
    for verb in (("status",), ("snapshot",), ("snapshot", "--since", "10s"), ("history",),
                 ("compare", "10s", "now")):
        daemon.verb(*verb)
    assert daemon.request("/metrics")[0] == 200
    clock.set(0)
    play()
    elapsed = time.monotonic_ns() - begun
    whole = daemon.snapshot()
    assert whole.total("exit_group") == 3
    assert whole.data["elapsed_ns"] < elapsed + 60 * 10**9
    span = ("--from", "3d", "--to", "@%d" % (time.time() + 3 * 86400))
    timeline = history_of(daemon, *span, "--step", "all")
    assert of_steps(timeline["steps"]) == counts([whole.data])
    (step,) = timeline["steps"]
    # A snapshot covers the time until it was asked, which was later.
    elapsed_ns = daemon.snapshot().data["elapsed_ns"]
    assert 0 < step["covered_ns"] <= elapsed_ns
    assert step["snapshot"]["elapsed_ns"] == step["covered_ns"]
    # In minutes: each call in one of them, none longer than what was counted.
    steps = history_of(daemon, *span, "--step", "1m")["steps"]
    filled = [one for one in steps if one["snapshot"]]
    assert of_steps(filled) == counts([whole.data])
    elapsed_ns = daemon.snapshot().data["elapsed_ns"]
    assert step["covered_ns"] <= sum(one["covered_ns"] for one in filled) <= elapsed_ns
    for one in filled:
        assert one["start"] < one["end"]
        assert one["covered_ns"] <= elapsed_ns
    assert [one["start"] for one in filled] == sorted(one["start"] for one in filled)
    # It never stopped, and all was written.
    assert timeline["gaps"] == []
    since = daemon.snapshot("--since", "1h")
    assert since.total("exit_group") == 3
    daemon.verb("status")
    daemon.stop()
    again = start_daemon(live, place, *options)
    assert of_steps(history_of(again, *span, "--step", "all")["steps"]) == counts([whole.data])
