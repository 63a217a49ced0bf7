# SPDX-License-Identifier: BSD-2-Clause
"""
Tests --by path, dir and file: each row has what the workload did with that path or file, and all of them
add up to all calls, whatever is in the paths and however many there are.
"""

import collections
import json
import shutil

import pytest

from harness import BUILD, IS_X86, NATIVE, must_be_exact, must_equal, must_say_exact, run
from reports import add_up, by, count_csv, count_text, must_add_up, parse_csv

THREADS = 4
# Of all that begin so.
LONG = "x" * 255 + "…"
# The paths of tests/workloads/paths.c as reports for people have them, and how often they are passed.
KNOWN = {
    "/dev/null": THREADS * 11,
    "/nonexistent/deep": 13 * (1 + 2 + 3 + 4),
    "/nonexistent/other": THREADS * 2,
    "/dev/null/below": THREADS * 5,
    "relative": THREADS * 3,
    "[empty]": THREADS,
    "\\x5bother paths]": THREADS * 8,
    "/tmp/a\\x0ab\\x1b[31m\\xff\\xc3": THREADS * 9,
    '/tmp/=cmd,"quoted";x': THREADS * 4,
    LONG: THREADS * (6 + 2),
    "": THREADS * 7,
    "[unreadable]": THREADS * 12,
}
# All but /dev/null fail.
ERRORS = {**KNOWN, "/dev/null": 0}


def known(live, *options):
    return count_csv(live, ["-t", "faccessat", "--by", *options], "paths", "known", THREADS)


# --- paths ---------------------------------------------------------------------------------------


def test_each_path_has_its_calls_and_errors(live):
    rows, _ = known(live, "path")
    assert by(rows, "path") == {(path,): calls for path, calls in KNOWN.items()}
    assert by(rows, "path", value="errors") == {(path,): count for path, count in ERRORS.items()}


def test_calls_without_a_path_are_in_one_row(live):
    rows, table = count_csv(live, ["--by", "path"], "paths", "known", THREADS)
    must_add_up(rows, table)
    without = sum(each["calls"] for each in table.counts().values()) - sum(KNOWN.values())
    assert by(rows, "path") == {**{(path,): calls for path, calls in KNOWN.items()},
                                ("",): KNOWN[""] + without}


def test_paths_combine_with_other_keys(live):
    rows, _ = known(live, "comm,path,syscall")
    assert by(rows, "comm", "syscall", "path") == {
        ("paths", "faccessat", path): calls for path, calls in KNOWN.items()
    }


def test_folders_are_those_of_the_paths(live):
    rows, _ = known(live, "dir")
    folders = collections.Counter()
    for path, calls in KNOWN.items():
        known_folder = "/" in path and path.rpartition("/")[0]
        folders[known_folder or ("." if path and path != "[unreadable]" else path)] += calls
    assert by(rows, "dir") == {(folder,): calls for folder, calls in folders.items()}


def test_json_has_each_path_and_adds_up(live):
    report, table = live.count("paths", "known", THREADS, options=["--by", "path"])
    must_equal(report, table)
    calls = collections.Counter()
    for row in report.select("faccessat"):
        calls[row["path"] if row["path"] is not None else row["missing"]] += row["calls"]
    hostile = "/tmp/a\nb\x1b[31m\\xff\\xc3"
    wanted = {"/dev/null": KNOWN["/dev/null"], hostile: THREADS * 9, "": THREADS,
              "[other paths]": THREADS * 8, "none": THREADS * 7, "unreadable": THREADS * 12}
    assert {path: calls[path] for path in wanted} == wanted
    assert all("path" not in row for row in report.rows if row["syscall"] == "getppid")


def test_a_saved_snapshot_reports_the_same_paths(live, tmp_path):
    target = live.workload("paths", "known", THREADS)
    saved = live.attach(target.pid, "--by", "path")
    table = live.attach(target.pid, "--csv", "--by", "path,syscall", json=False)
    target.go()
    saved.report()
    again = run("report", saved.report_path, "--csv", "--by", "path,syscall")
    assert again.returncode == 0, again.stderr
    keys = ("path", "syscall")
    assert by(parse_csv(again.stdout), *keys) == by(parse_csv(table.end_text()), *keys)
    assert by(parse_csv(run("report", saved.report_path, "--csv", "--by", "dir").stdout), "dir")
    refused = run("report", saved.report_path, "--by", "file")
    assert refused.returncode == 1 and "take one with --by file" in refused.stderr


def test_the_table_has_a_line_for_each_path_whatever_is_in_it(live):
    options = ["-w", "--width", 80, "--by", "path", "-t", "faccessat", "--columns", "calls"]
    text, _ = count_text(live, options, "paths", "known", THREADS)
    lines = dict(line.rsplit(None, 1) for line in text.splitlines() if " " in line)
    for path in set(KNOWN) - {"", LONG}:
        assert lines[path] == str(KNOWN[path])
    # On a screen, the end of a path is what says most.
    (cut,) = [path for path in lines if path.endswith("xx…")]
    assert cut.startswith("..x") and lines[cut] == str(KNOWN[LONG])
    must_say_exact(text)
    assert "\x1b" not in text and "exact: no call is missing" in text


def test_errors_by_path_tell_which_paths_fail(live):
    rows, _ = count_csv(live, ["--errors", "--by", "path"], "paths", "known", THREADS)
    found = {(row["path"], row["errno"]): int(row["count"]) for row in rows}
    assert found["/nonexistent/deep", "ENOENT"] == KNOWN["/nonexistent/deep"]
    assert found["/dev/null/below", "ENOTDIR"] == KNOWN["/dev/null/below"]
    assert found["[unreadable]", "EFAULT"] == KNOWN["[unreadable]"]
    assert found[LONG, "ENAMETOOLONG"] == THREADS * 8
    assert not [path for path, _ in found if path == "/dev/null"]


def test_a_path_that_was_not_in_memory_is_read_when_the_call_ends(live):
    rows, _ = count_csv(live, ["-t", "faccessat", "--by", "path"], "paths", "fresh", 23)
    assert by(rows, "path") == {("/nonexistent/fresh",): 23}


@pytest.mark.skipif(not IS_X86, reason="only x86 has int 0x80")
def test_paths_of_the_32_bit_abi(live):
    rows, _ = count_csv(live, ["--by", "path,abi", "-t", "faccessat"], "paths", "i386")
    assert by(rows, "path", "abi") == {("/nonexistent/compat", "i386"): 9}


def test_more_paths_than_room_keep_exact_totals(live):
    options = ["--by", "path", "-t", "faccessat", "--max-paths", 100]
    target = live.workload("paths", "many", 1000)
    csv = live.attach(target.pid, "--csv", *options, json=False)
    wide = live.attach(target.pid, "-w", *options, json=False)
    target.go()
    rows, text = parse_csv(csv.end_text()), wide.end_text()
    counts = by(rows, "path")
    others = counts.pop(("[other paths]",))
    assert set(counts.values()) == {2} and len(counts) == 100
    assert others == 2 * 1000 - 2 * 100 == add_up(rows, "calls") - 200
    assert add_up(rows, "errors") == 2000
    assert "not exact: %d calls counted without their path or file" % others in text
    assert "--max-paths" in text


def test_more_paths_than_a_thread_has_rows_keep_exact_totals(live):
    options = ["--by", "path", "-t", "faccessat"]
    report, _ = live.count("paths", "many", 5000, options=options, lossy=True)
    rows = report.select("faccessat")
    report.must_lose(arg0_table_full=2 * (5000 - 4096))
    assert sum(row["calls"] for row in rows) == 10000
    assert sorted(row["calls"] for row in rows)[-2:] == [2, 2 * (5000 - 4096)]


def test_intervals_add_up_path_by_path(live):
    target = live.workload("paths", "many", 4000)
    bpftruss = live.attach(target.pid, "-i", "0.003", "--by", "path", "-t", "faccessat")
    target.go()
    assert bpftruss.wait() == 0
    calls = collections.Counter()
    lines = [json.loads(line) for line in bpftruss.text().splitlines()]
    for line in lines:
        must_be_exact(line)
        for row in line["rows"]:
            if row["calls"]:
                calls[row["path"]] += row["calls"]
    assert calls == {"/nonexistent/%d" % i: 2 for i in range(4000)}
    assert len(lines) > 1


# --- files ---------------------------------------------------------------------------------------


def test_each_file_has_its_calls_and_bytes(live):
    rows, table = count_csv(live, ["--by", "file"], "paths", "files")
    must_add_up(rows, table)
    names = table.measures[0]
    calls, moved = by(rows, "file"), by([r for r in rows if r["bytes"]], "file", value="bytes")
    assert calls[names["file"],] == 10 + 4 + 1 and moved[names["file"],] == 10 * 100 + 4 * 50
    assert calls[names["pipe"],] == 2 * 3 and moved[names["pipe"],] == 2 * 3 * 7
    for end in ("client", "server"):
        assert calls[names[end],] == 5 + 1 and moved[names[end],] == 5 * 11
    assert calls["[not open]",] == 6


def test_a_file_has_the_name_that_its_process_gave_it(tmp_path):
    """Also below a folder that it has for its root."""
    (tmp_path / "tmp").mkdir()
    shutil.copy(BUILD + "/workloads/paths", tmp_path)
    result = run("-c", "-f", "--csv", "--by", "file", "chroot", tmp_path, "/paths", "files")
    name = json.loads(result.stdout.splitlines()[0])["file"]
    report = "\n".join(line for line in result.stderr.splitlines() if "," in line)
    assert name.startswith("/tmp/bpftruss-paths-")
    assert [row["calls"] for row in parse_csv(report) if row["file"] == name] == ["15"]


def test_each_file_and_call_has_its_bytes(live):
    rows, table = count_csv(live, ["--by", "file,syscall", "-t", "read,write"], "paths", "files")
    names = table.measures[0]
    moved = by(rows, "file", "syscall", value="bytes")
    assert moved[names["client"], "write"] == moved[names["server"], "read"] == 55
    assert moved[names["pipe"], "write"] == moved[names["pipe"], "read"] == 21


def test_json_has_each_file(live):
    report, table = live.count("paths", "files", options=["--by", "file"])
    must_equal(report, table)
    names = table.measures[0]
    reads = {row["file"]: row["bytes"] for row in report.select("read") if row["calls"]}
    # Also that in which it waited: it began before it was counted.
    assert None not in reads and sum(row["untimed"] for row in report.select("read")) == 1
    assert reads[names["pipe"]] == 21 and reads[names["server"]] == 55
    assert [row["missing"] for row in report.select("close") if row["file"] is None] == ["unreadable"]


def test_more_files_than_room_keep_exact_totals(live):
    report, table = live.count("paths", "files", options=["--by", "file", "--max-paths", 2],
                               lossy=True)
    must_equal(report, table)
    assert len({row["file"] for row in report.rows if row.get("file")}) == 2
    others = sum(row["calls"] for row in report.rows if row.get("missing") == "no_room")
    assert report.losses == {"path_table_full": others} and others


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("keys", ["path,file", "dir,arg0", "cpu,path"])
def test_rows_are_split_by_one_thing(keys):
    refused = run("-c", "-p", "1", "--by", keys)
    assert refused.returncode == 2 and "rows are split by one" in refused.stderr


def test_calls_of_the_native_abi_only_are_asked_for(live):
    rows, _ = known(live, "abi,path")
    assert {row["abi"] for row in rows} == {NATIVE}
