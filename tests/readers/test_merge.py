# SPDX-License-Identifier: BSD-2-Clause
"""bpftruss merge: what is written, what the other verbs make of it, and what is refused. It needs no root."""
import csv
import io
import json
import os
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
BPFTRUSS = os.path.join(os.environ.get("O", os.path.join(HERE, "../../build")), "bpftruss")
SAVED = os.path.join(HERE, "../golden/saved.json")

# Calls of the golden file, of which 1000 are reads of the process 1234.
CALLS = 101030


def run(*words, **more):
    return subprocess.run([BPFTRUSS, *map(str, words)], capture_output=True, timeout=60, check=False, **more)


def lines_of(result):
    assert result.returncode == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout.decode())))


@pytest.fixture
def saved(tmp_path):
    """Makes a file of a host: all that differs is where and when."""

    def make(host, hour=0, **more):
        with open(SAVED) as file:
            data = json.load(file)
        data |= {"host": host, "boot_id": "boot of " + host, "monotonic_ns": 10**12 + hour * 3600 * 10**9}
        data |= {"start": f"2026-01-31T{hour:02}:00:00.000000000Z", "end": f"2026-01-31T{hour:02}:00:02.500000000Z"}
        # The golden file has each loss, and times of day of its own.
        data |= {"exact": True, "losses": dict.fromkeys(data["losses"], 0)}
        for row in data["rows"]:
            row["errors"] = sum(row["errnos"].values())
            row.pop("slowest", None)
        data |= more
        path = tmp_path / f"{host}-{hour}.json"
        path.write_text(json.dumps(data))
        return path

    return make


def test_all_reports_tell_hosts_apart(saved, tmp_path):
    fleet = tmp_path / "fleet.json"
    merged = run("merge", saved("web-1"), saved("web-2"), "-o", fleet)
    assert merged.returncode == 0 and not merged.stdout
    assert b"2 snapshots of 2 hosts, " in merged.stderr and b", 2.5 s counted\n" in merged.stderr
    lines = lines_of(run("report", fleet, "--csv", "--by", "host"))
    assert {(line["host"], line["calls"]) for line in lines} == {("web-1", str(CALLS)), ("web-2", str(CALLS))}
    for format in ("-w", "--json", "--errors"):
        assert b"web-2" in run("report", fleet, format, "--by", "host,syscall").stdout, format
    assert b"web-2" in run("compare", fleet, fleet, "--by", "host").stdout
    assert b"2 hosts" in run("report", fleet, "--format", "chart").stdout
    assert b"2 hosts" in run("compare", saved("web-1"), fleet).stdout
    lines = lines_of(run("report", fleet, "--csv"))
    assert sum(int(line["calls"]) for line in lines) == 2 * CALLS
    assert len(lines_of(run("report", fleet, "--csv", "--by", "pid"))) == 2 * len(
        lines_of(run("report", SAVED, "--csv", "--by", "pid"))
    )


def test_elapsed_is_approximate_with_pauses(saved):
    merged = run("merge", saved("web-1"), saved("web-2", paused_ns=10**9))
    assert b", 2.5 s counted, about: some parts have pauses\n" in merged.stderr
    assert [part.get("paused_ns") for part in json.loads(merged.stdout)["parts"]] == [None, 10**9]


def test_a_sum_has_no_hosts(saved):
    merged = run("merge", "--sum", saved("web-1"), saved("web-2"), saved("web-2", 1))
    assert merged.returncode == 0
    data = json.loads(merged.stdout)
    assert [part["host"] for part in data["parts"]] == ["web-1", "web-2", "web-2"]
    assert {row["host"] for row in data["rows"]} == {None}
    report = run("report", "-", "--csv", input=merged.stdout)
    assert sum(int(line["calls"]) for line in lines_of(report)) == 3 * CALLS
    refused = run("report", "-", "--by", "host", input=merged.stdout)
    assert refused.returncode == 1 and b"this snapshot is a sum of all hosts" in refused.stderr


def test_processes_are_added_up_on_each_host(saved):
    merged = run("merge", "--sum=processes", saved("web-1"), saved("web-2"))
    lines = lines_of(run("report", "-", "--csv", "--by", "host", input=merged.stdout))
    assert {(line["host"], line["calls"]) for line in lines} == {("web-1", str(CALLS)), ("web-2", str(CALLS))}
    assert {process["pid"] for process in json.loads(merged.stdout)["processes"]} == {None}
    refused = run("report", "-", "--by", "pid", input=merged.stdout)
    assert refused.returncode == 1 and b"is a sum of all processes of a name" in refused.stderr


def test_a_merged_file_is_merged_again(saved, tmp_path):
    first = tmp_path / "first.json"
    run("merge", saved("web-2"), saved("web-1"), "-o", first)
    steps = run("merge", first, saved("web-1", 3))
    at_once = run("merge", saved("web-1"), saved("web-1", 3), saved("web-2"))
    assert steps.returncode == 0 and steps.stdout == at_once.stdout
    assert json.loads(steps.stdout)["elapsed_ns"] == 5 * 10**9


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda saved: [saved("web-1"), saved("web-1")], "its calls would count twice; leave one of them out"),
        (lambda saved: [saved("web-1"), "/dev/null"], "is not a saved snapshot"),
        (lambda saved: [saved("web-1"), "/nonexistent"], "cannot read /nonexistent"),
        (lambda saved: [saved("a", schema=2)], "schema"),
        (lambda saved: [saved("a", exact=False)], "exact does not fit"),
        (lambda saved: [saved("a"), saved("b", slower_than_ns=10**7)], "--slower-than was 0 ms and 10 ms"),
        (lambda saved: [saved("a", parts=[])], "parts"),
    ],
)
def test_what_is_refused_is_one_sentence(saved, tmp_path, make, sentence):
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    result = run("merge", *make(saved), "-o", kept)
    text = result.stderr.decode()
    assert result.returncode == 1 and text.startswith("bpftruss: ") and text.count("\n") == 1
    assert sentence in text
    assert kept.read_text() == "as it was"


def test_without_files_it_is_a_usage_error():
    result = run("merge")
    assert result.returncode == 2 and b"give files that --json has written" in result.stderr


def test_it_says_what_to_know_of_the_parts(saved):
    named = saved("web-1", version="9.9")
    lossy = saved("db", exact=False, losses={"late_threads": 3})
    twin = json.loads(saved("web-2").read_text()) | {"boot_id": "another"}
    path = saved("web-2", 1)
    path.write_text(json.dumps(twin))
    text = run("merge", named, lossy, saved("web-2"), path).stderr.decode()
    assert "bpftruss: not exact: db\n" in text
    assert "bpftruss: two hosts are called web-2: --by host adds them up\n" in text
    assert "bpftruss: saved by versions " in text


def test_a_merged_snapshot_is_no_mark(saved, tmp_path):
    fleet = tmp_path / "fleet.json"
    run("merge", saved("web-1"), saved("web-2"), "-o", fleet)
    result = run("snapshot", "--since", fleet, "--socket", "/nonexistent")
    assert result.returncode == 2 and b"is merged of several snapshots" in result.stderr
