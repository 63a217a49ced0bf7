# SPDX-License-Identifier: BSD-2-Clause
"""
The wide table and its histograms: columns and the width they have, calls that wait for work, and sums
that are those of the JSON.
"""

import fcntl
import os
import pty
import re
import struct
import termios

from harness import need_terminals
from reports import KEYS, count_both, count_text


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
    working, waiting = total_line(text, "working"), total_line(text, "waiting")
    assert int(working[1]) + int(waiting[1]) == report.sum("calls")
    assert int(working[2]) + int(waiting[2]) == report.sum("errors")
    assert int(waiting[1]) == report.total("wait4") == 11
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


# --- rows and histograms -------------------------------------------------------------------------


def test_the_wide_table_names_its_others(live):
    text, table = count_text(live, ["--sort", "calls", "--top", 2, "--columns", "calls"], "calls")
    lines = table_lines(text)
    assert [line[0] for line in lines[:2]] == ["getppid", "getuid"]
    assert lines[2][0].startswith("(") and "others)" in " ".join(lines[2])
    assert int(lines[2][-1]) + 1009 + 101 == int(total_line(text, "working")[-1])


def test_the_histogram_has_as_many_calls_as_were_timed(live):
    text, _ = count_text(live, ["--hist"], "calls")
    chart = text[text.index("\ngetppid: 1009 calls by duration\n") :].split("\n\n")[0]
    bars = [line for line in chart.splitlines() if "|" in line]
    counts = [int(line.split("|")[0].split()[-1]) for line in bars]
    assert sum(counts) == 1009 and all(len(line) <= 80 for line in text.splitlines())


# --- width ---------------------------------------------------------------------------------------


def test_the_wide_table_has_80_columns_where_there_is_no_terminal(live):
    """All columns fit into them as well as they can."""
    every = [(keys, ["calls"]) for keys in KEYS] + [("pid,syscall", ["forks", "clone", 5])]
    for keys, workload in every:
        text, _ = count_text(live, ["-f", "-w", "--by", keys], *workload)
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
