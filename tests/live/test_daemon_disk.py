# SPDX-License-Identifier: BSD-2-Clause
"""
The daemon and its disk: full, read-only, damaged, or not its own. Counting never suffers; what is
not in the history is a gap that says why, and nothing is in it twice. Nor does kill -9 at random
moments under load harm it: FAULTS_KILLS says how often it dies (10).
"""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import time

import pytest

from bpf_objects import held, must_be_unloaded
from daemons import (Daemon, Disk, counts, difference, gap_reasons, history_of, many, of_steps,
                     start_daemon, tick, written)  # fmt: skip
from harness import BPFTRUSS, Report, meanwhile, need, program, run, slurp, until, write


@pytest.fixture
def disk(tmp_path):
    """disk(kib) is the place of a daemon, and the file system of its state, as long as the test."""
    place, disks = tmp_path / "daemon", []

    def make(kib):
        disks.append(Disk(place / "state", kib))
        return place, disks[-1]

    yield make
    for made in disks:
        made.close()


def start(live, place, *options, **process_options):
    """Intervals end when a test says so."""
    options = "-n", "calls*", "--interval", "1h", *options
    return start_daemon(live, place, *options, **process_options)


def counted(daemon):
    return counts([daemon.snapshot().data])


def trouble_of(daemon):
    return daemon.status("history", "trouble")


def play_as(live, tmp_path, daemon, name):
    """
    The workload calls under another name, so that the history has something new to write. Returns
    what was counted of it.
    """
    path = shutil.copy(program("calls"), tmp_path / name)
    subprocess.run([path], stdout=subprocess.DEVNULL, check=True)
    return {key: row for key, row in counted(daemon).items() if key[0] == name}


# --- no room -------------------------------------------------------------------------------------


def test_a_full_disk_leaves_gaps_and_nothing_double(live, tmp_path, disk):
    place, state = disk(1024)
    daemon = start(live, place)
    live.play("calls")
    assert tick(daemon) == 200
    state.fill()
    wanted, failed = counted(daemon), 0
    # The free space inside the file is used up at some time.
    for number in range(200):
        name = "calls%03d" % number
        now = play_as(live, tmp_path, daemon, name)
        tick(daemon)
        history = daemon.status("history")
        if history["failed"] == failed:
            wanted.update(now)
        failed = history["failed"]
        if failed >= 3:
            break
    assert failed >= 3 and "the disk is full" in history["trouble"]
    assert "the disk is full" in daemon.verb("status")
    assert daemon.stderr().count("the disk is full") >= 1
    assert difference(counted(daemon), written(daemon))
    assert "not_written" in gap_reasons(daemon)
    state.make_room()
    wanted.update(play_as(live, tmp_path, daemon, "calls-after"))
    assert tick(daemon) == 200
    assert trouble_of(daemon) is None
    assert "the history can be written again" in daemon.stderr()
    assert written(daemon) == wanted
    assert set(gap_reasons(daemon)) <= {"not_written"}
    assert daemon.snapshot().data["exact"] is True
    daemon.stop()
    assert written(daemon) == wanted


def test_it_writes_again_without_being_asked(live, disk):
    place, state = disk(512)
    state.fill()
    daemon = start_daemon(live, place, "-n", "calls", "--interval", "1s")
    live.play("calls")
    until(lambda: "history misses an interval" in daemon.stderr(), "the log says so")
    assert trouble_of(daemon)
    state.make_room()
    until(lambda: "the history can be written again" in daemon.stderr(), "it is written again")
    until(lambda: daemon.intervals() >= 2, "intervals")
    assert trouble_of(daemon) is None
    assert daemon.snapshot().total("exit_group") >= 1


def test_a_read_only_state_is_told_and_begins_to_be_written_when_it_can(live, disk):
    place, state = disk(4096)
    first = start(live, place)
    live.play("calls")
    first.stop()
    before = written(first)
    state.remount("ro")
    daemon = start(live, place)
    live.play("calls")
    now = counted(daemon)
    assert now["calls", "exit_group"]["calls"] == 1
    assert "read-only" in trouble_of(daemon).lower()
    assert "read-only" in daemon.verb("status").lower()
    assert daemon.snapshot().data["exact"] is True
    state.remount("rw")
    daemon.stop()
    again = start(live, place)
    assert trouble_of(again) is None
    # The interval ends when the daemon does, and can be written by then: once.
    assert difference(written(again), before) == difference(now, {})
    assert "not_running" in gap_reasons(again) or not gap_reasons(again)


def test_what_was_counted_while_the_state_was_read_only_is_not_written(live, disk):
    """The daemon was running: the gap must not say otherwise."""
    place, state = disk(4096)
    state.remount("ro")
    daemon = start_daemon(live, place, "-n", "calls", "--interval", "1s")
    live.play("calls")
    assert "history misses an interval" in daemon.stderr()
    until(lambda: daemon.status("uptime_ns") > 3e9, "intervals that are not written")
    state.remount("rw")
    until(lambda: "the history can be written again" in daemon.stderr(), "it is written again")
    until(lambda: daemon.intervals() >= 2, "intervals")
    before = written(daemon)
    live.play("calls")
    daemon.wait_intervals()
    assert difference(written(daemon), before)["calls", "getppid"]["calls"] == 1009
    assert set(gap_reasons(daemon, "--from", "1h", "--step", "all")) == {"not_written"}
    assert "contradict" not in daemon.stderr() and "begins before" not in daemon.stderr()


# --- damage --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(live_together, tmp_path_factory):
    """The file of a history of several intervals, and its timeline."""
    place = tmp_path_factory.mktemp("kept")
    daemon = start(live_together, place / "daemon")
    for number in range(12):
        play_as(live_together, place, daemon, "calls%02d" % (number % 5))
        assert tick(daemon) == 200
    daemon.stop()
    return os.path.join(daemon.state, "history.db"), history_of(daemon, "--step", "all")


def damage_cut(data, part):
    return data[: int(len(data) * part)]


def damage_bits(data, part):
    """Flips one bit in each fourth page from there on."""
    data = bytearray(data)
    for at in range(int(len(data) * part), len(data), 4 * 4096):
        data[at] ^= 0x10
    return bytes(data)


def set_aside(daemon):
    """Paths of databases; SQLite finds the log of one by its name."""
    names = [name for name in os.listdir(daemon.state) if "damaged" in name]
    return [os.path.join(daemon.state, name) for name in names if not name.endswith("-wal")]


@pytest.mark.parametrize(
    "damage, part",
    [(damage_cut, part) for part in (0.0, 0.0005, 0.3, 0.77, 0.999)]
    + [(damage_bits, part) for part in (0.0, 0.41, 0.95)],
)
def test_a_damaged_history_is_put_aside_whole(live, tmp_path, kept, damage, part):
    path, whole = kept
    broken = damage(slurp(path), part)
    state = tmp_path / "daemon" / "state"
    os.makedirs(state, mode=0o700)
    write(shutil.copy(path, state), broken)
    daemon = start(live, tmp_path / "daemon")
    aside = set_aside(daemon)
    # An empty file is as a new one; single bits are seen when they are read, or never.
    assert aside or not broken or damage is damage_bits
    if aside:
        assert slurp(aside[0]) == broken
        assert written(daemon) == {}
    play_as(live, tmp_path, daemon, "calls-new")
    assert tick(daemon) == 200
    assert trouble_of(daemon) is None
    assert written(daemon)["calls-new", "getppid"]["calls"] == 1009
    reasons = gap_reasons(daemon, "--from", whole["steps"][0]["start"], "--step", "all")
    for path in set_aside(daemon):
        assert "sqlite3 %s .recover" % path in daemon.stderr()
        assert "damaged" in reasons


# --- whose it is ---------------------------------------------------------------------------------


def spoil(place, script):
    """A folder whose state directory a shell script has changed."""
    os.makedirs(place / "state", mode=0o700)
    subprocess.run(["sh", "-ec", script], cwd=place, check=True)


@pytest.mark.parametrize("script, sentence", [
    ("chmod 755 state", "chmod 700"),
    ("chown 1234:1234 state", "belongs to another user"),
    ("mv state elsewhere; ln -s elsewhere state", "is a symbolic link: give the directory"),
    ("rmdir state; touch state", "Not a directory"),
    ("rmdir state; rmdir ../daemon", "cannot make directory"),
])  # fmt: skip
@pytest.mark.parametrize("options", [(), ("--no-history", "--record", "--save-on", "failed")])
def test_a_state_directory_that_cannot_be_used_is_an_error_at_the_start(tmp_path, script, sentence, options):
    place = tmp_path / "daemon"
    spoil(place, script)
    arguments = ["daemon", "--socket", tmp_path / "socket", "--state-dir", place / "state"]
    result = run(*arguments, "-n", "calls", *options)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr and str(place / "state") in result.stderr
    assert not (tmp_path / "socket").exists()


def spawn_ready(live, *arguments):
    """A daemon whose places a test gives."""
    daemon = live.spawn(BPFTRUSS, "daemon", *arguments, "-n", "calls")
    until(lambda: "clients ask at" in daemon.stderr(), "it is ready")
    return daemon


def test_without_a_history_no_state_directory_is_wanted(live, tmp_path):
    state = tmp_path / "no" / "such"
    daemon = spawn_ready(live, "--socket", tmp_path / "s", "--state-dir", state, "--no-history")
    daemon.stop(signal.SIGTERM)
    assert not (tmp_path / "no").exists()


def test_socket_and_state_may_be_in_one_directory_that_the_daemon_makes(live, tmp_path):
    place = tmp_path / "counts"
    first = spawn_ready(live, "--socket", place / "s", "--state-dir", place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {"history.db", "s"} <= set(os.listdir(place))
    # A second daemon has the same socket; another one, and the same state; a state of its own.
    for path, state, sentence in (
        ("s", place, "another daemon answers on %s" % (place / "s")),
        ("t", place, "another bpftruss writes to %s" % place),
    ):
        second = run("daemon", "--socket", place / path, "--state-dir", state, "-n", "calls")
        assert (second.returncode, sentence in second.stderr) == (1, True), second.stderr
    assert run("status", "--socket", place / "s").returncode == 0
    third = spawn_ready(live, "--socket", place / "t", "--state-dir", tmp_path / "other")
    for daemon in (first, third):
        daemon.stop(signal.SIGTERM)


@pytest.mark.parametrize("kind", ["ln -s ../target", "mkdir", "mkfifo"])
def test_a_file_that_is_not_its_own_is_refused_and_counting_goes_on(live, tmp_path, kind):
    place = tmp_path / "daemon"
    spoil(place, "touch target; %s state/history.db" % kind)
    daemon = start(live, place)
    live.play("calls")
    assert daemon.snapshot().total("exit_group") >= 1
    assert "history.db" in trouble_of(daemon)
    assert "history.db" in daemon.verb("status")
    assert (place / "target").stat().st_size == 0


def test_nothing_is_made_in_tmp(live, tmp_path):
    """strace sees that every name that the daemon makes is below its own directories."""
    need("strace")
    log = tmp_path / "strace"
    # The search for leaks at the end would be a tracer, too.
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    daemon = start(live, tmp_path / "daemon", env=dict(os.environ, ASAN_OPTIONS=options))
    tracer = live.spawn(
        *("strace", "-f", "-p", daemon.pid, "-o", log),
        *("-e", "trace=open,openat,creat,mkdir,mkdirat,mknod,mknodat,link,linkat,symlink"),
    )
    until(lambda: "attached" in tracer.stderr(), "strace is attached")
    live.play("calls")
    assert tick(daemon) == 200
    daemon.verb("baseline", "save", "monday")
    daemon.snapshot("--since", "10m")
    daemon.request("/metrics")
    daemon.stop()
    tracer.wait()
    made = [
        line.split('"')[1]
        for line in log.read_text().splitlines()
        if '"' in line and ("O_CREAT" in line or "open" not in line)
    ]
    assert [path for path in made if path.startswith(("/tmp/", "/var/tmp/", "/dev/shm/"))
            and not path.startswith(str(tmp_path))] == []


# --- kill -9 at random moments -------------------------------------------------------------------

# Nothing stays in the kernel, what was written stays as it was, the time in between is a gap.
KILLS = many(10, "FAULTS_KILLS")
SEED = many(0, "FAULTS_SEED") or random.randrange(1, 1 << 30)


def answers_until(daemon, moment):
    """Returns what the daemon says, again and again: (end, counts since its start)."""
    said = []
    while time.monotonic() < moment:
        report = Report(daemon.request("/v1/snapshot")[2], lossy=True)
        said.append((report.data["end"], counts([report.data])))
        time.sleep(0.02)
    return said


def must_be_whole(added, end, said):
    """
    The history of a life has what was counted up to one moment: no more than it said later, no less
    than it said before. Returns how many answers that was held against.
    """
    for moment, seen in said if added else []:
        if moment >= end:
            difference(seen, added)
        else:
            difference(added, seen)
    return len(said) if added else 0


def must_be_in_order(timeline):
    """No two gaps overlap, and in all of them the daemon was not there."""
    last = ""
    for gap in timeline["gaps"]:
        assert last <= gap["start"] < gap["end"], timeline["gaps"]
        last = gap["end"]
    assert {gap["reason"] for gap in timeline["gaps"]} <= {"not_running"}, timeline["gaps"]


def has_tables(file):
    """Whether a history was made, and not only begun. It can be read at any moment."""
    if not os.path.exists(file) or not os.path.getsize(file):
        return False
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as history:
        return history.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] > 0


def test_killed_at_any_moment_it_loses_only_what_was_not_written(live, tmp_path):
    print("FAULTS_SEED=%d" % SEED)
    chance = random.Random(SEED)
    place = tmp_path / "daemon"
    options = ("-n", "steady", "--interval", "1s")
    rows, lives, compared = {}, 0, 0
    # Steady workloads, one after the other.
    with meanwhile(lambda: live.play("steady", 1000, 29, asleep=False)):
        for number in range(KILLS):
            daemon = live.add(Daemon, place, *options)
            # By chance alone none may live for an interval on a busy host.
            lives_long = number % 3 == 2
            if not lives_long and chance.random() < 0.2:
                # Before it is ready.
                time.sleep(chance.uniform(0, 1.5))
                objects, said = held(str(daemon.pid)), []
            else:
                daemon.wait_ready()
                said = answers_until(daemon, time.monotonic() + chance.uniform(0, 3))
                if lives_long:
                    daemon.wait_intervals()
                objects = held(str(daemon.pid))
                assert objects["prog"] and sum(map(len, objects.values())) > 10
            daemon.kill()
            must_be_unloaded(objects)
            if not has_tables(os.path.join(daemon.state, "history.db")):
                assert not rows
                continue
            timeline = history_of(daemon)
            now = of_steps(timeline["steps"])
            # Killed before its first interval.
            if not timeline["steps"]:
                assert now == rows == {}
                continue
            compared += must_be_whole(difference(now, rows), timeline["steps"][-1]["end"], said)
            must_be_in_order(timeline)
            lives += now != rows
            rows = now
        again = start_daemon(live, place, *options)
        difference(written(again), rows)
        again.wait_intervals()
    assert "damaged" not in again.stderr()
    assert not [name for name in os.listdir(again.state) if "damaged" in name]
    timeline = history_of(again)
    must_be_in_order(timeline)
    assert lives >= 2 and compared >= lives and len(timeline["gaps"]) >= lives
    # Beside so many forks the kernel may have no memory for one of them.
    again.snapshot(lossy=True).may_lose("switch_unseen", "untracked_tasks")
    again.stop()
    print("%d kills, %d lives with intervals, held against %d answers" % (KILLS, lives, compared))
