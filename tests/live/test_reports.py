# SPDX-License-Identifier: BSD-2-Clause
"""What reports show: groups, tables, files. Their numbers are those of the workload's own table."""

import csv
import errno
import fcntl
import io
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import xml.etree.ElementTree

import pytest

from cgroups import move
from harness import BPFTRUSS, BUILD, DEADLINE_S, IS_X86, need_terminals, until

KEYS = ("pid", "tid", "comm", "unit", "user", "syscall", "abi", "arg0")
COLUMNS = (
    "calls errors err% interrupted no_return untimed in_flight oldest time% total cpu runq sleep"
    " min avg p50 p90 p99 max bytes"
).split()
SUMS = ("calls", "errors", "interrupted", "no_return", "untimed")


def run(*arguments):
    return subprocess.run(
        [BPFTRUSS, "-c"] + [str(arg) for arg in arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
        check=False,
        universal_newlines=True,
    )


def program(name):
    return os.path.join(BUILD, "workloads", name)


def count_text(live, options, name, *args):
    """A text report of a workload, and the workload's table."""
    target = live.workload(name, *args)
    bpftruss = live.attach(target.pid, *options, json=False)
    target.go()
    assert bpftruss.wait() == 0, bpftruss.stderr()
    assert target.wait() == 0, target.stderr()
    return bpftruss.text().decode("utf-8"), target.table()


def parse_csv(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows and None not in rows[0]
    assert all(None not in row.values() for row in rows), "a line is too short"
    return rows


def count_csv(live, options, name, *args):
    text, table = count_text(live, ["--csv"] + list(options), name, *args)
    return parse_csv(text), table


def by(rows, *keys, value="calls"):
    """{(key, …): calls}; no two rows may have the same keys."""
    found = {tuple(row[key] for key in keys): int(row[value]) for row in rows}
    assert len(found) == len(rows)
    return found


def add_up(rows, field):
    return sum(int(row[field] or 0) for row in rows)


def must_add_up(rows, table):
    expected = table.counts().values()
    assert {f: add_up(rows, f) for f in SUMS} == {f: sum(c[f] for c in expected) for f in SUMS}


# --- groups --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", KEYS)
def test_every_key_groups_all_calls(live, keys):
    rows, table = count_csv(live, ["-f", "--by", keys], "forks", "clone", 7)
    must_add_up(rows, table)
    assert keys in rows[0]


@pytest.mark.parametrize(
    "keys, rows",
    [
        ("pid,tid", 8),
        ("comm,syscall", 8),
        ("unit,user,comm,abi", 1),
        ("user,pid", 8),
        ("syscall,abi", 8),
        ("tid,syscall", 5 + 7 * 3 + 3),
        ("pid,syscall", 5 + 7 * 3 + 3),
    ],
)
def test_keys_combine(live, keys, rows):
    """Seven children of three kinds of calls, every third of four, and their parent of five."""
    found, table = count_csv(live, ["-f", "--by", keys], "forks", "clone", 7)
    must_add_up(found, table)
    assert len(found) == rows
    assert set(keys.split(",")) <= set(found[0])


def test_by_pid_has_one_row_for_each_process(live):
    rows, table = count_csv(live, ["-f", "--by", "pid"], "forks", "clone", 7)
    assert len({row["pid"] for row in rows}) == len(rows) == 8
    # Two calls and the exit; every third makes five more.
    assert sorted(by(rows, "pid").values())[:7] == sorted([3 + 5 * (i % 3 == 0) for i in range(7)])


def test_by_syscall_has_the_rows_of_the_table(live):
    rows, table = count_csv(live, ["-f", "--by", "syscall,abi"], "numbers")
    got = sorted(int(row["calls"]) for row in rows)
    assert got == sorted(counts["calls"] for counts in table.counts().values())
    must_add_up(rows, table)


def test_by_abi_has_the_sums_of_each_table_of_calls(live):
    rows, table = count_csv(live, ["--by", "abi"], "numbers")
    expected = {}
    for (_, abi, _), counts in table.counts().items():
        expected[(abi,)] = expected.get((abi,), 0) + counts["calls"]
    assert by(rows, "abi") == expected
    assert len(expected) == (3 if IS_X86 else 1)


def test_by_comm_adds_up_processes_of_one_name(live):
    rows, table = count_csv(live, ["-f", "--by", "comm"], "forks", "clone", 13)
    assert len(rows) == 1 and rows[0]["comm"] == "forks"
    must_add_up(rows, table)


def test_by_comm_and_syscall_tells_names_apart(live):
    targets = [live.workload("calls"), live.workload("forks", "clone", 5)]
    options = ["-f", "--csv", "--by", "comm,syscall"]
    bpftruss = live.attach([target.pid for target in targets], *options, json=False)
    for target in targets:
        target.go()
    assert bpftruss.wait() == 0
    counts = by(parse_csv(bpftruss.text().decode()), "comm", "syscall")
    assert counts["calls", "getppid"] == 1009 and counts["forks", "getppid"] == 5
    assert counts["calls", "close"] == 15 and counts["forks", "close"] == 5


def crew_at_rest(live, *options, number=7, json=False):
    """Threads that made one call, two calls, and so on, and now sleep."""
    target = live.workload("crew", number)
    bpftruss = live.attach(target.pid, *options, json=json)
    target.go()
    until(lambda: len(target.threads()) == number + 1, "threads")
    for tid in target.threads():
        target.wait_asleep_in("read", tid=tid)
    return target, bpftruss


def test_by_tid_has_the_calls_of_every_thread(live):
    options = ["--csv", "--by", "pid,tid", "-t", "sched_yield"]
    target, bpftruss = crew_at_rest(live, *options)
    bpftruss.signal(signal.SIGINT)
    assert bpftruss.wait() == 0
    rows = parse_csv(bpftruss.text().decode())
    assert sorted(by(rows, "tid").values()) == [1, 2, 3, 4, 5, 6, 7]
    assert {int(row["tid"]) for row in rows} == set(target.threads()) - {target.pid}
    assert {row["pid"] for row in rows} == {str(target.pid)}


def test_by_tid_and_syscall_has_the_calls_of_every_thread(live):
    target, bpftruss = crew_at_rest(live, "--csv", "--by", "tid,syscall")
    bpftruss.signal(signal.SIGINT)
    assert bpftruss.wait() == 0
    counts = by(parse_csv(bpftruss.text().decode()), "tid", "syscall")
    tids = {tid for tid, syscall in counts if syscall == "sched_yield"}
    assert sorted(counts[tid, "sched_yield"] for tid in tids) == [1, 2, 3, 4, 5, 6, 7]
    assert all(counts[tid, "close"] == counts[tid, "sched_yield"] for tid in tids)
    assert counts[str(target.pid), "clone"] == 7


def test_threads_that_have_ended_are_added_up(live):
    rows, table = count_csv(live, ["--by", "tid"], "threads", 7, 101)
    must_add_up(rows, table)
    assert {row["tid"] for row in rows} == {""}


def test_by_unit_tells_cgroups_apart(live, cgroup):
    names = ["bpftruss-one.service", "bpftruss-two.service"]
    targets = [live.workload("calls"), live.workload("forks", "clone", 5)]
    for name, target in zip(names, targets):
        move(target.pid, cgroup("bpftruss.slice", name))
    bpftruss = live.attach([t.pid for t in targets], "-f", "--csv", "--by", "unit", json=False)
    for target in targets:
        target.go()
    assert bpftruss.wait() == 0
    sums = [sum(c["calls"] for c in target.table().counts().values()) for target in targets]
    assert by(parse_csv(bpftruss.text().decode()), "unit") == {
        (name,): calls for name, calls in zip(names, sums)
    }


def test_by_user_tells_users_apart(live):
    other = live.workload("becomes", "user", 54321, 3, 101)
    target = live.workload("calls")
    bpftruss = live.attach([target.pid, other.pid], "--csv", "--by", "user", json=False)
    for process in (target, other):
        process.go()
    assert bpftruss.wait() == 0
    counts = by(parse_csv(bpftruss.text().decode()), "user")
    assert set(counts) == {("root",), ("54321",)}
    assert counts[("root",)] == sum(c["calls"] for c in target.table().counts().values())


# --- the first argument --------------------------------------------------------------------------


def as_arg0(value, bits=64):
    return "0x%x" % (value & ((1 << bits) - 1))


def test_by_arg0_counts_each_value_of_the_first_argument(live):
    rows, _ = count_csv(live, ["--by", "arg0", "-t", "close"], "firsts")
    native = [row for row in rows if row["syscall"] == "close"]
    assert by(native, "arg0") == {(as_arg0(-n),): n for n in range(1, 14)}
    assert by(native, "arg0", value="errors") == by(native, "arg0")


def test_by_arg0_counts_each_semaphore(live):
    rows, table = count_csv(live, ["--by", "arg0", "-t", "semop"], "firsts")
    first, second = table.measures[0]["semaphores"]
    assert by(rows, "arg0") == {(as_arg0(first),): 17, (as_arg0(second),): 19}


@pytest.mark.skipif(not IS_X86, reason="only x86 has int 0x80")
def test_by_arg0_counts_calls_of_the_32_bit_abi(live):
    rows, _ = count_csv(live, ["--by", "arg0,abi", "-t", "close"], "firsts")
    rows = [row for row in rows if row["abi"] == "i386"]
    assert by(rows, "arg0") == {(as_arg0(1000 + n),): n for n in range(1, 6)}


def test_by_arg0_of_all_calls_adds_up(live):
    rows, table = count_csv(live, ["--by", "arg0"], "firsts")
    must_add_up(rows, table)


def test_by_arg0_splits_only_the_calls_that_are_reported(live):
    rows, _ = count_csv(live, ["--by", "arg0", "-t", "close,semop"], "firsts")
    assert {row["syscall"].split("/")[0] for row in rows} == {"close", "semop"}


def test_more_values_of_arg0_than_rows_keep_exact_totals(live):
    options = ["--by", "arg0", "--max-rows", 7]
    target = live.workload("firsts")
    bpftruss = live.attach(target.pid, "--csv", *options, json=False)
    wide = live.attach(target.pid, "-w", *options, json=False)
    target.go()
    assert bpftruss.wait() == wide.wait() == 0
    rows = parse_csv(bpftruss.text().decode())
    assert add_up(rows, "calls") == sum(c["calls"] for c in target.table().counts().values())
    assert add_up(rows, "errors") == sum(c["errors"] for c in target.table().counts().values())
    assert len(rows) < 25
    text = wide.text().decode()
    assert "not exact: " in text and "--max-rows" in text


# --- sorting and cutting -------------------------------------------------------------------------


def sorts_well(values):
    """Numbers fall; what is unknown comes last."""
    known = [float(value) for value in values if value != ""]
    return known == sorted(known, reverse=True) and "" not in values[: len(known)]


@pytest.mark.parametrize("column", COLUMNS)
def test_rows_sort_by_every_column(live, column):
    rows, _ = count_csv(live, ["--sort", column, "--columns", column], "calls")
    (field,) = set(rows[0]) - {"start", "end", "syscall"}
    assert sorts_well([row[field] for row in rows])


@pytest.mark.parametrize("key", ["pid", "comm", "syscall"])
def test_rows_sort_by_keys(live, key):
    rows, _ = count_csv(live, ["-f", "--by", "pid,syscall", "--sort", key], "forks", "clone", 5)
    values = [int(row[key]) if key == "pid" else row[key] for row in rows]
    assert values == sorted(values)


@pytest.mark.parametrize("top", [1, 3, 1000])
def test_top_leaves_a_row_for_the_others(live, top):
    rows, table = count_csv(live, ["--sort", "calls", "--top", top], "calls")
    kinds = len(table.counts())
    must_add_up(rows, table)
    assert len(rows) == min(top + 1, kinds)
    assert rows[0]["syscall"] == "getppid"
    if top < kinds:
        assert rows[-1]["syscall"] == "(%d others)" % (kinds - top)


def test_the_wide_table_names_its_others(live):
    text, table = count_text(live, ["--sort", "calls", "--top", 2, "--columns", "calls"], "calls")
    lines = table_lines(text)
    assert [line[0] for line in lines[:2]] == ["getppid", "getuid"]
    assert lines[2][0].startswith("(") and "others)" in " ".join(lines[2])
    assert int(lines[2][-1]) + 1009 + 101 == int(total_line(text, "working")[-1])


def test_min_calls_hides_rare_rows(live):
    rows, _ = count_csv(live, ["--min-calls", 12], "calls")
    shown = [row for row in rows if "other" not in row["syscall"]]
    assert shown and all(int(row["calls"]) >= 12 for row in shown)
    assert {"getppid", "getuid", "close", "openat", "read", "write"} == {
        row["syscall"] for row in shown
    }


def test_errors_only_hides_rows_without_errors(live):
    rows, _ = count_csv(live, ["--errors-only"], "calls")
    shown = [row for row in rows if "other" not in row["syscall"]]
    assert {row["syscall"]: int(row["errors"]) for row in shown} == {
        "openat": 12,
        "close": 13,
        "read": 3,
    }


def test_columns_stand_in_the_order_that_was_asked_for(live):
    text, _ = count_text(live, ["--csv", "--columns", "max,errors,calls,p99"], "calls")
    assert text.splitlines()[0] == "start,end,syscall,max_ns,errors,calls,p99_ns"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--by", "frobs"],
        ["--by", "pid,,comm"],
        ["--by", ""],
        ["--sort", "frobs"],
        ["--sort", ""],
        ["--columns", "calls,frobs"],
        ["--columns", ""],
        ["--format", "frobs"],
        ["--format", "tru"],
        ["--waiting", "frobs"],
        ["--top", "x"],
        ["--top", "-1"],
        ["--min-calls", "x"],
        ["--keep-exited", "x"],
        ["--chart", ""],
        ["-t", "frobs"],
        ["--sort", "pid"],
        ["--sort", "comm", "--by", "syscall"],
        ["--errors", "--sort", "calls"],
        ["--errors", "--columns", "calls"],
        ["--errors", "--waiting", "read"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_a_usage_error_of_one_sentence(arguments):
    result = run(*arguments, "-p", os.getpid())
    assert result.returncode == 2 and not result.stdout
    assert result.stderr.startswith("bpftruss: ") and result.stderr.count("\n") == 1
    assert arguments[0] in result.stderr


# --- the wide table ------------------------------------------------------------------------------


def table_lines(text):
    """The cells of the table's lines below its title, up to the first rule."""
    lines = text.splitlines()[1:]
    end = next(i for i, line in enumerate(lines) if set(line) <= set("- ") and line.strip())
    return [line.split() for line in lines[:end]]


def total_line(text, name):
    """The sums below a rule."""
    return re.search("^[- ]+\n(%s .*)$" % name, text, re.M).group(1).split()


def grid(text):
    return text[: text.index("\nuser CPU ")].splitlines()


def test_working_and_waiting_add_up_to_all_calls(live):
    target = live.workload("forks", "clone", 11)
    json = live.attach(target.pid, "-f")
    wide = live.attach(target.pid, "-f", "-w", "--columns", "calls,errors,total", json=False)
    target.go()
    report = json.report()
    assert wide.wait() == 0
    text = wide.text().decode()
    working, waiting = total_line(text, "working"), total_line(text, "waiting")
    assert int(working[1]) + int(waiting[1]) == report.sum("calls")
    assert int(working[2]) + int(waiting[2]) == report.sum("errors")
    assert int(waiting[1]) == report.total("wait4") == 11


def test_waiting_calls_stand_in_a_block_of_their_own(live):
    text, _ = count_text(live, ["-f", "-w"], "forks", "clone", 11)
    above, below = text.split("\nwaiting for work:\n")
    assert re.search("^getppid ", above, re.M) and not re.search("^wait4 ", above, re.M)
    assert re.search("^wait4 ", below, re.M)


def test_what_waits_for_work_may_be_chosen(live):
    options = ["-f", "--columns", "calls", "--waiting", "getppid"]
    text, _ = count_text(live, options, "forks", "clone", 11)
    above, below = text.split("\nwaiting for work:\n")
    assert re.search("^wait4 +11$", above, re.M) and re.search("^getppid +11$", below, re.M)
    assert total_line(text, "waiting")[1] == "11"


def test_what_waits_for_work_may_be_all_but_some_calls(live):
    text, table = count_text(live, ["--columns", "calls", "--waiting", "!getppid"], "calls")
    assert total_line(text, "working")[1] == "1009"
    calls = sum(counts["calls"] for counts in table.counts().values())
    assert int(total_line(text, "waiting")[1]) == calls - 1009


def test_the_histogram_has_as_many_calls_as_were_timed(live):
    text, _ = count_text(live, ["--hist"], "calls")
    chart = text[text.index("\ngetppid: 1009 calls by duration\n") :].split("\n\n")[0]
    bars = [line for line in chart.splitlines() if "|" in line]
    counts = [int(line.split("|")[0].split()[-1]) for line in bars]
    assert sum(counts) == 1009 and all(len(line) <= 80 for line in text.splitlines())


def test_the_wide_table_has_80_columns_where_there_is_no_terminal(live):
    text, _ = count_text(live, ["-f", "-w", "--by", "pid,syscall"], "forks", "clone", 5)
    assert max(map(len, grid(text))) <= 80


def test_all_columns_fit_into_80_as_well_as_they_can(live):
    for keys in KEYS:
        text, _ = count_text(live, ["-w", "--by", keys], "calls")
        assert max(map(len, grid(text))) <= 80, keys


def in_terminal(live, columns, *options):
    """A report on a terminal of so many columns."""
    need_terminals()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    target = live.workload("calls")
    options = ["-o", os.ttyname(slave)] + list(options)
    bpftruss = live.attach(target.pid, *options, json=False)
    target.go()
    assert bpftruss.wait() == 0
    text = b""
    while b"call is missing" not in text:
        text += os.read(master, 65536)
    os.close(master)
    os.close(slave)
    return text.decode().replace("\r", "")


def test_the_wide_table_widens_with_the_terminal(live):
    widths = {columns: grid(in_terminal(live, columns, "-w")) for columns in (60, 100, 200)}
    titles = {columns: len(lines[0].split()) for columns, lines in widths.items()}
    assert titles[60] < titles[100] < titles[200]
    assert all(max(map(len, lines)) <= columns for columns, lines in widths.items())


def test_a_wide_terminal_shows_every_column_of_the_release(live):
    title = grid(in_terminal(live, 250, "-w"))[0].split()
    names = "calls errors total cpu runq sleep min avg p50 p90 p99 max bytes".split()
    assert [word for word in title if word in names] == names


# --- the table of errors -------------------------------------------------------------------------


def test_the_errors_are_those_of_the_json(live):
    target = live.workload("calls")
    json = live.attach(target.pid)
    errors = live.attach(target.pid, "--errors", json=False)
    target.go()
    report = json.report()
    assert errors.wait() == 0
    text = errors.text().decode()
    found = re.findall(r"^calls +(\S+) +(E\S+) +(.*?)  +(\d+) +([\d.]+)$", text, re.M)
    expected = {
        (row["syscall"], name): count
        for row in report.rows
        for name, count in row["errnos"].items()
    }
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
    target = live.workload("calls")
    json = live.attach(target.pid)
    bpftruss = live.attach(target.pid, "--csv", json=False)
    target.go()
    report = json.report()
    assert bpftruss.wait() == 0
    rows = parse_csv(bpftruss.text().decode())
    assert {row["syscall"] for row in rows} == {row["syscall"] for row in report.rows}
    for row in rows:
        same = report.only(row["syscall"])
        assert [int(row[f]) for f in SUMS] == [same[f] for f in SUMS]
        assert int(row["bytes"] or 0) == same["bytes"]


def test_csv_has_times_that_agree_with_each_other(live):
    rows, _ = count_csv(live, [], "calls")
    for row in (row for row in rows if row["total_ns"]):
        times = {name[:-3]: int(row[name]) for name in row if name.endswith("_ns")}
        assert times["cpu"] + times["runq"] + times["sleep"] == times["total"]
        assert times["min"] <= times["p50"] <= times["p90"] <= times["p99"] <= times["max"]
        assert times["avg"] == times["total"] // (int(row["calls"]) - int(row["untimed"]))


def test_csv_leaves_unknown_values_empty(live):
    rows, _ = count_csv(live, [], "calls")
    (end,) = [row for row in rows if row["syscall"] == "exit_group"]
    assert end["total_ns"] == end["min_ns"] == end["p99_ns"] == end["bytes"] == ""
    assert end["calls"] == end["no_return"] == "1"


def test_a_hostile_name_stays_one_field_of_one_line(live):
    text, table = count_text(live, ["--csv", "-f", "--by", "comm"], "names")
    rows = parse_csv(text)
    must_add_up(rows, table)
    assert len(text.splitlines()) == len(rows) + 1
    assert "a,b;c=d{e}" in {row["comm"] for row in rows}
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


@pytest.mark.parametrize(
    "options",
    [["-w"], ["--hist"], ["--errors"], ["--format=strace"], ["--csv"]],
    ids=lambda options: options[0],
)
def test_no_report_holds_control_characters(live, options):
    by_name = [] if options == ["--format=strace"] else ["--by", "comm,syscall"]
    text, _ = count_text(live, ["-f"] + options + by_name, "names")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_csv_names_its_others_and_leaves_their_keys_empty(live):
    rows, table = count_csv(live, ["-f", "--by", "pid", "--top", 1], "forks", "clone", 5)
    assert rows[1]["pid"] == "" and rows[1]["comm"] == "(5 others)"
    must_add_up(rows, table)


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
    target = live.workload("calls")
    json = live.attach(target.pid)
    strace = live.attach(target.pid, "--format=strace", json=False)
    target.go()
    report = json.report()
    assert strace.wait() == 0
    _, table, total = parse_strace(strace.text().decode())
    assert table == {row["syscall"]: (row["calls"], row["errors"]) for row in report.rows}
    assert int(total.split()[3]) == report.sum("calls") and total.endswith(" total")


def test_the_strace_format_is_that_of_strace(live, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    own, its = tmp_path / "own", tmp_path / "strace"
    assert run("--format=strace", "-o", own, program("calls")).returncode == 0
    subprocess.run(["strace", "-c", "-o", its, program("calls")], stdout=-1, check=True)
    (head, own_table, _), (its_head, its_table, _) = map(
        parse_strace, (own.read_text(), its.read_text())
    )
    assert head == its_head
    del own_table["exit_group"]  # strace does not count what does not return
    assert own_table == its_table


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
    result = run("--chart", "/nonexistent/chart.svg", "-o", "/dev/null", "true")
    assert result.returncode == 1 and "/nonexistent/chart.svg" in result.stderr


# --- bounded memory ------------------------------------------------------------------------------


def resident_kib(pid):
    with open("/proc/%d/status" % pid) as status:
        return int(re.search(r"^VmRSS:\s+(\d+) kB$", status.read(), re.M).group(1))


def test_ten_thousand_short_processes_have_exact_totals_and_leave_nothing(live):
    forks = program("forks")
    script = "for n in 10003 5003; do read line; %s clone $n; echo done; done;" % forks
    script += "read line; %s clone 1301 together; read line" % forks
    shell = live.spawn("/bin/sh", "-c", script, stdin=subprocess.PIPE)
    bpftruss = live.attach(shell.pid, "-f")
    sizes = []
    for rounds in (1, 2):
        shell.tell(b"go\n")
        until(lambda: shell.stdout().count(b"done") == rounds, "children end")
        time.sleep(0.1)
        sizes.append(resident_kib(bpftruss.pid))
    shell.tell(b"go\ngo\n")
    report = bpftruss.report()
    made = 10003 + 5003 + 1301
    assert report.total("getppid") == made
    assert report.total("close") >= made and report.errnos("close")["EBADF"] == made
    assert report.total("exit_group") == made + 3 + 1
    (folded,) = [row for row in report.select("getppid") if row["pid"] is None]
    assert folded["comm"] == "forks" and folded["calls"] > 10003
    assert sizes[1] <= sizes[0] + 1024
    # 1301 at the same time, of 1536 records: all of the 15,006 before them were given back.
    assert "[overflow]" not in {row["comm"] for row in report.rows}


def test_as_many_ended_processes_as_asked_for_keep_rows_of_their_own(live):
    rows, table = count_csv(live, ["-f", "--by", "pid", "--keep-exited", 10], "forks", "clone", 103)
    must_add_up(rows, table)
    own = [row for row in rows if row["pid"]]
    assert 10 <= len(own) <= 2 * 10 + 1 and len(rows) == len(own) + 1


def test_folded_processes_are_added_up_by_name_and_shown_as_exited(live):
    options = ["-f", "-w", "--by", "pid", "--keep-exited", 3, "--columns", "calls"]
    text, _ = count_text(live, options, "forks", "clone", 53)
    assert re.search(r"^ *exited +forks +\d+$", text, re.M)


def test_folded_processes_keep_all_numbers_but_their_pids(live):
    """Also errnos, histograms and times: those of one row are those of all."""
    target = live.workload("forks", "clone", 307)
    own = live.attach(target.pid, "-f")
    folded = live.attach(target.pid, "-f", "--keep-exited", 1)
    target.go()
    own, folded = own.report(), folded.report()
    assert own.counts() == folded.counts() == target.table().counts()
    assert len(folded.rows) < len(own.rows) / 10
    for row in folded.rows:
        assert sum(row["errnos"].values()) == row["errors"]


def test_folded_processes_of_different_names_stay_apart(live):
    options = ["-f", "--by", "comm", "--keep-exited", 1, "-t", "getppid"]
    rows, table = count_csv(live, options, "names")
    assert add_up(rows, "calls") == table.total("getppid")
    assert by(rows, "comm")[("%s%n%x",)] == 5 + 11


EVER_NEW_NAMES = """
import ctypes, os
libc = ctypes.CDLL(None)
for i in range(1601):
    pid = os.fork()
    if not pid:
        libc.prctl(15, b"name%d" % i, 0, 0, 0)
        libc.getppid()
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_processes_of_ever_new_names_share_rows_in_the_end(live):
    """Of the folded ones, that is; the last few have not been yet."""
    report, _ = live.run(sys.executable, "-c", EVER_NEW_NAMES, options=["-f", "--keep-exited", 10])
    rows = report.select("getppid")
    assert sum(row["calls"] for row in rows) == 1601
    assert len(rows) <= 1000 + 2 * 10 + 1
    (others,) = [row for row in rows if row["comm"] == "[others]"]
    assert others["exited"] == others["calls"] >= 1601 - (1000 + 2 * 10)
    assert (others["pid"], others["uid"], others["user"], others["unit"]) == (None,) * 4


def test_intervals_of_processes_of_ever_new_names_add_up(live):
    options = ["-f", "--keep-exited", 10, "-i", "0.1"]
    bpftruss = live.start(sys.executable, "-c", EVER_NEW_NAMES, options=options)
    assert bpftruss.wait() == 0, bpftruss.stderr()
    lines = [json.loads(line) for line in bpftruss.text().splitlines()]
    rows = [row for line in lines for row in line["rows"] if row["syscall"] == "getppid"]
    assert len(lines) > 3 and sum(row["calls"] for row in rows) == 1601


# --- stories -------------------------------------------------------------------------------------


class Resolver(threading.Thread):
    """Answers one datagram after a delay."""

    def __init__(self, delay):
        super().__init__()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.delay = delay
        self.start()

    def run(self):
        self.socket.settimeout(DEADLINE_S)
        question, client = self.socket.recvfrom(512)
        time.sleep(self.delay)
        # A response with no such name.
        self.socket.sendto(question[:2] + b"\x81\x83" + question[4:], client)
        self.socket.close()


LOOKUP = """
import select, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", %d))
s.send(b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\4test\\0\\0\\1\\0\\1")
if %d:
    p = select.poll(); p.register(s, select.POLLIN); p.poll()
s.recv(512)
"""


@pytest.mark.parametrize("call", ["poll", "recvfrom"])
def test_the_time_of_a_slow_resolver_is_sleep_and_not_cpu(live, call):
    resolver = Resolver(0.5)
    lookup = LOOKUP % (resolver.port, call == "poll")
    report, _ = live.run(sys.executable, "-c", lookup)
    resolver.join()
    names = ("poll", "ppoll") if call == "poll" else ("recvfrom",)
    (row,) = [row for row in report.rows if row["syscall"] in names]
    assert row["calls"] == 1
    assert 0.45e9 < row["sleep_ns"] <= row["wall_ns"]
    assert row["cpu_ns"] < 0.02e9
    assert report.sum("cpu_ns") < report.data["elapsed_ns"] - 0.45e9


CHURN = """
public class Churn {
    static Object kept;
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < 12; i++) {
            Object[] chain = new Object[200000];
            for (int j = 0; j < chain.length; j++)
                chain[j] = new int[] { j };
            kept = chain;
            System.gc();
        }
        System.out.println("done");
        while (System.in.read() >= 0)
            ;
    }
}
"""


def test_the_gc_threads_of_a_jvm_have_rows_of_their_own(live, tmp_path):
    if not shutil.which("java") or not shutil.which("javac"):
        pytest.skip("needs java and javac")
    (tmp_path / "Churn.java").write_text(CHURN)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Churn.java"], check=True)
    gc_threads = 3 * os.cpu_count() + 1
    options = ["-XX:+UseParallelGC", "-XX:ParallelGCThreads=%d" % gc_threads, "-Xmx64m"]
    options += ["-XX:-UseDynamicNumberOfGCThreads", "-cp", tmp_path]
    jvm = live.spawn("java", *options, "Churn", stdin=subprocess.PIPE)
    until(lambda: b"ready" in jvm.stdout(), "the JVM says ready")
    stop(jvm)  # its timers too: both count the same calls
    threads = live.attach(jvm.pid, "--csv", "--by", "pid,tid", json=False)
    whole = live.attach(jvm.pid, "--csv", "--by", "pid", json=False)
    jvm.signal(signal.SIGCONT)
    jvm.tell(b"g")
    until(lambda: b"done" in jvm.stdout(), "the JVM says done")
    stop(jvm)
    for bpftruss in (threads, whole):
        bpftruss.signal(signal.SIGINT)
        assert bpftruss.wait() == 0
    rows, (one,) = (parse_csv(each.text().decode()) for each in (threads, whole))
    workers = {tid for tid in jvm.threads() if comm(jvm.pid, tid).startswith("GC Thread")}
    counts = {int(tid): calls for (tid,), calls in by(rows, "tid").items() if tid}
    assert len(workers) == gc_threads > os.cpu_count()
    assert len([tid for tid in workers if counts.get(tid)]) > 2
    assert {f: add_up(rows, f) for f in SUMS[:4]} == {f: int(one[f]) for f in SUMS[:4]}


def stop(process):
    process.signal(signal.SIGSTOP)
    until(lambda: all(stopped(process.pid, tid) for tid in process.threads()), "it stops")


def stopped(pid, tid):
    with open("/proc/%d/task/%d/status" % (pid, tid)) as status:
        return "\nState:\tT" in status.read()


def comm(pid, tid):
    with open("/proc/%d/task/%d/comm" % (pid, tid)) as file:
        return file.read().strip()
