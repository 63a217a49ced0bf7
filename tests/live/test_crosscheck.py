# SPDX-License-Identifier: BSD-2-Clause
"""
The same deterministic command under strace -c -f and under bpftruss -c -f: the same calls and the
same errors, per system call. The known differences, all of them explained:

  exit, exit_group   strace does not list calls that never return
  execve             strace counts the start of the command as bpftruss does, so: none
  rt_sigreturn       strace takes the register that it restores for a result, and may see an error
  restarted calls    strace counts -ERESTART… as errors; the commands here have none
"""

import re
import shutil
import subprocess

import pytest

from harness import BUILD, DEADLINE_S, NATIVE, Report, program

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")

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
