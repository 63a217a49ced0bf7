# SPDX-License-Identifier: BSD-2-Clause
"""
Tests what the capabilities of systemd/bpftruss.service, and those of stacks.conf beside it, are
for: with just these another user counts as root does, and each that is taken away is missed.
"""

import os
import re
import resource
import shutil
import subprocess

import pytest

from harness import TOP, Bpftruss, Process, must_include, readable_copy, slurp, until
from stacks import Waiting, fixture, judge, must_be_complete

COUNTING = ["bpf", "perfmon"]
STACKS = COUNTING + ["sys_ptrace", "dac_read_search", "checkpoint_restore"]
KERNEL_STACKS = STACKS + ["syslog"]
USER = "12345"  # nobody's

pytestmark = pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")


def confined(capabilities, *command):
    """A command as that user with these capabilities, which it cannot get more of."""
    wanted = "".join(",+" + name for name in capabilities)
    sets = ["--%s=-all%s" % (name, wanted) for name in ("inh-caps", "ambient-caps", "bounding-set")]
    identity = ["--reuid=" + USER, "--regid=" + USER, "--clear-groups", "--no-new-privs"]
    return ["setpriv", *identity, *sets, "--", *map(str, command)]


@pytest.fixture
def binary(tmp_path):
    return readable_copy(tmp_path)


def run_confined(capabilities, *command):
    argv = confined(capabilities, *command)
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


class Confined(Bpftruss):
    """bpftruss with a few capabilities; it may write nowhere, so its report goes to its output."""

    def __init__(self, directory, binary, capabilities, arguments, **options):
        argv = confined(capabilities, binary, "-c", "--json", *arguments)
        Process.__init__(self, directory, argv, **options)
        self.report_path = self.stdout_path


def attach(live, binary, capabilities, *arguments, **options):
    return live.add(Confined, binary, capabilities, arguments, **options).wait_counting()


# --- what the units give -------------------------------------------------------------------------


def directive(name, file):
    """Returns what a directive of a unit of ours is set to."""
    lines = slurp(os.path.join(TOP, "systemd", file)).decode().splitlines()
    (value,) = [line.partition("=")[2] for line in lines if line.startswith(name + "=")]
    return value


@pytest.mark.skipif(not os.path.isdir(os.path.join(TOP, "systemd")), reason="no sources here")
@pytest.mark.parametrize("name", ["AmbientCapabilities", "CapabilityBoundingSet"])
def test_the_units_give_these_capabilities(name):
    def capabilities(file):
        return {word.lower()[len("CAP_"):] for word in directive(name, file).split()}

    assert capabilities("bpftruss.service") == set(COUNTING)
    # A second line of the kind adds to the first.
    assert capabilities("stacks.conf") == set(KERNEL_STACKS) - set(COUNTING)


# --- counts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["pid", "all"])
def test_counts_are_exact_with_two_capabilities(live, binary, target):
    workload = live.workload("calls")
    options = ["-a"] if target == "all" else ["-p", workload.pid]
    bpftruss = attach(live, binary, COUNTING, *options)
    status = slurp("/proc/%d/status" % bpftruss.pid).decode()
    assert re.findall(r"^(?:Uid|CapEff):\t(\w+)", status, re.M) == [USER, "000000c000000000"]
    workload.play()
    # A thread of others may be late, for want of priority: that is a loss, and said.
    report = bpftruss.interrupt(lossy=True) if target == "all" else bpftruss.report()
    must_include(report, workload.table())


@pytest.mark.parametrize("missing", COUNTING)
def test_without_one_of_them_it_says_which(binary, missing):
    left = [name for name in COUNTING if name != missing]
    result = run_confined(left, binary, "-c", "-p", "1")
    assert (result.returncode, result.stdout) == (4, "")
    assert "CAP_%s is missing" % missing.upper() in result.stderr


def test_the_doctor_is_content_with_two_capabilities(binary):
    result = run_confined(COUNTING, binary, "doctor")
    assert result.returncode == 0, result.stdout
    assert "CAP_BPF and CAP_PERFMON" in result.stdout


def test_it_is_at_real_time_priority_for_a_moment_only(live, binary):
    """LimitRTPRIO= of the unit does the same, which is less than CAP_SYS_NICE."""

    def allow():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (1, 1))

    try:
        subprocess.run(["true"], preexec_fn=allow, check=True)
    except subprocess.SubprocessError:
        pytest.skip("no CAP_SYS_RESOURCE here, to raise a limit")
    target = live.workload("calls")
    bpftruss = attach(live, binary, COUNTING, "-p", target.pid, preexec_fn=allow)
    flag = os.SCHED_RESET_ON_FORK
    # It says that it counts once it has found all threads.
    assert os.sched_getscheduler(bpftruss.pid) & ~flag == os.SCHED_OTHER


# --- stacks --------------------------------------------------------------------------------------


def count_wait(live, binary, capabilities, *options):
    """The stacks of a program of root's, and the row of its known call."""
    each = live.add(Waiting, [fixture("chain-O2"), "plain"])
    bpftruss = attach(live, binary, capabilities, "-p", each.pid, "--stacks", *options)
    each.tell(b"xx")
    until(each.readers, "both are read")
    each.finish()
    report = bpftruss.report()
    return each, report, report.only("read")


def test_stacks_are_whole_with_three_more(live, binary):
    each, report, row = count_wait(live, binary, STACKS)
    judge(each, row)
    must_be_complete(report.rows)


@pytest.mark.parametrize("missing", ["sys_ptrace", "dac_read_search", "checkpoint_restore"])
def test_without_one_of_them_counts_have_no_names(live, binary, missing):
    _, report, row = count_wait(live, binary, [name for name in STACKS if name != missing])
    assert {name for _, name in report.frames("read")} == {None}
    # A byte each.
    assert row["calls"] == len("xx" + "xxq") and report.data["exact"] is True


def kernel_symbols(report):
    return {symbol for module, symbol in report.frames("read") if module == "kernel"}


def test_functions_of_the_kernel_have_names_with_syslog_only(live, binary):
    first = run_confined(STACKS, "head", "-n", "1", "/proc/kallsyms")
    if int(first.stdout.split()[0], 16):
        pytest.skip("this kernel tells everybody its addresses (kernel.perf_event_paranoid)")
    _, named, _ = count_wait(live, binary, KERNEL_STACKS, "--kernel-stacks")
    _, bare, _ = count_wait(live, binary, STACKS, "--kernel-stacks")
    assert any("read" in (name or "") for name in kernel_symbols(named))
    assert kernel_symbols(bare) == {None}
