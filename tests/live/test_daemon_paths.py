# SPDX-License-Identifier: BSD-2-Clause
"""
The daemon with the key arguments: whoever asks gets what was done with each path, in each span, whether
all paths found room or not; whoever does not ask sees what it shows without the key.
"""

import collections

import pytest

from daemons import must_equal_seen_whole, start_daemon, watched
from harness import must_equal, must_say_exact, until
from reports import add_up, by, parse_csv
from test_paths import ERRORS, KNOWN, THREADS

ACCESS = "-t", "faccessat"
QUIET = "--interval", "1h", "--recent", "256M"


@pytest.fixture
def daemon(live, tmp_path):
    return start_daemon(live, tmp_path / "daemon", *QUIET, "--arguments", "path")


def by_path(daemon, *options, value="calls"):
    rows = parse_csv(daemon.verb("snapshot", "--csv", "--by", "path", *ACCESS, *options))
    return {path: count for (path,), count in by(rows, "path", value=value).items() if path in ERRORS
            or count}


def test_a_snapshot_has_each_path_for_whoever_asks(live, daemon):
    target = live.play("paths", "known", THREADS)
    mine = "-p", target.pid
    assert by_path(daemon, *mine) == KNOWN
    assert by_path(daemon, *mine, value="errors") == ERRORS
    failed = parse_csv(daemon.verb("snapshot", "--csv", "--errors", "--by", "path", *ACCESS, *mine))
    found = {(row["path"], row["errno"]): int(row["count"]) for row in failed}
    assert found["/nonexistent/deep", "ENOENT"] == KNOWN["/nonexistent/deep"]
    folders = parse_csv(daemon.verb("snapshot", "--csv", "--by", "dir", *ACCESS, *mine))
    assert by(folders, "dir")["/nonexistent",] == 130 + THREADS * 2
    split = daemon.snapshot("--by", "path", *mine)
    assert sum(row["calls"] for row in split.rows if row.get("path") == "/dev/null") == (
        KNOWN["/dev/null"])


def test_whoever_does_not_ask_sees_no_path(live, tmp_path, daemon):
    target = live.workload("paths", "known", THREADS)
    before = daemon.save(tmp_path / "before")
    target.play()
    report = daemon.snapshot("-p", target.pid, "--since", before)
    must_equal_seen_whole(report, target.table())
    assert not [row for row in report.rows if "path" in row]
    assert "/nonexistent" not in daemon.verb("snapshot", "--json")
    assert "/nonexistent" not in daemon.verb("history", "--json")
    assert b"/nonexistent" not in daemon.request("/metrics")[2]


def test_what_came_since_a_snapshot_is_told_path_by_path(live, tmp_path, daemon):
    target = live.workload("paths", "known", THREADS)
    before = daemon.save(tmp_path / "before")
    target.play()
    middle = daemon.save(tmp_path / "middle")
    assert by_path(daemon, "-p", target.pid, "--since", before) == KNOWN
    assert by_path(daemon, "-p", target.pid, "--since", middle) in ({}, {"": 0})


def overflowing(live, tmp_path, target, *options):
    """Counts one process, and so never begins anew."""
    return start_daemon(live, tmp_path / "daemon", *QUIET, "--arguments", "path",
                        "--max-paths", 100, "-p", target.pid, *options)  # fmt: skip


def test_paths_without_room_are_added_up_and_said(live, tmp_path):
    target = live.workload("paths", "many", 1000)
    daemon = overflowing(live, tmp_path, target)
    before = daemon.save(tmp_path / "before")
    target.play()
    since = "--since", before
    counts = by_path(daemon, *since)
    others = counts.pop("[other paths]")
    assert set(counts.values()) == {2} and len(counts) == 100 and others == 2 * 900
    wide = daemon.verb("snapshot", "-w", "--by", "path", *ACCESS, *since)
    assert "not exact: %d calls counted without their path or file" % others in wide
    # No call is missing: whoever does not look at paths need not know.
    must_equal(daemon.snapshot(*since), target.table())
    assert "exact: no call is missing" in daemon.verb("snapshot", "-w", *since)
    table = daemon.status("counting", "tables", "paths")
    assert (table["used"], table["capacity"]) == (100, 100) and daemon.status("exact")
    text = daemon.verb("status")
    assert "paths 100 of 100 (100%)" in text and "%d calls counted without" % others in text
    must_say_exact(daemon.verb("history", "-w", "--step", "all"))


def test_paths_of_ended_processes_are_kept_while_there_is_room(live, tmp_path):
    daemon = start_daemon(live, tmp_path / "daemon", *QUIET, "--arguments", "path",
                          "--keep-exited", 8, "-n", "paths")  # fmt: skip
    before, calls = daemon.save(tmp_path / "before"), collections.Counter()
    for count in (300, 200, 100, 50, 20, 10):
        live.play("paths", "many", count)
        calls.update({"/nonexistent/%d" % i: 2 for i in range(count)})
        # What has ended is added up between two readings.
        daemon.snapshot(lossy=True)
    split = daemon.snapshot("--by", "path", *ACCESS, "--since", before, lossy=True)
    found = collections.Counter()
    for row in split.rows:
        found[row.get("path")] += row["calls"]
    lost = found.pop(None, 0)
    split.may_lose("arg0_table_full")
    assert split.losses.get("arg0_table_full", 0) >= lost
    assert lost == sum(calls.values()) - sum(found.values())
    assert not found - calls and found["/nonexistent/9"] > 2
    plain = daemon.snapshot(*ACCESS, "--since", before)
    assert plain.total("faccessat") == sum(calls.values())


def test_a_table_of_paths_that_is_nearly_full_is_emptied_once_a_day(live, tmp_path):
    daemon = start_daemon(live, tmp_path / "daemon", "--arguments", "path", "--max-paths", 50,
                          "-n", "paths", env=watched(100_000))  # fmt: skip
    for _ in range(2):
        live.play("paths", "many", 1000)
        until(lambda: "the table of paths was nearly full: counting was restarted"
              in daemon.stderr(), "it begins anew")  # fmt: skip
    assert daemon.stderr().count("counting was restarted") == 1


def test_what_is_not_kept_is_refused_in_one_sentence(live, tmp_path, daemon):
    plain = start_daemon(live, tmp_path / "plain", *QUIET)
    assert "set 'arguments = path' in [tables]" in plain.refusal("snapshot", "--by", "path")
    assert "set 'arguments = path' in [tables]" in plain.refusal("snapshot", "--by", "dir", "--json")
    assert "set 'arguments = file' in [tables]" in daemon.refusal("snapshot", "--by", "file")
    assert "history keeps no paths" in daemon.refusal("history", "--by", "path")
    for past in (["--from", "-1h"], ["--since", "boot"]):
        assert "it keeps no paths" in daemon.refusal("snapshot", "--by", "path", *past)
    assert "use bpftruss -c" in daemon.refusal("snapshot", "--by", "arg0")
    assert daemon.request("/v1/snapshot?by=tid")[0] == 400
