# SPDX-License-Identifier: BSD-2-Clause
"""
Does this kernel's verifier take the programs, in each way they can be configured? How many
instructions it looked at on the way is kept as a property of the test.
"""

import glob
import json
import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))

from harness import DEADLINE_S, Live, run, slurp  # noqa: E402

MODES = {
    "-c": [],
    "-c -n": ["-n", "nobody-is-called-so", "--wait"],
    "-c --stacks": ["--stacks"],
    "-c --stacks --kernel-stacks": ["--stacks", "--kernel-stacks"],
}


@pytest.fixture
def live(tmp_path):
    things = Live(tmp_path)
    yield things
    things.close()


def kernel_words(options):
    """The end of what the verifier says; what comes before it is long."""
    result = run("-v", "-c", "-d", "0.1", *options)
    return "status %d: %s" % (result.returncode, result.stderr[-6000:])


def verified(pid):
    """{program: instructions} of the programs that a process has loaded."""
    listed = subprocess.run(
        ["bpftool", "-j", "prog", "show"], capture_output=True, timeout=DEADLINE_S, check=True
    )
    names = {each["id"]: each.get("name", "?") for each in json.loads(listed.stdout)}
    found = {}
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        info = slurp(path).decode()
        number = re.search(r"^prog_id:\t(\d+)$", info, re.M)
        if number and "prog_type" in info:
            insns = re.search(r"^verified_insns:\t(\d+)$", info, re.M)
            found[names.get(int(number[1]), number[1])] = int(insns[1]) if insns else None
    return found


@pytest.mark.parametrize("mode", MODES)
def test_the_kernel_takes_the_programs(live, mode, record_property):
    options = MODES[mode]
    if "-n" not in options:
        options = options + ["-p", live.workload("calls").pid]
    bpftruss = live.start(options=options)
    try:
        bpftruss.wait_counting()
    except AssertionError:
        pytest.fail(kernel_words(options), pytrace=False)
    programs = verified(bpftruss.pid)
    assert "on_sys_exit" in programs
    for name, insns in programs.items():
        record_property("%s: %s" % (mode, name), insns)


def test_the_doctor_finds_nothing_missing():
    result = run("doctor")
    assert result.returncode == 0, result.stdout
