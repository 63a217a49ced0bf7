# SPDX-License-Identifier: BSD-2-Clause
"""
Is the machine the one that its row of tests/kernels/kernels asks for, and does its verifier take the
programs, in each way they can be configured? How many instructions it looked at on the way is kept as
a property of the test.
"""

import os
import re
import shutil
import subprocess

import pytest

import verifier
from harness import BUILD, run, slurp

MODES = {
    "-c": [],
    "-c -n": ["-n", "nobody-is-called-so", "--wait"],
    "-c --stacks": ["--stacks"],
    "-c --stacks --kernel-stacks": ["--stacks", "--kernel-stacks"],
}


def kernel_words(options):
    """The end of what the verifier says; what comes before it is long."""
    result = run("-v", "-c", "-d", "0.1", *options)
    return "status %d: %s" % (result.returncode, result.stderr[-6000:])


@pytest.mark.parametrize("mode", MODES)
def test_the_kernel_takes_the_programs(live, mode):
    options = MODES[mode]
    if "-n" not in options:
        options = options + ["-p", live.workload("calls").pid]
    bpftruss = live.start(options=options)
    try:
        bpftruss.wait_counting()
    except AssertionError:
        pytest.fail(kernel_words(options), pytrace=False)


@pytest.mark.parametrize("mode", verifier.MODES)
def test_the_verifier_says_what_it_looked_at(mode, record_property):
    measured, sentence = verifier.measure(os.path.join(BUILD, "collect", "verifier"), mode)
    assert measured and "on_sched_switch" in measured, sentence
    for name, numbers in measured.items():
        record_property("%s: %s" % (mode, name), "%d %d" % numbers)


def test_there_is_task_storage():
    assert "ok       task storage               present" in run("doctor").stdout


def test_the_doctor_finds_nothing_missing():
    result = run("doctor")
    assert result.returncode == 0, result.stdout


def test_the_static_file_counts_with_nothing_around_it(tmp_path):
    static = os.path.join(BUILD, "bpftruss-static")
    if not os.path.exists(static):
        pytest.skip("make static was not run")
    root = tmp_path / "root"
    for name in ("proc", "sys", "dev"):
        (root / name).mkdir(parents=True)
        subprocess.run(["mount", "--bind", "/" + name, root / name], check=True)
    for program in (static, os.path.join(BUILD, "workloads", "calls")):
        shutil.copy(program, root)
    try:
        result = subprocess.run(
            ["chroot", root, "/bpftruss-static", "-c", "/calls"],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    finally:
        for name in ("proc", "sys", "dev"):
            subprocess.run(["umount", root / name], check=True)
    assert re.search(r"^getppid +\S+ +1009\b", result.stdout + result.stderr, re.M), result
    assert "exact: no call is missing" in result.stdout + result.stderr, result


def preemption():
    """How this kernel preempts itself, in its own words; "static" where it does not say."""
    if b"PREEMPT_RT" in slurp("/proc/version"):
        return "rt"
    chosen = "/sys/kernel/debug/sched/preempt"
    if not os.path.exists(chosen):
        return "static"
    return re.search(r"\((\w+)\)", slurp(chosen).decode())[1]


def test_the_kernel_preempts_as_it_was_told_to(record_property):
    found = preemption()
    record_property("preempts", found)
    asked = re.search(r"\bpreempt=(\w+)", slurp("/proc/cmdline").decode())
    assert not asked or found == asked[1]


def test_there_are_two_processors():
    """With one alone nothing could happen at the same time."""
    assert os.cpu_count() == 2
