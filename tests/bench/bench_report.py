# SPDX-License-Identifier: BSD-2-Clause
"""What the benchmark makes of its samples: the table, the targets, and the machine they are from.

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
TRACED, UNTRACED = "bpftruss, traced", "bpftruss, not traced"


class Figures:
    """Samples reduced to one number a variant and key; None for what was not measured."""

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


def best(samples):
    return Figures(samples, min)


# Title, format, value of a variant.
COLUMNS = [
    ("ns/call", "{:.0f}", lambda s, name: medians(s).value(name, "call")),
    ("best", "{:.0f}", lambda s, name: best(s).value(name, "call")),
    ("added", "{:.0f}", lambda s, name: medians(s).added(name, "call")),
    ("x empty", "{:.2f}", lambda s, name: medians(s).added_over((name, "call"), (EMPTY, "call"))),
    ("2 threads", "{:.0f}", lambda s, name: medians(s).value(name, "pair")),
    ("pipe ns", "{:.0f}", lambda s, name: medians(s).value(name, "pipe")),
    ("added", "{:.0f}", lambda s, name: medians(s).added(name, "pipe")),
    ("Apache us CPU", "{:.1f}", lambda s, name: medians(s).value(name, "cpu")),
    ("req/s", "{:.0f}", lambda s, name: medians(s).value(name, "http")),
    ("% of bare", "{:.0f}", lambda s, name: ratio(
        medians(s).value(name, "http"), (medians(s).value(BARE, "http") or 0) / 100)),
]

# Added cost of what, over that of what, at most.
TARGETS = [
    ("traced / two timestamps", (TRACED, "call"), (TIMESTAMPS, "call"), 1.25),
    ("traced / syscount -L", (TRACED, "call"), (SYSCOUNT, "call"), 0.65),
    ("not traced / empty programs", (UNTRACED, "call"), (EMPTY, "call"), 1.15),
    ("traced, two threads at once / one", (TRACED, "pair"), (TRACED, "call"), 1.1),
]


def cell(form, value):
    return "-" if value is None else form.format(value)


def table(samples, names, skipped):
    rows = [["", *(title for title, _, _ in COLUMNS)]]
    for name in names:
        if name in skipped:
            rows.append([name, skipped[name]])
        else:
            rows.append([name, *(cell(form, value(samples, name)) for _, form, value in COLUMNS)])
    return rows


def targets(samples):
    rows = [["added ns/call of", "measured", "at most", ""]]
    for what, above, below, limit in TARGETS:
        value = medians(samples).added_over(above, below)
        verdict = "not measured" if value is None else "met" if value <= limit else "NOT met"
        rows.append([what, cell("{:.2f}", value), f"{limit:.2f}", verdict])
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
    rows_print(table(samples, names, skipped), markdown)
    rows_print(targets(samples), markdown)
