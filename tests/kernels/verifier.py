# SPDX-License-Identifier: BSD-2-Clause
"""
Measures what a kernel's verifier examines, program by program, and reads and writes the table in
docs/internals/VERIFIER.md. A program may grow by a fifth before its row must be written again, on purpose.
"""

import os
import platform
import re
import subprocess

MODES = {
    "-c": [],
    "-c -n": ["names"],
    "-c --by arg0": ["arg0"],
    "-c --by path": ["path"],
    "-c --by file": ["file"],
    "-c --stacks": ["stacks"],
    "-c --stacks --kernel-stacks": ["stacks", "kernel-stacks"],
    "-c --exemplars": ["slowest"],
    "single calls": ["calls"],
    "single calls, --stack-trace --path --fd --failed --dump": ["stacks", "calls", "conditions"],
    "daemon, record = yes": ["names", "stacks", "file", "calls"],
}
MAY_GROW_PCT = 20
# Another one makes other programs of the same source.
COMPILER = "clang 19"
# Below this, a compiler's whim is a fifth.
SMALL_INSNS = 1000

HEAD = """# What the verifier examines

These are the numbers of instructions and states that each kernel's verifier examined before it accepted a
program, for each configuration in which bpftruss loads its programs. A kernel gives up at 1,000,000
instructions. `make veristat` prints the numbers for the running kernel; `scripts/test-kernels --verifier`
measures kernels in an emulator and writes their columns. Tests fail if a program exceeds its number here by
more than a fifth: then find out why, or write the table again. Programs below 1,000 are not checked. All
numbers are for %s; programs built by another compiler are not compared with them.
""" % COMPILER


def compiler_of(build):
    """Returns the compiler of a build's programs: clang 19."""
    with open(os.path.join(build, "bpf", "truss.bpf.o"), "rb") as built:
        found = re.search(rb"clang version (\d+)", built.read())
    return "clang " + found[1].decode() if found else "an unknown compiler"


def running_kernel():
    """Returns the kernel's version as the columns are called: 6.12."""
    return re.match(r"\d+\.\d+", platform.release())[0]


def measure(tool, mode):
    """{program: (instructions, states)}; None and a sentence when the kernel takes none."""
    result = subprocess.run([tool] + MODES[mode], capture_output=True, text=True, check=False)
    if result.returncode:
        return None, result.stderr.strip()
    lines = [line.split() for line in result.stdout.splitlines()]
    return {name: (int(insns), int(states)) for name, insns, states in lines}, None


def parse(text):
    """{mode: {kernel: {program: (instructions, states)}}} of such a document."""
    found, mode, kernels = {}, None, []
    for line in text.splitlines():
        heading = re.match(r"## `(.*)`$", line)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if heading:
            mode = found.setdefault(heading[1], {})
        elif line.startswith("| Program"):
            kernels = cells[1:]
        elif line.startswith("| `"):
            for kernel, cell in zip(kernels, cells[1:]):
                if cell != "-":
                    numbers = tuple(int(n) for n in cell.split(" / "))
                    mode.setdefault(kernel, {})[cells[0].strip("`")] = numbers
    return found


def render(table):
    text = HEAD
    for mode in MODES:
        columns = table.get(mode, {})
        kernels = sorted(columns, key=lambda name: ([*map(int, re.findall(r"\d+", name))], name))
        programs = sorted({name for column in columns.values() for name in column})
        text += "\n## `%s`\n\n" % mode
        text += "| Program | %s |\n|---|%s\n" % (" | ".join(kernels), "--:|" * len(kernels))
        for name in programs:
            cells = [columns[kernel].get(name) for kernel in kernels]
            cells = ["%d / %d" % cell if cell else "-" for cell in cells]
            text += "| `%s` | %s |\n" % (name, " | ".join(cells))
    return text


def grown(measured, known):
    """A sentence for each program that needs too much more than is known of it, or is not known."""
    found = []
    for name, (insns, _) in sorted(measured.items()):
        if name not in known:
            found.append("%s is not in the table" % name)
        elif insns > max(known[name][0] * (100 + MAY_GROW_PCT) / 100, SMALL_INSNS):
            found.append("%s: %d instructions, %d in the table" % (name, insns, known[name][0]))
    return found


def write(path, kernels):
    """Sets the columns of {kernel: {mode: {program: numbers}}}; others stay."""
    table = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            table = parse(file.read())
    for kernel, modes in kernels.items():
        for mode, measured in modes.items():
            table.setdefault(mode, {})[kernel] = measured
    with open(path, "w", encoding="utf-8") as file:
        file.write(render(table))
