# SPDX-License-Identifier: BSD-2-Clause
"""Live tests: they attach to the running kernel. O=DIR is the build directory."""

import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

pytest.register_assert_rewrite("faults", "harness", "reports")

from cgroups import Cgroups  # noqa: E402
from harness import BPFTRUSS, Live  # noqa: E402


# A shell that starts the tests in the background has SIGINT ignored, and so would all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def missing():
    if os.geteuid() != 0:
        return "needs root"
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "this kernel has no BTF (/sys/kernel/btf/vmlinux)"
    return None


def pytest_collection_modifyitems(items):
    reason = missing()
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))
    elif not os.path.exists(BPFTRUSS):
        pytest.exit("%s is missing: build first (make check-live)" % BPFTRUSS, returncode=1)


@pytest.fixture
def live(tmp_path):
    things = Live(tmp_path)
    yield things
    things.close()


@pytest.fixture
def cgroup():
    """Makes cgroups below the root: cgroup("outer", "inner") is a path."""
    cgroups = Cgroups()
    yield cgroups.make
    cgroups.close()
