# SPDX-License-Identifier: BSD-2-Clause
"""
Turns the benchmark's samples into a report: the table, the targets, and the machine they are from.

samples is {variant: [{key: value, ...} of each round, ...]}. A figure is the median of the rounds;
the best round stands beside it, to tell noise from cost.
"""
import datetime
import os
import platform
import re
import shutil
import statistics
import subprocess
from pathlib import Path

BARE, EMPTY, TIMESTAMPS, SYSCOUNT = "bare", "empty programs", "two timestamps", "syscount -L"
COUNTING = "calls and latencies"
TRACED, UNTRACED, OUTSIDE = "bpftruss, traced", "bpftruss, not traced", "bpftruss -t, another call"
STACKED, STACKID = "bpftruss --stacks", "bpf_get_stackid"
USTACK = "bpftrace @[ustack]"
EACH, EACH_NULL = "bpftruss, each call to a file", "bpftruss, each call to /dev/null"
EACH_OUT, BY_PATH = "bpftruss, each call left out", "bpftruss --by path"
RECORDED = "bpftruss --last"
SWITCHES = "empty programs, also at switches"


class Figures:
    """Samples reduced to one number per variant and key; None for a key that was not measured."""

    def __init__(self, samples, reduce):
        self.samples, self.reduce = samples, reduce

    def value(self, variant, key):
        values = [sample[key] for sample in self.samples.get(variant, []) if key in sample]
        return self.reduce(values) if values else None

    def added(self, variant, key):
        value, bare = self.value(variant, key), self.value(BARE, key)
        return None if value is None or bare is None else value - bare

    def added_over(self, above, below):
        return ratio(self.added(*above), self.added(*below))


def ratio(above, below):
    return None if above is None or not below else above / below


def medians(samples):
    return Figures(samples, statistics.median)


# Title, format, value of a variant.
SERVER_COLUMNS = [
    ("Apache us CPU", "{:.1f}", lambda s, name: medians(s).value(name, "cpu")),
    ("req/s", "{:.0f}", lambda s, name: medians(s).value(name, "http")),
    ("% of bare", "{:.0f}", lambda s, name: percent_of_bare(s, name)),
]
COLUMNS = [
    ("ns/call", "{:.0f}", lambda s, name: medians(s).value(name, "call")),
    ("best", "{:.0f}", lambda s, name: Figures(s, min).value(name, "call")),
    ("added", "{:.0f}", lambda s, name: medians(s).added(name, "call")),
    ("x empty", "{:.2f}", lambda s, name: medians(s).added_over((name, "call"), (EMPTY, "call"))),
    ("2 threads", "{:.0f}", lambda s, name: medians(s).value(name, "pair")),
    ("pipe ns", "{:.0f}", lambda s, name: medians(s).value(name, "pipe")),
    ("added", "{:.0f}", lambda s, name: medians(s).added(name, "pipe")),
    *SERVER_COLUMNS,
]

# A stack costs what a tool costs more with it than without.
STACK_COLUMNS = [
    ("ns/call", "{:.0f}", lambda s, name: medians(s).value(name, "deep")),
    ("added", "{:.0f}", lambda s, name: medians(s).added(name, "deep")),
    *SERVER_COLUMNS,
]
STACK_ROWS = [BARE, EMPTY, TRACED, STACKED, STACKID, USTACK, "bpftrace @[dw_ustack]"]

# Tools that show each call, with what it was about.
EACH_COLUMNS = [
    *COLUMNS[:1], COLUMNS[2],
    ("openat ns", "{:.0f}", lambda s, name: medians(s).value(name, "open")),
    ("added", "{:.0f}", lambda s, name: medians(s).added(name, "open")),
    *SERVER_COLUMNS,
]
EACH_ROWS = [BARE, TRACED, BY_PATH, EACH_OUT, RECORDED, EACH_NULL, EACH, "bpftrace, printf", "perf trace",
             "strace -f", "sysdig"]


def percent_of_bare(samples, name):
    return ratio(medians(samples).value(name, "http"), (medians(samples).value(BARE, "http") or 0) / 100)


def stack_cost(samples):
    """Returns the cost of 20 frames, over that of bpf_get_stackid() in their place."""
    figures = medians(samples)
    parts = [figures.added(name, "deep") for name in (STACKED, TRACED, STACKID, EMPTY)]
    return None if None in parts else ratio(parts[0] - parts[1], parts[2] - parts[3])


def switch_cost(samples):
    """Two switches of an untraced round trip, over empty programs there, without the cost of four calls."""
    figures = medians(samples)
    parts = [figures.added(name, key) for key in ("pipe", "call") for name in (UNTRACED, SWITCHES)]
    return None if None in parts else (parts[0] - parts[1] - 4 * (parts[2] - parts[3])) / 2


def left_out_cost(samples):
    """What a call that a condition leaves out costs over one that is only counted."""
    figures = medians(samples)
    parts = [figures.value(name, "call") for name in (EACH_OUT, TRACED)]
    return None if None in parts else parts[0] - parts[1]


def added_over(above, below):
    return lambda samples: medians(samples).added_over(above, below)


AT_MOST, AT_LEAST = "at most", "at least"

# Each target has a name, a way to get it from the samples, and a limit.
TARGETS = [
    ("added: traced / two timestamps", added_over((TRACED, "call"), (TIMESTAMPS, "call")),
     AT_MOST, 1.25),
    ("added: traced / syscount -L", added_over((TRACED, "call"), (SYSCOUNT, "call")),
     AT_MOST, 0.65),
    ("added: not traced / empty programs", added_over((UNTRACED, "call"), (EMPTY, "call")),
     AT_MOST, 1.15),
    ("added: a call outside -t / empty programs", added_over((OUTSIDE, "call"), (EMPTY, "call")),
     AT_MOST, 1.25),
    ("ns of a switch that is not traced, over an empty program", switch_cost, AT_MOST, 10),
    ("added: traced, two threads at once / one", added_over((TRACED, "pair"), (TRACED, "call")),
     AT_MOST, 1.1),
    ("a stack of 20 frames / bpf_get_stackid", stack_cost, AT_MOST, 1.5),
    ("Apache's req/s with all calls stacked, % of bare",
     lambda samples: percent_of_bare(samples, STACKED), AT_LEAST, 65),
    ("seconds until all running programs have tables",
     lambda samples: medians(samples).value(STACKED, "start"), AT_MOST, 2),
    ("MiB of these tables", lambda samples: medians(samples).value(STACKED, "tables"),
     AT_MOST, 16),
    ("added: each call to a file / traced", added_over((EACH, "call"), (TRACED, "call")), AT_MOST, 2.5),
    ("added: each openat to a file / traced", added_over((EACH, "open"), (TRACED, "open")), AT_MOST, 4),
    ("ns of a call left out, over a traced one", left_out_cost, AT_MOST, 40),
    ("Apache's req/s with each call to a file, % of bare",
     lambda samples: percent_of_bare(samples, EACH), AT_LEAST, 75),
]


def cell(form, value):
    return "-" if value is None else form.format(value)


def table(columns, samples, names, skipped):
    rows = [["", *(title for title, _, _ in columns)]]
    for name in names:
        if name in skipped:
            rows.append([name, skipped[name]])
        else:
            rows.append([name, *(cell(form, value(samples, name)) for _, form, value in columns)])
    return rows


def targets(samples):
    rows = [["", "measured", "limit", ""]]
    for what, measure, kind, limit in TARGETS:
        value = measure(samples)
        met = value is not None and (value <= limit if kind == AT_MOST else value >= limit)
        verdict = "not measured" if value is None else "met" if met else "NOT met"
        rows.append([what, cell("{:.2f}", value), f"{kind} {limit:g}", verdict])
    return rows


def rows_print(rows, markdown):
    """First column to the left, the rest to the right; a short row is a remark."""
    columns = len(rows[0])
    full = [row for row in rows if len(row) == columns]
    widths = [max(len(row[i]) for row in full) for i in range(columns)]
    widths[0] = max(len(row[0]) for row in rows)
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])]
        if len(row) == columns:
            cells += [text.rjust(width) for text, width in zip(row[1:], widths[1:])]
        else:
            cells += row[1:] + [""] * (columns - len(row)) * markdown
        print("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells).rstrip())
        if markdown and number == 0:
            print("|" + "|".join([":---"] + ["---:"] * (columns - 1)) + "|")
    print()


def first_line(*argv):
    if not shutil.which(argv[0]):
        return None
    run = subprocess.run(argv, capture_output=True, text=True, timeout=10)
    return (run.stdout + run.stderr).strip().split("\n")[0]


def machine(bpftruss):
    found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
    tools = [first_line(bpftruss, "--version"), first_line("syscount", "-V"),
             first_line("bpftrace", "--version"), first_line("perf", "version"),
             first_line("strace", "-V"), first_line("apache2", "-v")]
    return [datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            f"{platform.system()} {platform.release()} {platform.machine()}",
            f"{found[1] if found else platform.processor()}, "
            f"{len(os.sched_getaffinity(0))} CPUs",
            "; ".join(tool for tool in tools if tool)]


def report_print(samples, names, skipped, bpftruss, markdown):
    for line in machine(bpftruss):
        print(("- " if markdown else "") + line)
    print()
    calls = [name for name in names
             if name in (BARE, EMPTY, TRACED) or name not in STACK_ROWS + EACH_ROWS]
    rows_print(table(COLUMNS, samples, calls, skipped), markdown)
    rows_print(table(STACK_COLUMNS, samples, STACK_ROWS, skipped), markdown)
    rows_print(table(EACH_COLUMNS, samples, EACH_ROWS, skipped), markdown)
    rows_print(targets(samples), markdown)
