# SPDX-License-Identifier: BSD-2-Clause
"""
Each form of a report but the truss table: errors, CSV, strace's own table, the chart, the wide
table and its histograms. They hold the numbers of the JSON, and no name that a process gives itself
breaks them. strace -c -f counts the same calls and errors of the same deterministic command.
"""

import errno
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import xml.etree.ElementTree

import pytest

from harness import BUILD, DEADLINE_S, NATIVE, Report, need, need_terminals, program, run
from reports import KEYS, SUMS, count_both, count_csv, count_text, must_add_up, parse_csv


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


# --- the wide table and its histograms -----------------------------------------------------------


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


# --- working and waiting -------------------------------------------------------------------------


def test_working_and_waiting_add_up_to_all_calls(live):
    """And what waits stands in a block of its own."""
    text, report = count_both(live, ["-w", "--columns", "calls,errors,total"], "forks", "clone", 11)
    working, waiting = total_line(text, "sum"), total_line(text, "waiting")
    assert int(working[1]) + int(waiting[1]) == report.sum("calls")
    assert int(working[2]) + int(waiting[2]) == report.sum("errors")
    assert int(waiting[1]) == report.total("wait4") == 11
    above, below = text.split("\nwaiting (may be idle):\n")
    assert re.search("^getppid ", above, re.M) and not re.search("^wait4 ", above, re.M)
    assert re.search("^wait4 ", below, re.M)


def test_what_waits_for_work_may_be_chosen(live):
    options = ["-f", "--columns", "calls", "--waiting", "getppid"]
    text, _ = count_text(live, options, "forks", "clone", 11)
    above, below = text.split("\nwaiting (may be idle):\n")
    assert re.search("^wait4 +11$", above, re.M) and re.search("^getppid +11$", below, re.M)
    assert total_line(text, "waiting")[1] == "11"


def test_what_waits_for_work_may_be_all_but_some_calls(live):
    text, table = count_text(live, ["--columns", "calls", "--waiting", "!getppid"], "calls")
    assert total_line(text, "sum")[1] == "1009"
    calls = sum(counts["calls"] for counts in table.counts().values())
    assert int(total_line(text, "waiting")[1]) == calls - 1009


# --- rows and histograms -------------------------------------------------------------------------


def test_the_wide_table_names_its_others(live):
    text, table = count_text(live, ["--sort", "calls", "--top", 2, "--columns", "calls"], "calls")
    lines = table_lines(text)
    assert [line[0] for line in lines[:2]] == ["getppid", "getuid"]
    assert lines[2][0].startswith("(") and "others)" in " ".join(lines[2])
    assert int(lines[2][-1]) + 1009 + 101 == int(total_line(text, "sum")[-1])


def test_the_histogram_has_as_many_calls_as_were_timed(live):
    text, _ = count_text(live, ["--hist", "--width", "80"], "calls")
    chart = text[text.index("\ngetppid: 1009 calls by duration\n") :].split("\n\n")[0]
    bars = [line for line in chart.splitlines() if "|" in line]
    counts = [int(line.split("|")[0].split()[-1]) for line in bars]
    assert sum(counts) == 1009 and all(len(line) <= 80 for line in text.splitlines())


# --- width ---------------------------------------------------------------------------------------


def test_the_wide_table_fits_into_80_columns(live):
    """All columns fit into them as well as they can."""
    every = [(keys, ["calls"]) for keys in KEYS] + [("pid,syscall", ["forks", "clone", 5])]
    for keys, workload in every:
        text, _ = count_text(live, ["-f", "-w", "--width", "80", "--by", keys], *workload)
        assert max(map(len, grid(text))) <= 80, keys


def in_terminal(live, columns, *options):
    """A report on a terminal of so many columns."""
    need_terminals()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    options = ["-o", os.ttyname(slave), *options]
    _, bpftruss = live.begin("calls", options=options, json=False)
    assert bpftruss.wait() == 0
    text = b""
    while b"call is missing" not in text:
        text += os.read(master, 65536)
    os.close(master)
    os.close(slave)
    return re.sub(r"\x1b\[\d*m|\r", "", text.decode())


def test_the_wide_table_widens_with_the_terminal(live):
    widths = {columns: grid(in_terminal(live, columns, "-w")) for columns in (60, 100, 200)}
    titles = {columns: len(lines[0].split()) for columns, lines in widths.items()}
    assert titles[60] < titles[100] < titles[200]
    assert all(max(map(len, lines)) <= columns for columns, lines in widths.items())


def test_a_wide_terminal_shows_every_column_of_the_release(live):
    title = grid(in_terminal(live, 250, "-w"))[0].split()
    names = "calls errors total cpu runq sleep min avg p50 p90 p99 max bytes".split()
    assert [word for word in title if word in names] == names


# --- the same command under strace -c -f ---------------------------------------------------------
# The known differences, all of them explained:
#
#   exit, exit_group   strace does not list calls that never return
#   execve             strace counts the start of the command as bpftruss does, so: none
#   rt_sigreturn       strace takes the register that it restores for a result, and may see an error
#   restarted calls    strace counts -ERESTART… as errors; the commands here have none

NOT_IN_STRACE = {"exit", "exit_group"}
ERRORS_DIFFER = {"rt_sigreturn"}
SCRIPT = "/bin/true; /bin/false; /bin/ls {0}/missing; (exit 3); /bin/cat {0}/file; exec ls -l {0}"


@pytest.fixture
def directory(tmp_path):
    """The same for both runs."""
    path = tmp_path / "fixed"
    path.mkdir()
    for name in ("file", "other", "third"):
        (path / name).write_text(name * 7)
    return path


def run_into_file(argv, path):
    """Output to files, as under bpftruss: programs make other calls for a terminal or /dev/null."""
    with open(path, "wb") as out:
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=DEADLINE_S)


def strace_counts(path, command):
    argv = ["strace", "-c", "-f", "-o", str(path)] + command
    run_into_file(argv, path.with_suffix(".out"))
    counts = {}
    for line in path.read_text().splitlines():
        match = re.match(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(\d+ +)?([a-z]\w*)$", line)
        if match and match.group(3) != "total":
            counts[match.group(3)] = (int(match.group(1)), int(match.group(2) or 0))
    assert counts, path.read_text()
    return counts


def bpftruss_counts(live, command):
    bpftruss = live.start(*command, options=["-f"])
    bpftruss.wait()
    report = Report(bpftruss.text())
    names = {row["syscall"] for row in report.rows if row["abi"] == NATIVE}
    return {name: (report.total(name), report.total(name, "errors")) for name in names}


def comparable(counts):
    return {
        name: (calls, None if name in ERRORS_DIFFER else errors)
        for name, (calls, errors) in counts.items()
        if name not in NOT_IN_STRACE
    }


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("command", [
    ["/bin/true"],
    ["/bin/ls", "{0}"],
    ["/bin/ls", "-la", "{0}"],
    ["/bin/cat", "{0}/file", "{0}/missing", "{0}/other"],
    ["/bin/cp", "{0}/file", "{0}/copy"],
    ["/bin/sh", "-c", SCRIPT],
    ["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7; do /bin/true; done"],
    ["/bin/sh", "-c", "(/bin/sh -c '/bin/true; /bin/true'; exit 4); /bin/true"],
    [program("calls")],
    [program("forks"), "clone", "23"],
    [program("execs"), "vfork"],
], ids=lambda command: " ".join(command).replace(BUILD + "/", "")[:40])  # fmt: skip
def test_calls_and_errors_are_those_of_strace(live, directory, tmp_path, command):
    command = [part.format(directory) for part in command]
    # Once before, so that what a first run leaves behind (a copied file) is there for both.
    run_into_file(command, tmp_path / "first")
    strace = strace_counts(tmp_path / "strace", command)
    assert comparable(bpftruss_counts(live, command)) == comparable(strace)
