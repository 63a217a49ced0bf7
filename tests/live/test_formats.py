# SPDX-License-Identifier: BSD-2-Clause
"""
Each form of a report but the truss and wide tables: errors, CSV, strace's own table, the chart. They
hold the numbers of the JSON, and no name that a process gives itself breaks them.
"""

import errno
import os
import re
import subprocess
import xml.etree.ElementTree

import pytest

from harness import need, program, run
from reports import SUMS, count_both, count_csv, count_text, must_add_up, parse_csv


# --- the table of errors -------------------------------------------------------------------------


def test_the_errors_are_those_of_the_json(live):
    text, report = count_both(live, ["--errors"], "calls")
    found = re.findall(r"^calls +(\S+) +(E\S+) +(.*?)  +(\d+) +([\d.]+)$", text, re.M)
    expected = {(row["syscall"], name): count
                for row in report.rows for name, count in row["errnos"].items()}  # fmt: skip
    assert {(call, name): int(count) for call, name, _, count, _ in found} == expected
    for call, name, meaning, count, share in found:
        assert meaning == os.strerror(getattr(errno, name))
        assert float(share) == pytest.approx(int(count) * 100 / report.total(call), abs=0.006)
    all_errors = re.search(r"^ +all errors +(\d+) ", text, re.M)
    assert int(all_errors.group(1)) == report.sum("errors")


def test_the_errors_by_pid_tell_processes_apart(live):
    text, _ = count_text(live, ["-f", "--errors", "--by", "pid"], "forks", "clone", 5)
    assert len(re.findall(r"^ *\d+ +forks +close +EBADF ", text, re.M)) == 5


# --- CSV -----------------------------------------------------------------------------------------


def test_csv_has_the_numbers_of_the_json(live):
    text, report = count_both(live, ["--csv"], "calls")
    rows = parse_csv(text)
    assert {row["syscall"] for row in rows} == {row["syscall"] for row in report.rows}
    for row in rows:
        same = report.only(row["syscall"])
        assert [int(row[f]) for f in SUMS] == [same[f] for f in SUMS]
        assert int(row["bytes"] or 0) == same["bytes"]


def test_csv_has_times_that_agree_with_each_other_and_leaves_unknown_ones_empty(live):
    rows, _ = count_csv(live, [], "calls")
    for row in (row for row in rows if row["total_ns"]):
        times = {name[:-3]: int(row[name]) for name in row if name.endswith("_ns")}
        assert times["cpu"] + times["runq"] + times["sleep"] == times["total"]
        assert times["min"] <= times["p50"] <= times["p90"] <= times["p99"] <= times["max"]
        assert times["avg"] == times["total"] // (int(row["calls"]) - int(row["untimed"]))
    (end,) = [row for row in rows if row["syscall"] == "exit_group"]
    assert end["total_ns"] == end["min_ns"] == end["p99_ns"] == end["bytes"] == ""
    assert end["calls"] == end["no_return"] == "1"


def test_csv_names_its_others_and_leaves_their_keys_empty(live):
    rows, table = count_csv(live, ["-f", "--by", "pid", "--top", 1], "forks", "clone", 5)
    assert rows[1]["pid"] == "" and rows[1]["comm"] == "(5 others)"
    must_add_up(rows, table)


def test_columns_stand_in_the_order_that_was_asked_for(live):
    text, _ = count_text(live, ["--csv", "--columns", "max,errors,calls,p99"], "calls")
    assert text.splitlines()[0] == "start,end,syscall,max_ns,errors,calls,p99_ns"


# --- strace's own table --------------------------------------------------------------------------


STRACE_LINE = re.compile(r"^ *([\d.]+) +([\d.]+) +(\d+) +(\d+) (?: +(\d+)| +) ?(\S+)$")


def parse_strace(text):
    """{call: (calls, errors)}, as scripts do that read it by columns."""
    lines = text.splitlines()
    rules = [i for i, line in enumerate(lines) if line.startswith("------ ")]
    table = {}
    for line in lines[rules[0] + 1 : rules[1]]:
        assert STRACE_LINE.match(line), line
        table[line[51:]] = (int(line[31:40]), int(line[41:50].strip() or 0))
    return lines[:2], table, lines[rules[1] + 1]


def test_the_strace_format_has_the_counts_of_the_json(live):
    text, report = count_both(live, ["--format=strace"], "calls")
    _, table, total = parse_strace(text)
    assert table == {row["syscall"]: (row["calls"], row["errors"]) for row in report.rows}
    assert int(total.split()[3]) == report.sum("calls") and total.endswith(" total")


def test_the_strace_format_is_that_of_strace(live, tmp_path):
    strace = need("strace")
    own, its = tmp_path / "own", tmp_path / "strace"
    assert run("-c", "--format=strace", "-o", own, program("calls")).returncode == 0
    subprocess.run([strace, "-c", "-o", its, program("calls")], stdout=-1, check=True)
    head, own_table, _ = parse_strace(own.read_text())
    its_head, its_table, _ = parse_strace(its.read_text())
    assert head == its_head
    del own_table["exit_group"]  # strace does not count what does not return
    assert own_table == its_table


# --- hostile names -------------------------------------------------------------------------------


# But for the ends of lines, nothing that a terminal acts on or that turns text round.
CONTROLS = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def test_a_hostile_name_stays_one_field_of_one_line(live):
    text, table = count_text(live, ["--csv", "-f", "--by", "comm"], "names")
    rows = parse_csv(text)
    must_add_up(rows, table)
    assert len(text.splitlines()) == len(rows) + 1
    assert "a,b;c=d{e}" in {row["comm"] for row in rows}
    assert not re.search(CONTROLS, text)


@pytest.mark.parametrize("option", ["-w", "--hist", "--errors", "--format=strace", "--csv"])
def test_no_report_holds_control_characters(live, option):
    by_name = [] if option == "--format=strace" else ["--by", "comm,syscall"]
    text, _ = count_text(live, ["-f", option] + by_name, "names")
    assert not re.search(CONTROLS, text)


# --- the picture ---------------------------------------------------------------------------------


def test_the_chart_is_well_formed_and_runs_nothing(live, tmp_path):
    chart = tmp_path / "chart.svg"
    count_text(live, ["-f", "--by", "comm,syscall", "--chart", chart], "names")
    root = xml.etree.ElementTree.fromstring(chart.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    for element in root.iter():
        assert not element.tag.lower().endswith(("script", "foreignobject", "image", "use"))
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on") and "href" not in name.lower()
            assert "javascript:" not in value.lower() and "url(http" not in value
    assert any("getppid" in (element.text or "") for element in root.iter())


def test_a_chart_that_cannot_be_written_is_an_error(live):
    result = run("-c", "--chart", "/nonexistent/chart.svg", "-o", "/dev/null", "true")
    assert result.returncode == 1 and "/nonexistent/chart.svg" in result.stderr
