# SPDX-License-Identifier: BSD-2-Clause
"""What single calls point at is shown, also where it was not in memory when they began."""

import platform
import re

from harness import program, run

LEGEND = 'bpftruss: "?" after a value: it was read when the call had ended'
NAME = r'"/no/such/folder/(\d+)/of/two/pages"'
LINE = re.compile(r'^(?:openat\(AT_FDCWD, |open\(|unlink\()' + NAME + r'(\??)')


def brings_memory_in():
    """Since 7.2 programs on system calls may sleep."""
    return tuple(int(part) for part in platform.release().split(".")[:2]) >= (7, 2)


def test_names_that_were_not_in_memory_are_shown(tmp_path):
    out = tmp_path / "calls"
    result = run("-o", out, "-t", "open,unlink", program("evicted"), 40)
    assert result.returncode == 0
    lines = out.read_text().splitlines()
    found = [match for match in map(LINE.match, lines) if match]
    assert [int(match[1]) for match in found] == list(range(40)), lines[:8]
    late = [match for match in found if match[2]]
    if brings_memory_in():
        assert not late and LEGEND not in result.stderr
    else:
        # They could be read when the call had ended, and are marked.
        assert len(late) == 40 and result.stderr.count(LEGEND) == 1
