# SPDX-License-Identifier: BSD-2-Clause
"""
For kernels that can miss calls: `-p kernels.repeats`. A test of exact counts whose report says that
calls or switches were missed is tried again, and skipped if that is so each time; a report that is wrong
and does not say so fails at once, as ever. tests/live/conftest.py asks for it.
"""

# These losses follow for others from a missed half of a call.
CONSEQUENCES = {"exit_missed", "time_clamped"}


def only_missed(losses):
    missed = {name for name in losses if name.endswith("_missed")} - CONSEQUENCES
    missed |= {"switch_unseen"} & set(losses)
    return missed and not set(losses) - missed - CONSEQUENCES
