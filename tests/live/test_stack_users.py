# SPDX-License-Identifier: BSD-2-Clause
"""
Stacks of one user's processes while another one's would like to name them: what a user may write,
map or mount never says what the code of others is called, nor how it unwinds. No user takes more
than half of any table where everybody is counted, so others find room.
"""

import collections
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile

import pytest

from bpf_objects import held, listed, map_keys
from daemons import must_equal_seen_whole, start_daemon, watched
from harness import need, need_unshare, program, slurp, until, write
from stacks import (FRAME_POINTERS, Loads, build_id, copy, fixture, stack_text, symbols,
                    wait_looked)  # fmt: skip

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def sh(command, *values):
    return subprocess.run(command % values, shell=True, capture_output=True).returncode == 0


def nothing(top):
    return top


def mount_tmpfs(top):
    assert sh("mount -t tmpfs -o mode=755 none %s", top)
    return top


def mount_overlay(top):
    """Files of both layers, on another file system than the folder they seem to be in."""
    os.mkdir(os.path.join(top, "lower"))
    copy("alpha.so", os.path.join(top, "lower/victim.so"))
    return mount_layer(top, "both")


def mount_btrfs(top):
    """A subvolume, which has a device number that the kernel itself does not use."""
    image, top = os.path.join(top, "image"), os.path.join(top, "mounted")
    os.mkdir(top)
    if not sh("truncate -s 128M %s && mkfs.btrfs -q %s && mount -o loop %s %s", image, image, image, top):
        pytest.skip("no btrfs can be made here (package btrfs-progs, loop devices)")
    assert sh("chmod 755 %s && btrfs subvolume create %s/sub", top, top)
    return os.path.join(top, "sub")


@pytest.fixture(params=[nothing, mount_tmpfs, mount_overlay, mount_btrfs])
def folder(request):
    """The same on several file systems."""
    with folder_for_all() as top:
        yield request.param(top)


@contextlib.contextmanager
def folder_for_all():
    """A folder that every user may look into; what is mounted there goes with it."""
    path = tempfile.mkdtemp(prefix="bpftruss-")
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        for mounted in ("both", "mounted", "one", "other", "."):
            place = os.path.join(path, mounted)
            sh("cd / && mountpoint -q %s && umount -l %s", place, place)
        shutil.rmtree(path)


@pytest.fixture
def open_folder():
    with folder_for_all() as path:
        yield path


@pytest.fixture
def loads(open_folder):
    """tests/stacks/loads.c where every user can run it: the build directory may be private."""
    return copy("loads", os.path.join(open_folder, "loads"))


def names_below_probe(report, pid):
    """[(name and module of the function that was called, how the stack ends, calls)]"""
    found = []
    for stack in report.stacks("getppid", pid):
        assert symbols(stack)[:2] == ["getppid", "probe"], stack_text(stack)
        frame = stack["frames"][2]
        found.append((frame["symbol"], frame["module"], stack["end"], stack["calls"]))
    return found


def attack(live, loads, victim, evil):
    """
    A user's process maps a file that bpftruss does not know, and has another one in its place when
    bpftruss comes to look; then root's process runs code of that first file.
    """
    attacker, target = live.add(Loads, loads, **NOBODY), live.add(Loads)
    bpftruss = live.attach([attacker.pid, target.pid], "--stacks")
    bpftruss.signal(signal.SIGSTOP)
    attacker.do("swap %s %s" % (victim, evil))
    bpftruss.signal(signal.SIGCONT)
    wait_looked(bpftruss)
    target.do("raw %s 4096 100" % victim)
    wait_looked(bpftruss)
    target.do("raw %s 4096 10" % victim)
    target.finish()
    attacker.finish()
    return names_below_probe(bpftruss.report(), target.pid)


def must_be_of_alpha(found):
    """No name may be what beta.so says; and in the end all is known."""
    for symbol, module, end, _ in found:
        assert (symbol, module) in ((None, None), ("alpha_one", "victim.so")), found
        assert end in ("complete", "table_pending"), found
    whole = sum(calls for symbol, _, end, calls in found if (symbol, end) == ("alpha_one", "complete"))
    assert whole >= 10, found


def test_a_mapping_that_was_swapped_names_nothing(folder, live, loads):
    victim, evil = os.path.join(folder, "victim.so"), os.path.join(folder, "evil.so")
    if not os.path.exists(victim):
        copy("alpha.so", victim)
    copy("beta.so", evil)
    must_be_of_alpha(attack(live, loads, victim, evil))


def mount_layer(top, name):
    """Makes one of the containers that share a layer."""
    for folder in (name, name + ".upper", name + ".work"):
        os.mkdir(os.path.join(top, folder))
    options = "lowerdir=lower,upperdir=%s.upper,workdir=%s.work" % (name, name)
    assert sh("cd %s && mount -t overlay none -o %s %s", top, options, name)
    return os.path.join(top, name)


def share_layer(top):
    """Two folders that share their lower layer, on a file system of their own."""
    mount_tmpfs(top)
    os.mkdir(os.path.join(top, "lower"))
    copy("alpha.so", os.path.join(top, "lower/victim.so"))
    return mount_layer(top, "one"), mount_layer(top, "other"), True


def share_snapshot(top):
    """A subvolume and its snapshot: their files have the same device and numbers for the kernel."""
    one, other = mount_btrfs(top), os.path.join(top, "mounted/snapshot")
    copy("alpha.so", os.path.join(one, "victim.so"))
    assert sh("btrfs subvolume snapshot %s %s", one, other)
    return one, other, False


@pytest.fixture(params=[share_layer, share_snapshot])
def containers(request, open_folder):
    """The folders of two containers that began with the same files; whether these are one for the kernel."""
    return request.param(open_folder)


def replace_contents(path, evil):
    """The file is another one than in the other container now, and looks as old as before."""
    before = os.stat(path)
    with open(path, "r+b") as written:
        written.truncate(0)
        written.write(slurp(evil))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(path).st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("late", [False, True], ids=["after", "before"])
def test_what_is_written_in_one_container_names_nothing_in_another(containers, live, late):
    """
    Both have mapped the same file at first; one writes to it after bpftruss has opened it, or
    before: it is stopped, and makes its table of what is there then.
    """
    *folders, share_file = containers
    one, other = [os.path.join(folder, "victim.so") for folder in folders]
    attacker, target = live.add(Loads), live.add(Loads)
    bpftruss = live.attach([attacker.pid, target.pid], "--stacks")
    if late:
        bpftruss.pause()
    attacker.do("raw %s 4096 10" % one)
    if not late:
        wait_looked(bpftruss)
    replace_contents(one, fixture("beta.so"))
    bpftruss.signal(signal.SIGCONT)
    if late:
        wait_looked(bpftruss)
    target.do("raw %s 4096 100" % other)
    wait_looked(bpftruss)
    target.do("raw %s 4096 10" % other)
    # It lives, so that its file can be found.
    found = names_below_probe(bpftruss.interrupt(), target.pid)
    target.finish()
    attacker.finish()
    must_be_of_alpha(found)
    assert late or not share_file or found == [("alpha_one", "victim.so", "complete", 110)]


UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]


def arranged(live, loads, script):
    """Loads in a user's own mount namespace, in which anything may lie in root's folders."""
    if subprocess.run(UNSHARE + ["true"], **NOBODY, capture_output=True).returncode:
        pytest.skip("users have no namespaces of their own here")
    return live.add(Loads, *UNSHARE, "%s && exec %s" % (script, shlex.quote(loads)), **NOBODY)


def must_keep_its_name(live, attacker, mapped, victim):
    """The file that a user's process has mapped is not what root's library is called by."""
    target = live.add(Loads)
    bpftruss = live.attach([attacker.pid, target.pid], "--stacks")
    attacker.do("raw %s 4096 10" % mapped)
    wait_looked(bpftruss)
    target.do("raw %s 4096 100" % victim)
    target.finish()
    # It lives as long as its namespace.
    found = names_below_probe(bpftruss.interrupt(), target.pid)
    assert found == [("alpha_one", "victim.so", "complete", 100)]


def test_the_debug_file_of_a_user_is_not_that_of_roots_library(open_folder, live, loads):
    """It has the library's build id, and lies where debug files are in the user's namespace."""
    victim = copy("alpha.so", os.path.join(open_folder, "victim.so"))
    evil = copy("beta.so", os.path.join(open_folder, "evil.debug"))
    subprocess.run(["strip", "--strip-all", victim], check=True)
    wanted, given = build_id(victim), build_id(evil)
    data = slurp(evil).replace(*(bytes.fromhex("".join(each)) for each in (given, wanted)))
    write(evil, data)
    assert build_id(evil) == wanted
    folder = "/usr/lib/debug/.build-id/" + wanted[0]
    script = "mount -t tmpfs none /usr/lib/debug && mkdir -p %s && cp %s %s/%s.debug"
    attacker = arranged(live, loads, script % (folder, evil, folder, wanted[1]))
    must_keep_its_name(live, attacker, victim, victim)


def test_a_mount_of_a_user_gives_roots_library_no_other_name(open_folder, live, loads):
    victim = copy("alpha.so", os.path.join(open_folder, "victim.so"))
    evil = copy("beta.so", os.path.join(open_folder, "looks_harmless.so"))
    attacker = arranged(live, loads, "mount --bind %s %s" % (victim, evil))
    must_keep_its_name(live, attacker, evil, victim)


@pytest.mark.parametrize("mode, name", [(0o600, None), (0o644, "made_up")])
def test_what_only_root_may_read_is_no_perf_map_of_a_user(live, loads, mode, name):
    """A mount of his own can put any file there, and its lines would be shown."""
    program = live.add(Loads, loads, **NOBODY)
    program.do("jit made_up 1")
    os.chown(program.perf_map, 0, 0)
    os.chmod(program.perf_map, mode)
    report = program.count(live, "same 10", looks=True)
    assert [each[0] for each in names_below_probe(report, program.pid)] == [name]


def ids_of_stacks(bpftruss):
    """The ids that the programs of one bpftruss give to the stacks that they have sent."""
    own = held(str(bpftruss.pid))["map"]
    maps = [each for each in listed("map") if each.get("name") == "stacks_sent"]
    (number,) = [each["id"] for each in maps if each["id"] in own]
    return map_keys(number)


def test_nobody_can_tell_which_stacks_have_the_same_id(live):
    """Nobody can make his calls look like those of others: each collector has its own ids."""
    need("bpftool")
    program = live.add(Loads)
    # Addresses, the same for both.
    both = [live.attach(program.pid, "--stacks", env=FRAME_POINTERS) for _ in range(2)]
    program.do("raw %s 4096 10" % fixture("alpha.so"))
    first, second = [ids_of_stacks(bpftruss) for bpftruss in both]
    program.finish()
    assert len(first) > 1 and len(second) > 1
    assert not first & second


LAST_PID = "/proc/sys/kernel/ns_last_pid"


def placed(live):
    """Loads with its memory always at the same addresses."""
    return live.add(Loads, "setarch", "-R", fixture("loads"))


def with_pid(live, pid):
    """Another one with the pid of one that has ended."""
    if not os.path.exists(LAST_PID):
        pytest.skip("this kernel does not let go back to a pid")
    for _ in range(100):
        write(LAST_PID, pid - 1)
        program = placed(live)
        if program.pid == pid:
            return program
        program.close()
    pytest.skip("pids are taken too fast here")


def test_who_has_the_pid_of_another_does_not_name_its_code(live):
    """Code of a JIT is named as soon as bpftruss hears of it, and that may be late."""
    program = placed(live)
    bpftruss = live.attach(program.pid, "--stacks")
    bpftruss.signal(signal.SIGSTOP)
    program.do("jit first 10")
    program.finish()
    os.unlink(program.perf_map)
    other = with_pid(live, program.pid)
    other.do("jit second 1")
    bpftruss.signal(signal.SIGCONT)
    found = names_below_probe(bpftruss.report(), program.pid)
    other.finish()
    assert found == [(None, None, "complete", 10)]


# --- shares of the tables ------------------------------------------------------------------------

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
    others = rows_used(daemon)
    hoard(live, HOARDERS)
    assert HOARDERS * KIND_OF_CALLS > 2 * ROWS
    target, mark = live.workload("calls"), daemon.save(tmp_path / "mark")
    target.play()
    report = daemon.snapshot("-p", target.pid, "--since", mark, lossy=True)
    must_equal_seen_whole(report, target.table())
    assert daemon.snapshot(lossy=True).losses["slot_table_full"] > 0
    assert ROWS * 0.4 < rows_used(daemon) - others < ROWS * 0.7


def test_what_a_user_had_is_there_for_it_again(live, tmp_path):
    daemon, used = start_small(live, tmp_path), []
    for _ in range(3):
        target = hoard(live, HOARDERS)
        used.append(rows_used(daemon))
        target.tell(b"over\n")
        assert target.wait() == 0
        until(lambda: rows_used(daemon) < ROWS * 0.2, "rows are given back")
    assert min(used) > ROWS * 0.4, used


# As a user of its own, also below two further namespaces that this user makes.
AS_A_USER = "%s hoard 60 $user"
NESTED = ("setpriv --reuid $user --regid $user --clear-groups "
          "unshare --user --map-root-user unshare --user %s hoard 60")  # fmt: skip


@pytest.mark.parametrize("each", [AS_A_USER, NESTED], ids=["users", "namespaces"])
def test_a_user_of_many_user_ids_has_no_more(live, tmp_path, open_folder, each):
    """In a user namespace of its own it becomes any of them."""
    need_unshare("--user")
    daemon = start_small(live, tmp_path)
    others = rows_used(daemon)
    storm = shlex.quote(shutil.copy(program("storm"), open_folder))
    each %= storm
    script = "exec 3<&0; read line; for user in 1 2 3 4; do %s <&3 & done; wait" % each
    somebody = ["setpriv", "--reuid", str(SOMEBODY), "--regid", str(SOMEBODY), "--clear-groups"]
    inside = ["unshare", "--user", "--keep-caps", "sh", "-c"]
    shell = live.spawn(*somebody, *inside, script, stdin=subprocess.PIPE)
    until(lambda: slurp("/proc/%d/comm" % shell.pid) == b"sh\n", "it is in its namespace")
    for name in ("uid_map", "gid_map"):
        write("/proc/%d/%s" % (shell.pid, name), "1 %d 10" % (SOMEBODY + 1000))
    shell.tell(b"go\n")
    until(lambda: shell.stdout().count(b"calls") == 4, "all have hoarded")
    assert ROWS * 0.4 < rows_used(daemon) - others < ROWS * 0.7


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


def test_when_too_many_stacks_were_seen_counting_begins_anew(live, tmp_path):
    options = ["--stacks", "--max-stacks", 2000, "-n", "loads", "--budget", "none"]
    daemon, loads = start_daemon(live, tmp_path / "daemon", *options, env=watched(400000)), live.add(Loads)

    def is_full():
        loads.do("random 3000")
        return "stacks were seen as can be kept: counting was restarted" in daemon.stderr()

    until(is_full, "it begins anew")


def test_when_numbers_of_files_are_given_counting_begins_anew(live, tmp_path, open_folder):
    daemon = start_daemon(live, tmp_path / "daemon", "--stacks", env=watched(400000))
    crowd_of_somebody(live, open_folder, 3600).finish()
    until(lambda: "counting was restarted" in daemon.stderr(), "it begins anew")
    other = live.add(Loads)
    other.do("crowd 3")
    until_known(daemon, other, 3)
