# SPDX-License-Identifier: BSD-2-Clause
"""Where the kernel lacks what unwinding by tables needs, that is said, and stacks add up all the same."""

from harness import must_equal, run


def test_the_doctor_says_that_stacks_follow_frame_pointers_only():
    result = run("doctor")
    assert result.returncode == 0
    assert "note     call stacks                no bpf_find_vma or no bpf_loop" in result.stdout
    assert "--stacks can follow frame pointers only" in result.stdout


def test_stacks_follow_frame_pointers_without_being_told_to(live):
    target, bpftruss = live.begin("threads", 16, 110, options=["-f", "--stacks"])
    report = bpftruss.report()
    must_equal(report, target.table())
    assert "stacks by frame pointers only" in bpftruss.stderr()
    ends = {stack["end"] for stack in report.stacks()}
    assert "no_frame_pointer" in ends and "complete" not in ends
