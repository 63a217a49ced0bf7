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
from daemons import Daemon
from harness import IS_X86, NUMBERS, Bpftruss, until

UID = 54321
CALLS = 1000


def let_change(target):
    target.go()
    until(lambda: b"changed\n" in target.stdout(), "it has changed")
    target.wait_asleep_in("read")


def end(bpftruss):
    """The reports of a counting that ends now, while the process lives."""
    bpftruss.signal(2)
    assert bpftruss.wait() == 0, bpftruss.stderr()
    return [json.loads(line) for line in bpftruss.text().splitlines()]


def process_of(report, pid):
    (process,) = [process for process in report["processes"] if process["pid"] == pid]
    return process


@pytest.mark.parametrize("how", ["", "thread"])
@pytest.mark.parametrize("interval", [[], ["-i", 0.1]])
def test_a_live_process_stands_under_the_user_that_it_has_become(live, interval, how):
    target = live.workload("lingers", UID, CALLS, how)
    bpftruss = live.attach(target.pid, *interval)
    let_change(target)
    reports = end(bpftruss)
    processes = [process_of(report, target.pid) for report in reports]
    assert processes[-1]["uid"] == UID
    assert sum(process["user_changes"] for process in processes) == 1
    assert {row["uid"] for row in reports[-1]["rows"]} == {UID}


def test_every_way_to_change_the_user_is_seen(live):
    target = live.workload("lingers", UID, CALLS, "back")
    bpftruss = live.attach(target.pid)
    let_change(target)
    (report,) = end(bpftruss)
    process = process_of(report, target.pid)
    assert (process["uid"], process["user_changes"]) == (UID, 7 if IS_X86 else 5)


def test_a_call_too_fast_to_be_counted_changes_the_user_all_the_same(live):
    target = live.workload("lingers", UID, CALLS)
    bpftruss = live.attach(target.pid, "--slower-than", "10s")
    let_change(target)
    (report,) = end(bpftruss)
    assert process_of(report, target.pid)["uid"] == UID


def test_a_table_by_user_says_who_changed(live):
    target = live.workload("lingers", UID, CALLS)
    bpftruss = live.attach(target.pid, "-w", "--by", "user", json=False)
    let_change(target)
    bpftruss.signal(2)
    assert bpftruss.wait() == 0
    text = bpftruss.text().decode()
    said = "lingers %d: changed user while counted; all calls stand under the last one\n"
    assert said % target.pid in text
    assert str(UID) in text and "root" not in text


def test_a_table_by_user_does_not_speak_of_who_did_not_change(live):
    target = live.workload("calls")
    bpftruss = live.attach(target.pid, "-w", "--by", "user,unit,comm", json=False)
    target.go()
    assert bpftruss.wait() == 0
    assert b"changed" not in bpftruss.text()


@pytest.mark.parametrize("options", [["-n", "lingers"], []])
def test_a_live_process_stands_under_the_unit_that_it_was_moved_to(live, cgroup, options):
    path = cgroup("bpftruss-moved.service")
    target = live.workload("lingers", os.geteuid(), CALLS)
    bpftruss = (
        live.add(Bpftruss, options).wait_counting() if options else live.attach(target.pid)
    )
    let_change(target)
    move(target.pid, path)
    (report,) = end(bpftruss)
    process = process_of(report, target.pid)
    assert (process["unit"], process["cgroup_changes"]) == ("bpftruss-moved.service", 1)
    assert process["user_changes"] == 0
    assert {row["unit"] for row in report["rows"]} == {"bpftruss-moved.service"}


def test_a_live_process_has_the_name_that_it_gave_itself(live):
    target = live.workload("becomes", "name", "renamed-itself", 1, 10)
    bpftruss = live.attach(target.pid)
    target.go()
    process = process_of(bpftruss.report().data, target.pid)
    assert (process["comm"], process["comm_changes"]) == ("renamed-itself", 1)


def test_workers_that_a_root_process_makes_beside_a_daemon_stand_under_their_user(live, tmp_path):
    nobody = pwd.getpwnam("nobody").pw_uid
    server = live.add(Daemon, tmp_path / "daemon").wait_ready()
    target = live.workload("lingers", nobody, CALLS, "fork")
    target.go()
    until(lambda: b"changed\n" in target.stdout(), "its child has changed")
    (child,) = target.children()
    report = json.loads(server.verb("snapshot", "--json", "-p", child))
    users = {row["user"] for row in report["rows"] if row["nr"] == NUMBERS["getppid"]}
    assert users == {"nobody"}
    assert sum(row["calls"] for row in report["rows"] if row["nr"] == NUMBERS["getppid"]) == 2000
