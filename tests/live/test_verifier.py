# SPDX-License-Identifier: BSD-2-Clause
"""The running kernel's verifier examines what docs/internals/VERIFIER.md says, or not much more."""

import os
import sys

import pytest

from harness import BUILD, TOP

sys.path.insert(0, os.path.join(TOP, "tests", "kernels"))

import verifier  # noqa: E402

# The kernel gives this number to no other.
INITIAL_PID_NAMESPACE = "pid:[4026531836]"
TABLE = os.path.join(TOP, "docs", "internals", "VERIFIER.md")


@pytest.mark.parametrize("mode", verifier.MODES)
def test_no_program_has_grown_by_a_fifth(mode):
    with open(TABLE, encoding="utf-8") as table:
        columns = verifier.parse(table.read()).get(mode, {})
    kernel = verifier.running_kernel()
    if kernel not in columns:
        pytest.skip("kernel %s is not in docs/internals/VERIFIER.md" % kernel)
    compiler = verifier.compiler_of(BUILD)
    if compiler != verifier.COMPILER:
        pytest.skip("docs/internals/VERIFIER.md is of %s, this build of %s" % (verifier.COMPILER, compiler))
    if os.readlink("/proc/self/ns/pid") != INITIAL_PID_NAMESPACE:
        pytest.skip("docs/internals/VERIFIER.md is of the initial pid namespace")
    measured, sentence = verifier.measure(os.path.join(BUILD, "collect", "verifier"), mode)
    assert measured, sentence
    assert verifier.grown(measured, columns[kernel]) == []


def test_a_program_that_grows_by_more_than_a_fifth_is_noticed():
    known = {"big": (10000, 100), "small": (100, 1)}
    assert verifier.grown({"big": (12000, 9), "small": (1000, 1)}, known) == []
    assert len(verifier.grown({"big": (12001, 9), "small": (1001, 1)}, known)) == 2
    assert verifier.grown({"new": (1, 1)}, known) == ["new is not in the table"]


def test_the_table_is_read_as_it_was_written():
    table = {mode: {"6.1": {"a": (1, 2)}, "6.12-rt": {"b": (3, 4)}} for mode in verifier.MODES}
    assert verifier.parse(verifier.render(table)) == table
