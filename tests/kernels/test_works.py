# SPDX-License-Identifier: BSD-2-Clause
"""
Does this kernel's verifier take the programs, in each way they can be configured? How many
instructions it looked at on the way is kept as a property of the test.
"""

import os

import pytest

import verifier
from harness import BUILD, run

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
    assert measured and "on_sys_exit" in measured, sentence
    for name, numbers in measured.items():
        record_property("%s: %s" % (mode, name), "%d %d" % numbers)


def test_there_is_task_storage():
    assert "ok       task storage               present" in run("doctor").stdout


def test_the_doctor_finds_nothing_missing():
    result = run("doctor")
    assert result.returncode == 0, result.stdout
