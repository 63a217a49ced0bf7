# SPDX-License-Identifier: BSD-2-Clause
"""
All pairs of options of single calls: a pair works, and the sum holds, or it is refused in one sentence.
A command has as many options as go together, so that a few commands have all pairs.
"""

import itertools
import json
import subprocess

import pytest

from call_lines import CONCLUSION
from harness import BPFTRUSS

# It writes nothing: with --max-events it goes on beside the last line.
COMMAND = ["sh", "-c", "cat /dev/null /no/such/file <&- 2>/dev/null; exit 0"]

OPTIONS = [
    "--failed", "-z", "-t %file", "--path /dev/*", "--fd 3", "--slower-than 1h", "--max-events 3",
    "-s 0", "-v", "-x", "--dump 0", "-l", "--elapsed", "-D", "-E", "--last 5", "-f", "-C",
    "--json", "--format strace",
]  # fmt: skip

OF_TRUSS = ("--dump 0", "-l", "--elapsed", "-D", "-E")
REFUSED = {
    *((option, form) for option in OF_TRUSS for form in ("--json", "--format strace")),
    ("--failed", "-z"), ("--max-events 3", "--last 5"), ("--json", "--format strace"),
}  # fmt: skip



def sets_of_options(size=5):
    """Sets of options that may stand together, so many that each pair that works is in one of them."""
    missing = [pair for pair in itertools.combinations(OPTIONS, 2) if pair not in REFUSED]
    while missing:
        chosen = list(missing[0])
        for option in OPTIONS:
            pairs = [tuple(sorted((option, other), key=OPTIONS.index)) for other in chosen]
            if len(chosen) < size and REFUSED.isdisjoint(pairs) and set(pairs) & set(missing):
                chosen.append(option)
        chosen.sort(key=OPTIONS.index)
        yield tuple(chosen)
        missing = [pair for pair in missing if not set(pair) <= set(chosen)]


def run(out, options):
    words = [word for option in options for word in option.split(" ", 1)]
    return subprocess.run([BPFTRUSS, "-o", out, *words, *COMMAND], capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip


@pytest.mark.parametrize("pair", sorted(REFUSED), ids=" ".join)
def test_a_pair_that_has_no_meaning_is_refused(tmp_path, pair):
    out = tmp_path / "out"
    result = run(out, pair)
    assert result.returncode == 2 and not out.exists() and not result.stdout
    assert result.stderr.startswith("bpftruss: ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("options", list(sets_of_options()), ids=" ".join)
def test_options_that_go_together_work(tmp_path, options):
    out = tmp_path / "out"
    result = run(out, options)
    assert result.returncode == 0, result.stderr
    text = out.read_text()
    if "--last 5" not in options:
        (counts,) = CONCLUSION.findall(result.stderr)
        shown, left_out, unread, lost, counted = (int(count or 0) for count in counts)
        assert shown + left_out + unread + lost == counted
    if "--json" in options:
        objects = [json.loads(line) for line in text.splitlines()]
        assert all("syscall" in one or "not_shown" in one for one in objects[:-1])
        assert ("-C" in options) == bool(objects and "rows" in objects[-1])
    elif "-C" in options:
        assert ("% time" in text) == ("--format strace" in options)
        assert ("usr time:" in text) != ("--format strace" in options)
