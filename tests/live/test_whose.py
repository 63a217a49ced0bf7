# SPDX-License-Identifier: BSD-2-Clause
"""
Calls stand under the user, unit and name that their process has now, also while it lives and when
nothing but that changed; and a report that groups by it says who changed.
"""

import json
import os
import pwd

import pytest

from cgroups import move
from daemons import start_daemon
from harness import IS_X86, until
from reports import count_text

UID = 54321
CALLS = 1000


def lingerer(live, *options, how="", json=True):
    """A workload that has changed its user, and lingers, and bpftruss."""
    target, bpftruss = live.begin("lingers", UID, CALLS, how, options=options, json=json)
    wait_change(target)
    return target, bpftruss


def wait_change(target):
    until(lambda: b"changed\n" in target.stdout(), "it has changed")
    target.wait_asleep_in("read")


def end(bpftruss):
    """The reports of a counting that ends now, while the process lives."""
    return [json.loads(line) for line in bpftruss.stop_text().splitlines()]


def process_of(report, pid):
    (process,) = [process for process in report["processes"] if process["pid"] == pid]
    return process


@pytest.mark.parametrize("how", ["", "thread"])
@pytest.mark.parametrize("interval", [[], ["-i", 0.1]])
def test_a_live_process_stands_under_the_user_that_it_has_become(live, interval, how):
    target, bpftruss = lingerer(live, *interval, how=how)
    reports = end(bpftruss)
    processes = [process_of(report, target.pid) for report in reports]
    assert processes[-1]["uid"] == UID
    assert sum(process["user_changes"] for process in processes) == 1
    assert {row["uid"] for row in reports[-1]["rows"]} == {UID}


@pytest.mark.parametrize("options, how, changes", [
    ([], "back", 7 if IS_X86 else 5),
    (["--slower-than", "10s"], "", 1),
], ids=["every way", "a call that is too fast to be counted"])  # fmt: skip
def test_a_change_of_the_user_is_seen(live, options, how, changes):
    target, bpftruss = lingerer(live, *options, how=how)
    (report,) = end(bpftruss)
    process = process_of(report, target.pid)
    assert (process["uid"], process["user_changes"]) == (UID, changes)


def test_a_table_by_user_says_who_changed(live):
    target, bpftruss = lingerer(live, "-w", "--by", "user", json=False)
    text = bpftruss.stop_text()
    said = "lingers %d: changed user while counted; all calls stand under the last one\n"
    assert said % target.pid in text
    assert str(UID) in text and "root" not in text


def test_a_table_by_user_does_not_speak_of_who_did_not_change(live):
    text, _ = count_text(live, ["-w", "--by", "user,unit,comm"], "calls")
    assert "changed" not in text


@pytest.mark.parametrize("options", [["-n", "lingers"], []])
def test_a_live_process_stands_under_the_unit_that_it_was_moved_to(live, cgroup, options):
    path = cgroup("bpftruss-moved.service")
    target = live.workload("lingers", os.geteuid(), CALLS)
    bpftruss = live.choose(*options) if options else live.attach(target.pid)
    target.go()
    wait_change(target)
    move(target.pid, path)
    (report,) = end(bpftruss)
    process = process_of(report, target.pid)
    assert (process["unit"], process["cgroup_changes"]) == ("bpftruss-moved.service", 1)
    assert process["user_changes"] == 0
    assert {row["unit"] for row in report["rows"]} == {"bpftruss-moved.service"}


def test_a_live_process_has_the_name_that_it_gave_itself(live):
    target, bpftruss = live.begin("becomes", "name", "renamed-itself", 1, 10)
    process = process_of(bpftruss.report().data, target.pid)
    assert (process["comm"], process["comm_changes"]) == ("renamed-itself", 1)


def test_workers_that_a_root_process_makes_beside_a_daemon_stand_under_their_user(live, tmp_path):
    nobody = pwd.getpwnam("nobody").pw_uid
    server = start_daemon(live, tmp_path / "daemon")
    target = live.workload("lingers", nobody, CALLS, "fork")
    target.go()
    until(lambda: b"changed\n" in target.stdout(), "its child has changed")
    (child,) = target.children()
    report = server.snapshot("-p", child, lossy=True)
    assert {row["user"] for row in report.select("getppid")} == {"nobody"}
    assert report.total("getppid") == 2000
