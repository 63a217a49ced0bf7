# SPDX-License-Identifier: BSD-2-Clause
"""
Writes to docs/internals/KERNELS.md what kernels' tests came to. Text below KEPT is left alone.
"""

import os
import re

from debian_kernels import TOP, read_kernels

PATH = os.path.join(TOP, "docs", "internals", "KERNELS.md")
KEPT = "## Facts pinned"
OUTCOMES = ("passed", "skipped", "failed")
NO_RESULTS = "kernels/none"  # the group of a kernel that came to no end

HEAD = """# Kernels

Results of the live tests on kernels of Debian, and of Ubuntu where Debian has none so old, each
booted with two processors in an emulator. This command writes the tables:

    make test-kernels TABLE=1

It runs all kernels in [tests/kernels/kernels](../../tests/kernels/kernels), takes an hour, and
replaces the rows of the kernels that it ran; `KERNELS="6.1 7.2"` chooses some. `make check-kernels`
runs fewer tests on Debian's oldest and newest kernel, and so does the test of every change.
`make check-live` tests the running kernel.

## Results

Each cell has the passed / skipped / failed tests of a file below `tests/`; `-` means that the file is
not run on this kernel. The mode of preemption is what the kernel itself reports.
"""
# Heading, and the sentence below it.
NOTES = {
    "failed": ("## Failed", ""),
    "skipped": ("## Skipped", "Each skipped test and its reason:"),
}
LEFT_OUT = """## Left out

Tests of these files that are not run in an emulator:
"""


def group_of(classname):
    """live.test_pairing, as pytest calls a file: live/pairing."""
    folder, _, name = classname.rpartition(".")
    return folder.replace(".", "/") + "/" + name.replace("test_", "")


class Column:
    """Counts what the tests of one kernel came to."""

    def __init__(self, version, preempts="-"):
        self.version = version
        self.preempts = preempts
        self.counts = {}  # {group: {outcome: number}}
        self.notes = []  # (outcome, test, reason)

    def add(self, group, test, outcome, reason):
        counts = self.counts.setdefault(group, dict.fromkeys(OUTCOMES, 0))
        counts[outcome] += 1
        if outcome != "passed":
            # A line of the document, whatever it says.
            reason = " ".join(reason.replace("`", "'").split())[:160]
            self.notes.append((outcome, test, reason))


# --- the document as it is -----------------------------------------------------------------------


def split_cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def parse_row(groups, cells):
    column = Column(cells[1], cells[2])
    for group, cell in zip(groups, cells[3:]):
        if cell != "-":
            numbers = [int(number) for number in cell.split("/")]
            column.counts[group] = dict(zip(OUTCOMES, numbers))
    return column


def parse(text):
    """{kernel: Column} of a document."""
    columns, groups, outcome = {}, [], None
    for line in text.splitlines():
        headings = [name for name, (heading, _) in NOTES.items() if line == heading]
        note = re.match(r"- `(.*)`: (.*) \(on ([^()]*)\)$", line)
        if line.startswith("## "):
            outcome = headings[0] if headings else None
        elif line.startswith("| Kernel "):
            groups = [cell.strip("`") for cell in split_cells(line)[3:]]
        elif line.startswith("| ") and groups:
            cells = split_cells(line)
            columns[cells[0]] = parse_row(groups, cells)
        elif note and outcome:
            for kernel in note[3].split(", "):
                columns[kernel].notes.append((outcome, note[1], note[2]))
    return columns


# --- the document as it is to be -----------------------------------------------------------------


def render_rows(rows):
    """A table whose columns also line up as plain text."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if i < 3 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("| " + " | ".join(cells) + " |")
        if number == 0:
            rules = ["-" * width + ("-" if i < 3 else ":") for i, width in enumerate(widths)]
            lines.append("|" + "|".join("-" + rule for rule in rules) + "|")
    return "\n".join(lines) + "\n"


def render_results(columns):
    groups = []
    for column in columns.values():
        groups += [group for group in column.counts if group not in groups]
    groups.sort()
    rows = [["Kernel", "Version", "Preemption"] + ["`%s`" % group for group in groups]]
    for kernel, column in columns.items():
        cells = [column.counts.get(group) for group in groups]
        cells = ["/".join(str(cell[o]) for o in OUTCOMES) if cell else "-" for cell in cells]
        rows.append([kernel, column.version, column.preempts] + cells)
    return render_rows(rows)


def render_notes(columns, outcome):
    heading, sentence = NOTES[outcome]
    found = {}
    for kernel, column in columns.items():
        for known, test, reason in column.notes:
            if known == outcome:
                found.setdefault((test, reason), []).append(kernel)
    if not found:
        return ""
    lines = [f"- `{test}`: {why} (on {', '.join(on)})" for (test, why), on in sorted(found.items())]
    return "\n".join(["", heading, ""] + ([sentence, ""] if sentence else []) + lines) + "\n"


def left_out(expected):
    """(what pytest is told to leave out, why) of a file of tests/kernels, and of those it includes."""
    found, comment, in_comment = [], [], False
    with open(os.path.join(TOP, "tests/kernels", expected), encoding="utf-8") as lines:
        for line in lines:
            is_comment = line.startswith("#") and not line.startswith("# SPDX-")
            if is_comment:
                comment = (comment if in_comment else []) + [line[1:].strip()]
            in_comment = is_comment
            if line.startswith("include "):
                found += left_out(line.split()[1])
            match = re.match(r"--deselect (\S+)|(-k) \"(.*)\"", line)
            if match:
                what = match[1] or match[2] + " " + match[3]
                found.append((what, " ".join(comment).rstrip(".")))
    return found


def render_left_out(known):
    found = {}
    for kernel, row in known.items():
        for what, why in left_out(row.expected):
            found.setdefault((what, why), []).append(kernel)
    lines = [f"- `{what}`: {why} (on {', '.join(on)})" for (what, why), on in found.items()]
    return "\n" + LEFT_OUT + "\n" + "\n".join(lines) + "\n"


def write(measured):
    """Sets the rows of {kernel: Column}; others stay, but for those that are no row any more."""
    with open(PATH, encoding="utf-8") as file:
        text = file.read()
    results, heading, kept = text.partition(KEPT)
    columns, known = parse(results), read_kernels()
    columns.update(measured)
    columns = {kernel: columns[kernel] for kernel in known if kernel in columns}
    text = HEAD + "\n" + render_results(columns)
    for outcome in NOTES:
        text += render_notes(columns, outcome)
    text += render_left_out(known)
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text + "\n" + heading + kept)
