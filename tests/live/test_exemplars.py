# SPDX-License-Identifier: BSD-2-Clause
"""The slowest calls of a row: which they were, when, whose, and with which arguments."""

import datetime
import json
import re
import shlex
import subprocess
import sys
import time

import pytest

from harness import BPFTRUSS, DEADLINE_S, program

LONG_NS = 300000000


def count(*arguments, command=(program("slowest"),)):
    """What the report says, and what the command printed."""
    argv = [BPFTRUSS, "-c", *arguments, *command]
    result = subprocess.run(argv, timeout=DEADLINE_S, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stderr.decode(), result.stdout.decode()


def values(call):
    return {argument["name"]: argument.get("value") for argument in call["args"]}


def agree(rows):
    """Each row with times has its slowest call."""
    for row in rows:
        exemplars = row["exemplars"]
        if not row["max_ns"]:
            assert exemplars == []
            continue
        assert exemplars[0]["wall_ns"] == row["max_ns"], row
        assert [call["wall_ns"] for call in exemplars] == sorted(
            (call["wall_ns"] for call in exemplars), reverse=True)
        for call in exemplars:
            assert call["syscall"] == row["syscall"], row
            assert row.get("pid") in (None, call["pid"]), row


def test_slowest_calls_are_told():
    before = time.time()
    report, printed = count("--json", "--exemplars", "3")
    after = time.time()
    tid, inode = (int(word) for word in printed.split())
    data = json.loads(report)
    rows = {row["syscall"]: row for row in data["rows"]}
    assert data["exemplars_lost"] == data["exemplars_forgotten"] == 0
    agree(data["rows"])
    assert max(len(row["exemplars"]) for row in data["rows"]) <= 3

    (sleep, *_) = rows["nanosleep"]["exemplars"]
    assert values(sleep) == {"req": {"tv_sec": 0, "tv_nsec": LONG_NS + 17}, "rem": None}
    assert sleep["tid"] == tid != sleep["pid"]
    assert sleep["wall_ns"] >= LONG_NS and sleep["result"] == 0
    end = datetime.datetime.fromisoformat(sleep["time"][:26] + "+00:00").timestamp()
    assert before <= end <= after

    (read, *_) = rows["read"]["exemplars"]
    assert values(read)["count"] == 77 and values(read)["buf"] == "hello" and read["result"] == 5
    assert read["args"][0]["is"] == "pipe:[%d]" % inode

    (remove,) = rows["unlinkat"]["exemplars"]
    assert values(remove)["pathname"] == '/no/such\n\x1b[31m"name\\xff'
    assert remove["errno"] == "ENOENT"
    (execute,) = [call for call in rows["execve"]["exemplars"] if call["result"] == 0]
    assert values(execute)["pathname"] == program("slowest")


def test_table_has_them_below():
    report, printed = count("-w", "--exemplars", "1")
    tid, inode = (int(word) for word in printed.split())
    assert re.search(r"^nanosleep:\n    slowest: ([3-9]\d\d(\.\d+)? ms|[\d.]+ s) at \d\d:\d\d:\d\d\.\d{6} in thread %d: "
                     r"nanosleep\(\{tv_sec=0, tv_nsec=%d\}\?, NULL\) += 0$" % (tid, LONG_NS + 17),
                     report, re.M), report
    assert re.search(r'read\(\d+<pipe:\[%d\]>, "hello", 77\) +\= 5$' % inode, report, re.M), report
    assert r'unlinkat(AT_FDCWD, "/no/such\n\33[31m\"name\377"?, 0)' in report
    assert report.count('"?" after a value: ') == 1
    assert "\x1b" not in report and "also:" not in report and "no more is known" not in report


def test_groups_have_the_slowest_of_their_rows():
    shell = "%s >/dev/null & %s >/dev/null; wait" % (2 * (shlex.quote(program("slowest")),))
    report, _ = count("--json", "--exemplars", "2", "-f", "--by", "syscall", "-t",
                      "=nanosleep,=read", command=("sh", "-c", shell))
    data = json.loads(report)
    assert {row["syscall"] for row in data["table"]} == {"nanosleep", "read"}
    agree(data["table"])
    (row,) = [row for row in data["table"] if row["syscall"] == "nanosleep"]
    # One of each process: both are slower than what else either did.
    assert len({call["pid"] for call in row["exemplars"]}) == 2
    assert {values(call)["req"]["tv_nsec"] for call in row["exemplars"]} == {LONG_NS + 17}


def test_folded_processes_keep_theirs():
    """Processes that have ended are added up; the slowest call is still known."""
    shell = "for i in 1 2 3 4 5 6; do %s >/dev/null & done; wait" % shlex.quote(program("slowest"))
    report, _ = count("--json", "--exemplars", "1", "-f", "--keep-exited", "1", "-t", "=nanosleep",
                      command=("sh", "-c", shell))
    data = json.loads(report)
    assert sum(row["exited"] for row in data["rows"]) > 1
    agree(data["rows"])


def test_stacks_are_those_of_the_call():
    report, _ = count("--json", "--stacks", "-t", "read")
    (row,) = json.loads(report)["rows"]
    (slowest,) = row["exemplars"]
    (stack,) = [stack for stack in row["stacks"] if stack["max_ns"] == row["max_ns"]]
    assert len(slowest["stack"]) == len(stack["frames"])
    for text, frame in zip(slowest["stack"], stack["frames"]):
        assert frame["symbol"] is None or frame["symbol"] in text


def test_each_interval_has_its_own():
    """After the first sleep none is as long: without an interval of its own no other would be told."""
    script = "import time; time.sleep(0.45); [time.sleep(0.03) for _ in range(30)]"
    report, _ = count("--json", "--exemplars", "2", "-i", "0.3", "-t", "clock_nanosleep",
                      command=(sys.executable, "-c", script))
    reports = [json.loads(line) for line in report.splitlines()]
    rows = [(data, row) for data in reports for row in data["rows"] if row["calls"]]
    assert sum(row["calls"] for _, row in rows) == 31 and len(rows) >= 3
    for data, row in rows:
        times = [call["time"] for call in row["exemplars"]]
        assert times and all(data["start"] <= time <= data["end"] for time in times)
        if "slowest" in row:
            assert row["exemplars"][0]["wall_ns"] == row["max_ns"]
            assert row["slowest"]["tid"] == row["exemplars"][0]["tid"]
    assert rows[-1][1]["exemplars"][0]["wall_ns"] < 450_000_000


def page_tables(path):
    """The tables of a page by id: rows as objects."""
    text = path.read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
    names = {table["id"]: [field["name"] for field in table["fields"]] for table in data["tables"]}
    return {table["id"]: [dict(zip(names[table["id"]], row)) for row in table["rows"]] for table in data["tables"]}


def test_a_page_has_them(tmp_path):
    """Those of JSON, each with its arguments; what a program chose is text."""
    path = tmp_path / "page.html"
    report, printed = count("--json", "--exemplars", "2", "--html", str(path))
    tables = page_tables(path)
    shown = tables["slowest"] + tables["slowest-waiting"]
    told = [call for row in json.loads(report)["rows"] for call in row["exemplars"]]
    key = lambda call: (call["syscall"], call["wall_ns"], call["tid"], call["comm"])  # noqa: E731
    assert sorted(map(key, shown)) == sorted(map(key, told)) and len(shown) > 10
    (sleep,) = [call for call in shown if call["syscall"] == "nanosleep" and call["wall_ns"] >= LONG_NS]
    assert sleep["tid"] == int(printed.split()[0]) and "tv_nsec=%d}" % (LONG_NS + 17) in sleep["call"]
    (name,) = [call["call"] for call in shown if "/no/such" in call["call"]]
    assert r'"/no/such\n\33[31m\"name\377"' in name
    seconds = {call["time"][17:26] for call in told}
    assert all(call["time"][6:] in seconds for call in shown)
    saved = tmp_path / "saved.json"
    saved.write_text(report)
    again = tmp_path / "again.html"
    subprocess.run([BPFTRUSS, "report", str(saved), "--html", str(again), "-o", "/dev/null"], check=True)
    again = page_tables(again)
    assert [again[name] for name in ("slowest", "slowest-waiting")] == [tables["slowest"], tables["slowest-waiting"]]
    count("--html", str(path), command=("test", "!", "-e", "/no/</script><script>alert(1)"))
    assert "<script>alert" not in path.read_text()
    assert any("</script>" in call["call"] for call in page_tables(path)["slowest"])


def test_a_page_has_them_only_if_wanted(tmp_path):
    path = tmp_path / "page.html"
    report, _ = count("--html", str(path), "-w")
    assert "slowest" in page_tables(path) and "slowest:" not in report
    for options in (["--exemplars", "0"], ["--by", "tid"]):
        count("--html", str(path), *options)
        assert "slowest" not in page_tables(path)


@pytest.mark.parametrize("options", ([], ["--by", "tid"], ["-i", "0.1"]))
def test_json_says_when_and_where_the_slowest_call_was(options):
    report, printed = count("--json", "-t", "=nanosleep", *options)
    tid = int(printed.split()[0])
    (found,) = [(data, row) for data in map(json.loads, report.splitlines())
                for row in data["rows"] if (row["max_ns"] or 0) >= LONG_NS]  # fmt: skip
    data, row = found
    assert row["slowest"]["tid"] == tid and row["slowest"]["start"] < data["end"]
    if "-i" not in options:
        assert data["start"] <= row["slowest"]["start"]


@pytest.mark.parametrize("more", (["--csv"], ["--by", "tid"], ["--errors"]))
def test_what_has_no_meaning_is_refused(more):
    result = subprocess.run([BPFTRUSS, "-c", "-a", "--exemplars", "1", *more], timeout=DEADLINE_S,
                            capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "--exemplars" in result.stderr
