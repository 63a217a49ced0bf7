# SPDX-License-Identifier: BSD-2-Clause
"""No user takes more than half of any table where everybody is counted: others find room."""

import collections
import shutil
import subprocess

import pytest

from daemons import must_equal_seen_whole, start_daemon, watched
from harness import need_unshare, program, slurp, until, write
from stacks import Loads, fixture
from test_stack_users import open_folder

__all__ = ["open_folder"]

SOMEBODY = 54321
WHO = {"user": SOMEBODY, "group": SOMEBODY, "extra_groups": []}
ROWS = 4000
# Each makes 80 kinds of calls, 16 of which fail in 60 ways.
HOARDERS = 120
KIND_OF_CALLS = 80


def start_small(live, tmp_path):
    options = ["--max-tasks", 600, "--max-rows", ROWS, "--max-errnos", 6000]
    return start_daemon(live, tmp_path / "daemon", "--interval", "1h", *options)


def hoard(live, number):
    """A user has as many rows as will go into the tables, and keeps them."""
    target = live.workload("storm", "hoard", number, SOMEBODY)
    target.go()
    until(lambda: b"calls" in target.stdout(), "it has hoarded")
    return target


def rows_used(daemon):
    return daemon.status("counting", "tables", "rows", "used")


def test_a_user_leaves_room_for_others(live, tmp_path):
    daemon = start_small(live, tmp_path)
    hoard(live, HOARDERS)
    assert HOARDERS * KIND_OF_CALLS > 2 * ROWS
    target, mark = live.workload("calls"), daemon.save(tmp_path / "mark")
    target.play()
    report = daemon.snapshot("-p", target.pid, "--since", mark, lossy=True)
    must_equal_seen_whole(report, target.table())
    assert daemon.snapshot(lossy=True).losses["slot_table_full"] > 0
    assert ROWS * 0.4 < rows_used(daemon) < ROWS * 0.7


def test_what_a_user_had_is_there_for_it_again(live, tmp_path):
    daemon, used = start_small(live, tmp_path), []
    for _ in range(3):
        target = hoard(live, HOARDERS)
        used.append(rows_used(daemon))
        target.tell(b"over\n")
        assert target.wait() == 0
        until(lambda: rows_used(daemon) < ROWS * 0.2, "rows are given back")
    assert min(used) > ROWS * 0.4, used


def test_a_user_of_many_user_ids_has_no_more(live, tmp_path, open_folder):
    """In a user namespace of its own it becomes any of them."""
    need_unshare("--user")
    daemon = start_small(live, tmp_path)
    script = "exec 3<&0; read line; for user in 1 2 3 4; do %s hoard 60 $user <&3 & done; wait"
    somebody = ["setpriv", "--reuid", str(SOMEBODY), "--regid", str(SOMEBODY), "--clear-groups"]
    inside = ["unshare", "--user", "--keep-caps", "sh", "-c"]
    script %= shutil.copy(program("storm"), open_folder)
    shell = live.spawn(*somebody, *inside, script, stdin=subprocess.PIPE)
    until(lambda: slurp("/proc/%d/comm" % shell.pid) == b"sh\n", "it is in its namespace")
    for name in ("uid_map", "gid_map"):
        write("/proc/%d/%s" % (shell.pid, name), "1 %d 10" % (SOMEBODY + 1000))
    shell.tell(b"go\n")
    until(lambda: shell.stdout().count(b"calls") == 4, "all have hoarded")
    assert ROWS * 0.4 < rows_used(daemon) < ROWS * 0.7


def ends_of(daemon, pid):
    """How the stacks of its getppid end: {why: calls}."""
    ends = collections.Counter()
    for stack in daemon.snapshot("-p", pid, lossy=True).stacks("getppid", pid):
        ends[stack["end"]] += stack["calls"]
    return ends


def until_known(daemon, loads, number):
    """Until files of code have tables: the calls below each of them have whole stacks."""

    def are_known():
        before = ends_of(daemon, loads.pid)
        loads.do("walk 5")
        return ends_of(daemon, loads.pid) - before == {"complete": 5 * number}

    until(are_known, "its files have tables")


def crowd_of_somebody(live, open_folder, number):
    """A user's process with code of so many files, each of which gets a number; there are 8192."""
    crowd = live.add(Loads, shutil.copy(fixture("loads"), open_folder), **WHO)
    crowd.do("crowd %d" % number, "walk 1")
    return crowd


def test_files_of_a_user_leave_numbers_for_those_of_others(live, tmp_path, open_folder):
    daemon = start_daemon(live, tmp_path / "daemon", "--interval", "1h", "--stacks")
    crowd_of_somebody(live, open_folder, 4500)
    other = live.add(Loads)
    other.do("crowd 20")
    until_known(daemon, other, 20)


def test_when_numbers_of_files_are_given_counting_begins_anew(live, tmp_path, open_folder):
    daemon = start_daemon(live, tmp_path / "daemon", "--stacks", env=watched(400000))
    crowd_of_somebody(live, open_folder, 3600).finish()
    until(lambda: "counting was restarted" in daemon.stderr(), "it begins anew")
    other = live.add(Loads)
    other.do("crowd 3")
    until_known(daemon, other, 3)
