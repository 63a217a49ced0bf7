# SPDX-License-Identifier: BSD-2-Clause
"""Tests inside a kernel under test, with what the live tests have. O=DIR is the build directory."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "live")]

pytest.register_assert_rewrite("daemons", "harness", "reports")

from harness import live  # noqa: E402, F401
