# SPDX-License-Identifier: BSD-2-Clause
"""A kernel without task storage: the doctor says so, and what it costs; all the same it counts."""

import ctypes
import resource

import pytest

from harness import run

PR_CAPBSET_DROP = 24
CAP_SYS_RESOURCE = 24


def test_there_is_no_task_storage():
    result = run("doctor")
    assert result.returncode == 0, result
    assert "note     task storage               absent" in result.stdout, result.stdout


def test_a_command_is_counted():
    result = run("-c", "true")
    assert result.returncode == 0, result
    assert "exact: no call is missing" in result.stdout + result.stderr, result


# What a shell has by default, before systemd 240 and since: the first is too little for a probe.
@pytest.mark.parametrize("limit", [64 << 10, 8 << 20])
def test_a_limit_of_locked_memory_is_named(limit):
    def limit_memory():
        """Root of a container often may not lift it."""
        assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0) == 0
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))

    result = run("-c", "true", preexec_fn=limit_memory)
    assert result.returncode == 4, result
    assert "ulimit -l unlimited" in result.stderr and result.stderr.count("\n") == 1, result
