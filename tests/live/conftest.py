# SPDX-License-Identifier: BSD-2-Clause
"""Live tests: they attach to the running kernel. O=DIR is the build directory."""

import os
import signal
import sys

import pytest
from _pytest.runner import runtestprotocol

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

pytest.register_assert_rewrite("call_lines", "daemons", "harness", "recordings",
                               "reports")

from cgroups import cgroup_empty, cgroup_mount  # noqa: E402
from harness import BPFTRUSS, Lossy, live, live_together, slurp  # noqa: E402, F401


# A shell that starts the tests in the background has SIGINT ignored, and so would all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
# And nohup has SIGHUP ignored. Signals with a handler here are as by default in what is started.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)


# Ubuntu's is a wrapper that finds nothing for a kernel that is not Ubuntu's: make has found another.
if os.environ.get("BPFTOOL"):
    os.environ["PATH"] = "%s:%s" % (os.path.dirname(os.environ["BPFTOOL"]), os.environ["PATH"])


# SYS_ADMIN for namespaces and mounts that tests make, PERFMON and BPF.
CAPABILITIES = 1 << 21 | 1 << 38 | 1 << 39


def missing():
    if os.geteuid() != 0:
        return "needs root"
    with open("/proc/self/status") as lines:
        effective = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    if effective & CAPABILITIES != CAPABILITIES:
        return "this root lacks capabilities, as in a container: CAP_BPF, CAP_PERFMON or CAP_SYS_ADMIN"
    uid_map = "/proc/self/uid_map"
    if os.path.exists(uid_map) and slurp(uid_map).split() != [b"0", b"0", b"4294967295"]:
        return "this root lacks capabilities outside its user namespace, as in a rootless container"
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "this kernel has no BTF (/sys/kernel/btf/vmlinux)"
    return None


def pytest_configure(config):
    config.addinivalue_line("markers", "waits: most of the time for a timer of bpftruss or for another "
                            "program, minds no tests beside it, and they do not mind it")  # fmt: skip


def pytest_collection_modifyitems(items):
    reason = missing()
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))
    elif not os.path.exists(BPFTRUSS):
        pytest.exit("%s is missing: build first (make check-live)" % BPFTRUSS, returncode=1)


@pytest.fixture
def cgroup():
    """Makes cgroups below the root, a name for each level: cgroup("outer", "inner") is a path."""
    made = []

    def make(*names):
        path = cgroup_mount()
        for name in names:
            path = os.path.join(path, name)
            if not os.path.isdir(path):
                os.mkdir(path)
                made.append(path)
        return path

    yield make
    for path in reversed(made):
        cgroup_empty(path, cgroup_mount())


def attempts(config):
    """In an emulator they take long, and the last one may be skipped."""
    return 3 if config.pluginmanager.getplugin("kernels.repeats") else 4


def note_losses(item, error):
    """Notes whether the test is to be tried again, because a report had losses that a kernel is allowed."""
    repeats = item.config.pluginmanager.getplugin("kernels.repeats")
    # The kernel skips a program, or has no task storage for a child while somebody who was preempted on this CPU
    # is changing some; a module says what else a busy host may keep from its reports.
    may_be = {"switch_unseen", "untracked_tasks"} | getattr(item.module, "OF_A_BUSY_HOST", set())
    allowed = repeats.only_missed if repeats else may_be.issuperset
    item.again = isinstance(error, Lossy) and bool(allowed(error.losses))
    if item.again:
        item.warn(pytest.PytestWarning("its report had %s" % error.losses))
    return item.again and item.is_last_attempt and repeats


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    outcome = yield
    if note_losses(pyfuncitem, outcome.excinfo and outcome.excinfo[1]):
        outcome.force_exception(pytest.skip.Exception(
            "calls were missed each time, and each report said so"))


def pytest_runtest_makereport(item, call):
    """The report may be that of a fixture."""
    if call.when == "setup" and call.excinfo:
        note_losses(item, call.excinfo.value)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """
    What the kernel kept from bpftruss is in a report that says so. Then the test is tried again, with
    fixtures of its own.
    """
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    last = attempts(item.config)
    for attempt in range(1, last + 1):
        item.again, item.is_last_attempt = False, attempt == last
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not item.again:
            break
        # Those of the module may be what failed.
        item.session._setupstate.teardown_exact(item.session)
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
