# SPDX-License-Identifier: BSD-2-Clause
"""All pairs of options of single calls: a pair works, and the sum holds, or it is refused in one sentence."""

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


@pytest.mark.parametrize("pair", list(itertools.combinations(OPTIONS, 2)), ids=" ".join)
def test_a_pair_works_or_is_refused(tmp_path, pair):
    out = tmp_path / "out"
    words = [word for option in pair for word in option.split(" ", 1)]
    result = subprocess.run([BPFTRUSS, "-o", out, *words, *COMMAND], capture_output=True, text=True,
                            timeout=60, check=False)
    if pair in REFUSED:
        assert result.returncode == 2 and not out.exists() and not result.stdout
        assert result.stderr.startswith("bpftruss: ") and result.stderr.count("\n") == 1
        return
    assert result.returncode == 0, result.stderr
    text = out.read_text()
    if "--last 5" not in pair:
        (counts,) = CONCLUSION.findall(result.stderr)
        shown, left_out, unread, lost, counted = (int(count or 0) for count in counts)
        assert shown + left_out + unread + lost == counted
    if "--json" in pair:
        objects = [json.loads(line) for line in text.splitlines()]
        assert all("syscall" in one or "not_shown" in one for one in objects[:-1])
        assert ("-C" in pair) == bool(objects and "rows" in objects[-1])
    elif "-C" in pair:
        assert ("% time" in text) == ("--format strace" in pair)
        assert ("usr time:" in text) != ("--format strace" in pair)
