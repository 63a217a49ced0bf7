# SPDX-License-Identifier: BSD-2-Clause
"""
kill -9 at random moments under load: nothing stays in the kernel, what was written stays as it was,
the time in between is a gap. FAULTS_KILLS says how often it dies (10).
"""

import os
import random
import time

from bpf_objects import held, must_be_unloaded
from daemons import Daemon, start_daemon
from faults import counts, difference, history_of, many, of_steps, written
from harness import Report, meanwhile

KILLS = many(10, "FAULTS_KILLS")
SEED = many(0, "FAULTS_SEED") or random.randrange(1, 1 << 30)


def answers_until(daemon, moment):
    """Returns what the daemon says, again and again: (end, counts since its start)."""
    said = []
    while time.monotonic() < moment:
        report = Report(daemon.request("/v1/snapshot")[2], lossy=True)
        said.append((report.data["end"], counts([report.data])))
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


def test_killed_at_any_moment_it_loses_only_what_was_not_written(live, tmp_path):
    print("FAULTS_SEED=%d" % SEED)
    chance = random.Random(SEED)
    place = tmp_path / "daemon"
    options = ("-n", "steady", "--interval", "1s")
    rows, lives, compared = {}, 0, 0
    # Steady workloads, one after the other.
    with meanwhile(lambda: live.play("steady", 1000, 29, asleep=False)):
        for _ in range(KILLS):
            daemon = live.add(Daemon, place, *options)
            if chance.random() < 0.2:
                # Before it is ready.
                time.sleep(chance.uniform(0, 1.5))
                objects, said = held(str(daemon.pid)), []
            else:
                daemon.wait_ready()
                said = answers_until(daemon, time.monotonic() + chance.uniform(0, 3))
                objects = held(str(daemon.pid))
                assert objects["prog"] and sum(map(len, objects.values())) > 10
            daemon.kill()
            must_be_unloaded(objects)
            file = os.path.join(daemon.state, "history.db")
            if not os.path.exists(file) or not os.path.getsize(file):
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
    assert again.snapshot().data["exact"] is True
    again.stop()
    print("%d kills, %d lives with intervals, held against %d answers" % (KILLS, lives, compared))
