# SPDX-License-Identifier: BSD-2-Clause
"""A kernel without task storage: the doctor says so, and what it costs; all the same it counts."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))

from harness import run  # noqa: E402


def test_there_is_no_task_storage():
    result = run("doctor")
    assert result.returncode == 0, result
    assert "note     task storage               absent" in result.stdout, result.stdout


def test_a_command_is_counted():
    result = run("-c", "true")
    assert result.returncode == 0, result
    assert "exact: no call is missing" in result.stdout + result.stderr, result
