# SPDX-License-Identifier: BSD-2-Clause
"""
The edition of `make core`: it counts as the whole one does, says what it lacks, and needs no library but
libbpf, libelf and zlib, neither to run nor to be built.
"""

import os
import re
import subprocess

import pytest

from harness import BUILD, TOP, must_say_exact, need, program, slurp

CORE = os.path.join(BUILD, "bpftruss-core")
LIBRARIES = {"libbpf", "libelf", "libz"}
# Of the C library, and what libelf of some systems is linked with.
GIVEN = {"linux-vdso", "libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64", "libzstd", "liblzma", "libbz2"}
HEADERS = re.compile(
    r"#include <((jansson|ini|sqlite3|microhttpd|ncurses\w*|seccomp|dwarf|sys/capability)\.h"
    r"|(gnutls|libiberty|elfutils)/)"
)


def run(*words):
    if not os.path.exists(CORE):
        pytest.skip("make core was not run")
    return subprocess.run([CORE, *words], capture_output=True, text=True, timeout=120, check=False)


def test_it_counts(tmp_path):
    result = run("-c", "-o", str(tmp_path / "report"), program("calls"))
    report = slurp(tmp_path / "report").decode()
    assert result.returncode == 0, result.stderr
    assert re.search(r"^getppid +\S+ +1009\b", report, re.M), report
    must_say_exact(report)


def test_it_prints_calls_and_tables(tmp_path):
    result = run("-t", "getppid", program("calls"))
    assert result.stderr.count("getppid()") == 1009, result.stderr[-500:]
    assert "1009 calls shown" in result.stderr
    result = run("-c", "--csv", "--by", "comm,syscall", "-o", str(tmp_path / "csv"), program("calls"))
    assert result.returncode == 0, result.stderr
    assert re.search(r"calls,getppid,.*\b1009\b", slurp(tmp_path / "csv").decode())


def test_it_says_what_it_lacks():
    assert "(core, without verbs, JSON and call stacks)" in run("--version").stdout
    for words in (["top"], ["doctor"], ["daemon"], ["merge"], ["-c", "--json", "true"],
                  ["-c", "--format", "json", "true"], ["-c", "--stacks", "true"], ["-k", "true"],
                  ["-c", "--flame", "x.svg", "true"], ["--in-flight", "-a"],
                  ["--format", "json", "true"]):  # fmt: skip
        result = run(*words)
        assert result.returncode == 2 and result.stderr.count("\n") == 1, words
        assert "is not in this bpftruss, which is core" in result.stderr, words


def test_it_needs_no_other_library():
    run("--version")
    listed = subprocess.run([need("ldd"), CORE], capture_output=True, text=True, check=True).stdout
    names = {os.path.basename(line.split()[0]).split(".so")[0] for line in listed.splitlines()}
    assert LIBRARIES <= names and names <= LIBRARIES | GIVEN


def sources():
    """What it is compiled of: each source, with the headers of ours that it includes."""
    argv = ["make", "-C", TOP, "-nB", "V=1", "O=" + BUILD, "core"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    for source in re.findall(r" -c (src/\S+\.c) ", said):
        with open(os.path.join(BUILD, source[:-2] + ".d")) as file:
            yield source, re.findall(r"[^\s:\\]+\.[ch](?!\S)", file.read())


def test_it_needs_no_other_header():
    run("--version")
    found = dict(sources())
    for source, files in found.items():
        for path in {source, *files}:
            headers = HEADERS.search(slurp(os.path.join(TOP, path)).decode())
            assert not headers, (source, path, headers)
    assert "src/collect/collector.c" in found and "src/cmd/editions/core.c" in found
    for folder in ("daemon/daemon", "elf", "json", "store", "tui", "metrics"):
        assert not [source for source in found if source.startswith("src/" + folder)], folder
