# SPDX-License-Identifier: BSD-2-Clause
"""Asks bash what it makes of completion/bpftruss.bash, for the program that was built."""
import os
import shlex
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BPFTRUSS = os.path.join(os.environ.get("O", str(TOP / "build")), "bpftruss")


def complete(*words):
    """The words that bash offers for the last one."""
    script = """
        compopt() { :; }
        source completion/bpftruss.bash
        COMP_WORDS=(%s) COMP_CWORD=%d
        _bpftruss
        printf '%%s\\n' "${COMPREPLY[@]}"
    """ % (" ".join(map(shlex.quote, (BPFTRUSS, *words))), len(words))
    result = subprocess.run(["bash", "-euc", script], cwd=TOP, capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return set(result.stdout.split())


@pytest.mark.parametrize(
    "words, offered, withheld",
    [
        (["s"], {"snapshot", "status", "sleep"}, {"top"}),
        (["--"], {"--count", "--stacks", "--slower-than"}, {"--once", "--socket"}),
        (["-c", "-"], {"-p", "--pid"}, {"--once", "snapshot"}),
        (["-c", "--sort", "p"], {"pid", "p50", "p90", "p99"}, {"--pid", "calls"}),
        (["-c", "--columns", "calls,m"], {"calls,min", "calls,max"}, {"min"}),
        (["-c", "-t", "%f"], {"%file", "%fstat", "%fstatfs"}, {"%desc"}),
        (["-c", "-t", "open,%ne"], {"open,%network"}, {"%network"}),
        (["-c", "--by", ""], {"tid", "arg0", "comm"}, set()),
        (["-c", "--top", ""], set(), {"--top", "snapshot"}),
        (["-c", "-U", "roo"], {"root"}, set()),
        (["-c", "-o", "READ"], {"README.md"}, set()),
        (["-c", "-p", str(os.getpid())], {str(os.getpid())}, set()),
        (["top", ""], {"--once", "-i", "--interval"}, {"--csv", "--socket"}),
        (["top", "--sort", ""], {"calls", "lock", "oldest"}, {"p99", "min"}),
        (["top", "--by", "c"], {"comm"}, {"cgroup"}),
        (["daemon", "--metrics-by", "c"], {"cgroup", "comm"}, {"unit"}),
        (["snapshot", "--by", ""], {"comm", "unit"}, {"tid", "arg0"}),
        (["snapshot", "--since", ""], {"10m", "BOOT", "README.md"}, set()),
        (["history", "--step", "a"], {"all"}, set()),
        (["compare", "n"], {"now"}, set()),
        (["compare", "--"], {"--fail-over"}, {"--once"}),
        (["baseline", "s"], {"save"}, {"--replace"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_words(words, offered, withheld):
    got = complete(*words)
    assert offered <= got and not withheld & got, got


def test_an_argument_without_words_is_left_alone():
    assert complete("-c", "--min-calls", "") == set()


def test_a_command_has_its_own_words():
    assert not {"--follow", "--file"} & complete("-c", "-f", "make", "--f")
