# SPDX-License-Identifier: BSD-2-Clause
"""Single calls as JSON: one object a line, which says what the line of the same call says."""

import errno
import json

from call_lines import CONCLUSION, Calls, watch_too_late
from harness import must_be_exact

OF_A_BUSY_HOST = {"calls"}


def objects(calls):
    assert calls.wait() == 0, calls.stderr()
    return [json.loads(line) for line in calls.shown().splitlines()]


def watch_both(live, *workload, options=()):
    """The lines and the objects of one run."""
    target = live.workload(*workload)
    lines, made = (live.add(Calls, [*options, *form, "-p", target.pid])
                   for form in ([], ["--json"]))
    for watcher in (lines, made):
        watcher.wait_attached()
    target.play()
    return lines.lines().must_have_lost_nothing(), objects(made), target


def outcome(call):
    """What a line of truss has at its end: an errno, or a number."""
    words = call.result.replace("= ", "").split()
    if not words:
        return None, None
    return (None, words[1]) if words[0].startswith("Err#") else (int(words[0].split("<")[0], 0), None)


def test_an_object_says_what_a_line_says(live):
    lines, made, target = watch_both(live, "calls")
    assert [call["syscall"] for call in made] == [call.name for call in lines.ended]
    for call, line in zip(made, lines.ended):
        result, error = outcome(line)
        assert call["errno"] == error, (call, line)
        assert call["result"] == (-getattr(errno, error) if error else result), (call, line)
        assert call["pid"] == call["tid"] == target.pid and call["comm"] == "calls"
    assert [call["number"] for call in made] == list(range(1, len(made) + 1))


def test_times_of_an_object_add_up(live):
    _, made, _ = watch_both(live, "pace", 3)
    timed = [call for call in made if call["wall_ns"] is not None]
    assert len(timed) > 30
    for call in timed:
        assert call["wall_ns"] == call["cpu_ns"] + call["runq_ns"] + call["sleep_ns"], call
    assert all(call["wall_ns"] >= 10**7 for call in timed if call["syscall"] == "nanosleep")


def test_arguments_have_names_and_types(live):
    _, made, _ = watch_both(live, "calls")
    failing = next(call for call in made if call["syscall"] == "openat")
    dirfd, path, flags = failing["args"]
    assert (dirfd["name"], dirfd["value"], dirfd["text"]) == ("dirfd", -100, "AT_FDCWD")
    assert (path["name"], path["kind"], path["value"]) == ("pathname", "path", "/nonexistent/bpftruss")
    assert (flags["value"], flags["text"]) == (0, "O_RDONLY")


def test_hostile_arguments_are_valid_json(live):
    for what in ("paths", "pointers", "vectors"):
        lines, made, _ = watch_both(live, "arguments", what)
        assert [call["syscall"] for call in made] == [call.name for call in lines.ended]
        absent = [arg for call in made for arg in call["args"] if arg.get("missing")]
        assert len(absent) == lines.text.count("(not in memory)") - (what == "vectors"), what
        assert all(arg["value"] is None and arg["address"] for arg in absent)


def test_gaps_are_objects_too(live):
    calls = watch_too_late(live, 2, "--json")
    made = objects(calls)
    gaps = [line for line in made if "not_shown" in line]
    shown, _, _, lost, counted = (int(n or 0) for n in CONCLUSION.findall(calls.stderr())[-1])
    assert len(made) - len(gaps) == shown and sum(gap["not_shown"] for gap in gaps) == lost > 50000
    assert shown + lost == counted


def test_with_c_the_last_line_is_the_report(live):
    target = live.workload("calls")
    calls = live.add(Calls, ["-C", "--json", "-p", target.pid]).wait_attached()
    target.play()
    *made, report = objects(calls)
    assert all("syscall" in call for call in made)
    must_be_exact(report)
    assert sum(row["calls"] for row in report["rows"]) == len(made) > 1000
