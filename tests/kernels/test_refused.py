# SPDX-License-Identifier: BSD-2-Clause
"""A kernel without what bpftruss needs: it says so at once, in one sentence."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))

from harness import DEADLINE_S, program, run  # noqa: E402


def test_counting_is_refused_with_one_sentence_that_says_what_is_missing():
    result = run("-c", program("calls"))
    assert result.returncode == 4, result
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert "task storage" in result.stderr


def test_the_doctor_names_what_is_missing():
    result = run("doctor")
    assert result.returncode == 4, result
    assert "task storage" in result.stdout, result.stdout


def test_a_refused_command_is_not_run():
    result = run("-c", "touch", "/tmp/was-run")
    assert result.returncode == 4 and not os.path.exists("/tmp/was-run"), result


def test_this_machine_is_sound():
    """Or all of the above would say nothing: a workload runs to its end without bpftruss."""
    subprocess.run([program("calls")], stdout=subprocess.PIPE, timeout=DEADLINE_S, check=True)
