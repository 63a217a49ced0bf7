# SPDX-License-Identifier: BSD-2-Clause
"""
Scripts print help and do nothing else when asked for it, and one sentence where they cannot go on.
`make install` leaves what it should below DESTDIR, `make uninstall` takes it away again, and bash
fish and zsh complete words for the program that was built.
"""

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import termios
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("O", str(TOP / "build"))
SCRIPTS = sorted(path for path in (TOP / "scripts").iterdir() if os.access(path, os.X_OK))
# A script that wants anything else does more than to say what it does.
HELPERS = ("bash", "cat", "dirname", "python3", "sed", "sh")


@pytest.fixture
def bare(tmp_path):
    """An environment with few programs, and no sudo."""
    for name in HELPERS:
        (tmp_path / name).symlink_to(os.path.realpath(shutil.which(name)))
    return {"PATH": str(tmp_path)}


def call(script, *arguments, **options):
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, **options}
    return subprocess.run([script, *arguments], timeout=60, check=False, **options)


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_help_is_all_that_it_gives(script, option, bare):
    result = call(script, option, env=bare, cwd="/")
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) >= 2


@pytest.mark.parametrize("name", ["demo", "test"])
def test_what_it_does_not_know_is_refused(name, bare):
    result = call(TOP / "scripts" / name, "--hepl", env=bare)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("usage: ")


@pytest.mark.parametrize("name", ["demo", "test"])
def test_without_root_sudo_is_wanted(name, bare):
    """Before it installs or builds anything."""
    # The script asks which user runs it, whoever runs this test.
    some_user = Path(bare["PATH"]) / "id"
    some_user.write_text("#!/bin/sh\necho 1000\n")
    some_user.chmod(0o755)
    result = call(TOP / "scripts" / name, env=bare)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1 and "as root" in result.stderr


def hiding(place):
    """The command that runs another one where nothing is mounted on /proc or /sys."""
    command = ["unshare", "--mount" if os.geteuid() == 0 else "-rm", "sh", "-c",
               'mount -t tmpfs none "$0" && PATH=$ONLY exec "$@"', place]  # fmt: skip
    if subprocess.run([*command, shutil.which("true")], capture_output=True).returncode:
        pytest.skip("users have no namespaces of their own here")
    return command


@pytest.mark.parametrize("place, mounted", [("/proc", "proc proc /proc"), ("/sys", "sysfs sysfs /sys")])
@pytest.mark.parametrize("name", ["demo", "test"])
def test_in_a_plain_chroot_it_says_what_to_mount(name, place, mounted, bare):
    """Before it installs or builds anything."""
    (Path(bare["PATH"]) / "id").symlink_to(shutil.which("id"))
    (Path(bare["PATH"]) / "sudo").symlink_to(shutil.which("false"))
    result = call(*hiding(place), TOP / "scripts" / name, env={**os.environ, "ONLY": bare["PATH"]})
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (f"{name}: nothing is mounted on {place}: "
                             f"run 'mount -t {mounted}' first\n")  # fmt: skip


# --- layers --------------------------------------------------------------------------------------

LEAF = "#ifndef LEAF_H\n#define LEAF_H\n#endif\n"


def layers(folder, files):
    """Returns what check-layers says of a tree with these files."""
    for name in ("bpf", "include", "scripts", "src"):
        (folder / name).mkdir(exist_ok=True)
    shutil.copy(TOP / "scripts/check-layers", folder / "scripts")
    for name, text in files.items():
        (folder / "src" / name).parent.mkdir(exist_ok=True)
        (folder / "src" / name).write_text(text)
    return call(folder / "scripts/check-layers")


def test_includes_may_meet_again(tmp_path):
    result = layers(tmp_path, {
        "base/leaf.h": LEAF,
        "base/left.h": '#include "base/leaf.h"\n',
        "base/right.h": '#include "leaf.h"\n',
        "base/top.c": '#include "base/left.h"\n#include "base/right.h"\n',
    })
    assert (result.returncode, result.stdout) == (0, "layers: in order\n")


@pytest.mark.parametrize("back", ["leaf.h", "leaf.c"])
def test_includes_in_a_circle_are_refused(tmp_path, back):
    """A source and its header are one file."""
    result = layers(tmp_path, {
        "base/leaf.h": LEAF,
        "base/left.h": '#include "base/leaf.h"\n',
        "base/right.h": '\n#include "left.h"\n',
        "base/" + back: '#include "base/right.h"\n',
    })
    assert result.returncode == 1
    assert sorted(result.stdout.splitlines()) == [
        f"src/base/{back}:1: src/base/right leads back here, in a circle",
        "src/base/left.h:1: src/base/leaf leads back here, in a circle",
        "src/base/right.h:2: src/base/left leads back here, in a circle",
    ]


@pytest.mark.parametrize("lines, status", [(45, 0), (46, 1)])
def test_a_function_has_its_limit(tmp_path, lines, status):
    result = layers(tmp_path, {"base/long.c": "int f(void)\n{\n" + "\tf();\n" * lines + "}\n"})
    assert result.returncode == status


# All that scripts/test needs, but nothing that takes long or rights.
PRETENDED = {
    "id": "echo 1000",
    "make": "sleep 0.3",
    "scripts/install-deps": "",
    "sleep": '[ "$1" != 60 ] || set 0.05; exec %s "$1"' % shutil.which("sleep"),
    "sudo": 'echo "$*" >>"$ASKED"; [ "$1" != -n ] || shift; [ "$1" = -v ] || exec "$@"',
}


def test_sudo_asks_once_for_a_password(tmp_path):
    """However long it takes: what sudo remembers is renewed while it runs, and no longer."""
    (tmp_path / "scripts").mkdir()
    for name, script in PRETENDED.items():
        (tmp_path / name).write_text("#!/bin/sh\n%s\n" % script)
        (tmp_path / name).chmod(0o755)
    for name in ("scratch.bash", "sum-tests", "test"):
        shutil.copy(TOP / "scripts" / name, tmp_path / "scripts")
    asked = tmp_path / "asked"
    call(tmp_path / "scripts/test",
         env={**os.environ, "PATH": "%s:%s" % (tmp_path, os.environ["PATH"]), "ASKED": str(asked)})  # fmt: skip
    lines = asked.read_text().splitlines()
    assert lines[0] == "-v" and lines.count("-v") == 1
    assert lines.count("-n -v") >= 2
    time.sleep(0.3)
    assert asked.read_text().splitlines() == lines


# --- its sum -------------------------------------------------------------------------------------

PIECES = {
    "unit": "ok 1 - it counts\n",
    "systemd": "skipped: all tests of the service: no emulator\n",
    "lint": "",
    "oldest-kernel": "6.1 (6.1.0): 1 passed\n",
    "newest-kernel": "7.2 (7.2.0): 1 passed\n",
}
NO_ROOT = "this root lacks capabilities, as in a container"


def sum_of(folder, **reasons):
    """What sum-tests says of two tests of each piece, which pytest skipped for a reason, or ran."""
    for name, text in PIECES.items():
        (folder / (name + ".out")).write_text(text)
        (folder / (name + ".status")).write_text("0")
    for name in ("readers", "live", "waits", "time"):
        skipped = '<skipped message="%s"/>' % reasons[name] if reasons.get(name) else ""
        cases = '<testcase classname="c" name="one">%s</testcase>' % skipped
        cases += '<testcase classname="c" name="two">%s</testcase>' % skipped
        (folder / (name + ".xml")).write_text("<testsuites>%s</testsuites>" % cases)
        (folder / (name + ".status")).write_text("0")
    result = call(TOP / "scripts/sum-tests", str(folder))
    return result.returncode, result.stdout.splitlines()


def test_what_root_cannot_run_is_skipped(tmp_path):
    status, lines = sum_of(tmp_path, live=NO_ROOT, waits=NO_ROOT, time=NO_ROOT)
    assert lines == [
        *(f"skipped: {name}: all 2 tests: {NO_ROOT}" for name in ("live", "waits", "time")),
        "skipped: systemd: all tests of the service: no emulator",
        "6 passed, 0 failed, 4 skipped",
    ]
    assert status == 0


@pytest.mark.parametrize("reason", ["needs root", "this kernel has no BTF"])
def test_it_is_a_failure_if_nothing_ran_for_another_reason(tmp_path, reason):
    status, lines = sum_of(tmp_path, live=reason)
    assert status == 1 and "failed: live: nothing ran" in lines
    assert lines[-1] == "10 passed, 1 failed, 3 skipped"


# --- flags ---------------------------------------------------------------------------------------


def test_what_is_no_number_is_left_out(tmp_path):
    """The compiler names the line, in a file whose folder may have any name."""
    listed, folder = tmp_path / "list", tmp_path / "a b"
    listed.write_text("[ errno.h ]\nsome  KNOWN=E2BIG  UNKNOWN=no_such_thing\n")
    folder.mkdir()
    result = call(TOP / "scripts/gen-flags", listed, env={**os.environ, "TMPDIR": str(folder), "CC": "cc"})
    assert (result.returncode, result.stderr) == (0, "")
    assert '"KNOWN", 7ULL' in result.stdout and "UNKNOWN" not in result.stdout


# --- what it leaves behind -----------------------------------------------------------------------

# A shell that hears a signal in the moment before it waits obeys it only when the job has ended.
SLEEPER = """
. scripts/scratch.bash
scratch_place() { echo "$FOLDER"; }
scratch_make sleeper TERM
touch "$scratch/file"
job_start sleep 15
echo $! >"$JOB"
wait $!
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_any_moment_leaves_no_folder_and_no_job(tmp_path, number):
    folder, job = tmp_path / "folder", tmp_path / "job"
    folder.mkdir()
    started = 0
    for moment in range(20):
        job.write_text("")
        script = subprocess.Popen(
            ["bash", "-eu", "-c", SLEEPER],
            env={**os.environ, "FOLDER": str(folder), "JOB": str(job)},
            cwd=TOP,
            start_new_session=True,
            # A shell in the background, and nohup, have them ignored, and then no shell can hear them.
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        )
        time.sleep(moment / 200)
        # However slow the machine is, one of them comes when the job is there.
        while moment == 19 and not job.read_text() and script.poll() is None:
            time.sleep(0.01)
        script.send_signal(number)
        # More of them while it cleans up.
        if moment % 2:
            time.sleep(0.002)
            script.send_signal(signal.SIGTERM)
        try:
            script.wait(timeout=2)
        except subprocess.TimeoutExpired:
            # While bash sets a trap, it ignores the signal: a user presses Ctrl-C again.
            script.send_signal(number)
        assert script.wait(timeout=30) != 0
        assert list(folder.iterdir()) == []
        if job.read_text():
            started += 1
            with pytest.raises(ProcessLookupError):
                os.kill(int(job.read_text()), 0)
    assert started


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_makes_in_a_build_is_its_owners(tmp_path, bare):
    (tmp_path / "chown").symlink_to(shutil.which("chown"))
    folder = tmp_path / "build"
    (folder / "systemd/tests").mkdir(parents=True)
    (folder / "systemd/tests/null").symlink_to("/dev/null")
    os.chown(folder, 1234, 1235)
    result = call(TOP / "scripts/test-systemd", env={**bare, "O": str(folder)})
    assert result.returncode == 0 and result.stdout.startswith("skipped: ")
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in folder.rglob("*")} == {(1234, 1235)}
    assert os.stat("/dev/null").st_uid == 0


@pytest.mark.parametrize("name, mode, is_taken", [("plain", 0o711, True), ("a b", 0o755, False), ("mine", 0o700, False)])
def test_servers_and_their_users_can_use_the_folder(name, mode, is_taken):
    script = ". scripts/scratch.bash; scratch_make it TERM; umask; dirname $scratch"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        place = Path(folder) / name
        place.mkdir()
        place.chmod(mode)
        result = call("bash", "-euc", "umask 077; " + script, env={**os.environ, "TMPDIR": str(place)}, cwd=TOP)
        assert result.stdout.split() == ["0022", str(place) if is_taken else "/tmp"]
        assert (result.stderr == "") == is_taken and result.stderr.count("\n") <= 1


# Each has a folder of its own.
@pytest.mark.parametrize("words", ["gen-flags src/syscalls/flags.list", "check-docs", "check-units"])
def test_ctrl_c_at_any_moment_leaves_no_folder(tmp_path, words):
    folder, seen = tmp_path / "folder", 0
    folder.mkdir()
    for name in ("cc", "systemd-analyze"):
        (tmp_path / name).write_text("#!/bin/sh\nexec sleep 1\n")
        (tmp_path / name).chmod(0o755)
    for moment in range(20):
        script = subprocess.Popen(
            ["sh", *("scripts/" + words).split()],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(folder),
                 "O": BUILD, "CC": "cc"},
            cwd=TOP,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(moment / 100)
        while moment == 19 and not list(folder.iterdir()) and script.poll() is None:
            time.sleep(0.01)
        seen += len(list(folder.iterdir()))
        # To all of it, as from a terminal.
        os.killpg(script.pid, signal.SIGINT)
        assert script.wait(timeout=30) != 0
        assert list(folder.iterdir()) == []
    assert seen


# --- the stack of BPF programs -------------------------------------------------------------------

# Functions that call each other, each of which fills an array.
CHAIN_HEAD = "#define NOINLINE __attribute__((noinline))\n"
CHAIN_LINK = """NOINLINE static int call%d(int x) {
	volatile char bytes[%d]; for (int i = 0; i < sizeof(bytes); i++) bytes[i] = x; return bytes[x & 7] + %s; }
"""
CHAIN_PROGRAM = """__attribute__((section("raw_tp"), used)) int program(int *x) { return call1(*x); }
"""


def stack_check(folder, sizes):
    """What check-stack says of a program that calls functions with arrays of these sizes."""
    clang = re.search(r"^CLANG := (\S+)$", make_in(TOP, "-pn", "help", capture_output=True, text=True).stdout, re.M)
    source = CHAIN_HEAD
    for i in range(len(sizes), 0, -1):
        source += CHAIN_LINK % (i, sizes[i - 1], "call%d(x)" % (i + 1) if i < len(sizes) else "0")
    (folder / "bpf").mkdir()
    (folder / "chain.c").write_text(source + CHAIN_PROGRAM)
    words = ["-target", "bpf", "-O2", "-w", "-c", folder / "chain.c", "-o", folder / "bpf" / "chain.bpf.o"]
    subprocess.run([clang[1], *words], check=True)
    return call(TOP / "scripts/check-stack", "-v", env=dict(os.environ, O=str(folder)))


@pytest.mark.parametrize("sizes, taken, said", [
    ([160, 224], 416, "in 3 of 8 calls: program 0, call1 160, call2 224"),
    ([224, 160], 416, "in 3 of 8 calls"),
    ([160, 232], 448, "in 3 of 8 calls"),
    ([224, 256], 512, "in 3 of 8 calls"),
    ([32] * 7, 256, "in 8 of 8 calls"),
])  # fmt: skip
def test_a_chain_of_calls_that_fits(tmp_path, sizes, taken, said):
    result = stack_check(tmp_path, sizes)
    assert result.returncode == 0, result.stdout
    assert "stack: program takes %d of 512 bytes %s" % (taken, said) in result.stdout


@pytest.mark.parametrize("sizes, said", [
    ([224, 264], "544 of 512 bytes in 3 of 8 calls"),
    ([32] * 8, "288 of 512 bytes in 9 of 8 calls"),
])  # fmt: skip
def test_a_chain_of_calls_that_takes_too_much(tmp_path, sizes, said):
    result = stack_check(tmp_path, sizes)
    assert result.returncode == 1 and "stack: program takes " + said in result.stdout


def test_nothing_that_was_built_is_not_in_order(tmp_path):
    result = call(TOP / "scripts/check-stack", env=dict(os.environ, O=str(tmp_path)))
    assert (result.returncode, result.stdout) == (1, "stack: no BPF programs in %s/bpf: build first\n" % tmp_path)


# --- make ----------------------------------------------------------------------------------------


def make_in(folder, *words, **options):
    # Not those of the make that runs us.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    argv = ["make", "-s", "-C", folder, *words]
    options = {"env": environment, "stdin": subprocess.DEVNULL, "check": True, **options}
    return subprocess.run(argv, timeout=600, **options)


@pytest.mark.parametrize("tool", ["CLANG", "BPFTOOL"])
def test_a_build_without_its_tools_ends_with_one_sentence(tmp_path, tool):
    made = make_in(TOP, "-j4", "O=%s" % (tmp_path / "new"), tool + "=", check=False, capture_output=True, text=True)
    assert made.returncode == 2 and made.stdout == ""
    assert made.stderr.count("\n") == 1
    assert "no %s here: run scripts/install-deps" % tool.lower() in made.stderr
    assert not list(tmp_path.iterdir())


def test_an_empty_folder_for_a_build_is_the_usual_one():
    made = make_in(TOP, "-pn", "O=", "help", capture_output=True, text=True)
    assert "\nABS_O := %s/build\n" % TOP in made.stdout


def test_a_folder_that_cannot_be_made_is_no_folder_at_all():
    made = make_in(TOP, "-n", "O=/proc/a b", "help", check=False, capture_output=True, text=True)
    assert made.returncode == 2 and "O=/proc/a b cannot be reached through a link" in made.stderr


def test_flags_for_the_linker_are_added_to_those_of_a_program(tmp_path):
    made = make_in(TOP, "-n", "O=%s" % tmp_path, "LDFLAGS=-Wl,-z,now", "%s/collect/verifier" % tmp_path,
                   capture_output=True, text=True)  # fmt: skip
    assert "-Wl,-z,now -Wl,--wrap=" in made.stdout


def test_the_folder_of_the_sources_may_have_any_name(tmp_path):
    sources = tmp_path / "it's  here"
    for name in ("bpf", "include", "scripts", "src"):
        shutil.copytree(TOP / name, sources / name)
    shutil.copy(TOP / "Makefile", sources)
    made = "build/bpf/probe.bpf.o", "build/src/base/text.o"
    make_in(sources, "O=build", *made)
    assert all((sources / name).exists() for name in made)


# --- make install --------------------------------------------------------------------------------

SYSTEM = {
    "bin/bpftruss": 0o755,
    "share/man/man5/bpftruss.conf.5": 0o644,
    "share/man/man7/bpftruss-stacks.7": 0o644,
    "share/man/man8/bpftruss.8": 0o644,
    "share/man/man8/bpftruss-count.8": 0o644,
    "share/bash-completion/completions/bpftruss": 0o644,
    "share/zsh/site-functions/_bpftruss": 0o644,
    "share/fish/vendor_completions.d/bpftruss.fish": 0o644,
    "share/doc/bpftruss/LICENSE": 0o644,
    "share/doc/bpftruss/listen.conf": 0o644,
    "share/doc/bpftruss/otlp.conf": 0o644,
    "share/doc/bpftruss/stacks.conf": 0o644,
    "lib/systemd/system/bpftruss.service": 0o644,
    "lib/systemd/system/bpftruss.socket": 0o644,
    "lib/sysusers.d/bpftruss.conf": 0o644,
    "lib/tmpfiles.d/bpftruss.conf": 0o644,
}
CONFIG = "etc/bpftruss/bpftruss.conf"


def make(target, destination, *variables):
    make_in(TOP, target, "O=" + BUILD, "DESTDIR=%s" % destination, *variables)


def files(folder):
    """{path: permissions} of all files below a folder."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
        if not path.is_dir()
    }


def manual_pages():
    return {"share/man/man%s/%s" % (path.suffix[1:], path.name): 0o644
            for path in (TOP / "man").glob("*.[1-9]")}  # fmt: skip


@pytest.mark.parametrize("prefix", [None, "/usr", "/opt/our tools"])
def test_install_and_uninstall(tmp_path, prefix):
    variables = ["PREFIX=" + prefix] if prefix else []
    place = (prefix or "/usr/local")[1:] + "/"
    make("install", tmp_path, *variables)
    expected = {place + path: mode for path, mode in {**SYSTEM, **manual_pages()}.items()}
    assert files(tmp_path) == {**expected, CONFIG: 0o644}
    unit = (tmp_path / place / "lib/systemd/system/bpftruss.service").read_text()
    assert "\nExecStart=/%sbin/bpftruss daemon\n" % place.replace(" ", r"\x20") in unit
    assert "@" not in "".join(line for line in unit.splitlines() if line.startswith("Exec"))
    make("uninstall", tmp_path, *variables, "CLANG=", "BPFTOOL=")
    assert list(tmp_path.iterdir()) == []


def test_folders_of_others_stay(tmp_path):
    """A /usr/local has its folders before anything is in them, as on a system."""
    prefix = "PREFIX=%s" % (tmp_path / "usr")
    config = "SYSCONFDIR=%s" % (tmp_path / "etc")
    os.makedirs(tmp_path / "etc")
    theirs = tmp_path / "usr/share/man/man8/theirs.8"
    theirs.parent.mkdir(parents=True)
    theirs.touch(0o644)
    make("install", "", prefix, config)
    assert os.access(tmp_path / "usr/bin/bpftruss", os.X_OK)
    make("uninstall", "", prefix, config, "KEPT=%s %s" % (tmp_path / "etc", tmp_path / "usr/bin"))
    assert files(tmp_path / "usr") == {"share/man/man8/theirs.8": 0o644}
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_dir()}
    assert left == {"etc", "usr", "usr/bin", "usr/share", "usr/share/man", "usr/share/man/man8"}


def test_a_destination_may_have_blanks(tmp_path):
    make("install", tmp_path / "a b")
    assert len(files(tmp_path / "a b/usr/local")) == len({**SYSTEM, **manual_pages()})
    make("uninstall", tmp_path / "a b")
    assert list((tmp_path / "a b").iterdir()) == []


def test_a_changed_configuration_is_kept(tmp_path):
    make("install", tmp_path)
    with (tmp_path / CONFIG).open("a") as config:
        config.write("# mine\n")
    before = (tmp_path / CONFIG).read_bytes()
    make("install", tmp_path)
    assert (tmp_path / CONFIG).read_bytes() == before
    make("uninstall", tmp_path)
    assert files(tmp_path) == {CONFIG: 0o644}


# --- what shells complete ------------------------------------------------------------------------

BPFTRUSS = os.path.join(BUILD, "bpftruss")


def in_bash(*words):
    """The words that bash offers for the last one."""
    script = """
        compopt() { :; }
        source completion/bpftruss.bash
        COMP_WORDS=(%s) COMP_CWORD=%d
        _bpftruss
        printf '%%s\\n' "${COMPREPLY[@]}"
    """ % (" ".join(map(shlex.quote, (BPFTRUSS, *words))), len(words))
    result = subprocess.run(["bash", "-euc", script], cwd=TOP, capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return set(result.stdout.split())


def in_fish(*words):
    if not shutil.which("fish"):
        pytest.skip("no fish here")
    line = shlex.join(("bpftruss", *words[:-1])) + " " + words[-1]
    script = 'source completion/bpftruss.fish; complete -C "$argv"'
    with tempfile.TemporaryDirectory() as home:
        path = BUILD + ":" + os.environ["PATH"]
        result = subprocess.run(["fish", "-c", script, line], cwd=TOP, capture_output=True, text=True,
                                env={"HOME": home, "PATH": path}, timeout=60)
    assert result.returncode == 0 and not result.stderr, result.stderr
    offered = {line.split("\t")[0] for line in result.stdout.splitlines()}
    # A long option's argument stands behind its name.
    return {re.sub("^--[^=]*=", "", word) for word in offered}


ZSH_SETUP = r"""
unsetopt zle_bracketed_paste always_last_prompt list_packed; setopt nobeep
PS2= RPS1= LISTMAX=9999 fpath=($PWD/completion $fpath)
autoload -Uz compinit; compinit -u -D; bindkey '^I' list-choices; PS1=READ${:-Y}
"""


def in_zsh(*words):
    if not shutil.which("zsh"):
        pytest.skip("no zsh here")
    line = shlex.join(("bpftruss", *words[:-1])) + " " + words[-1]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 1000, 300, 0, 0))
    environment = {**os.environ, "PATH": BUILD + ":" + os.environ["PATH"], "TERM": "vt100"}
    with subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=TOP,
                          env=environment, start_new_session=True) as zsh:
        os.close(slave)

        def typed(text, end):
            os.write(master, text.encode())
            shown = b""
            while end not in shown:
                assert select.select([master], [], [], 30)[0], shown
                shown += os.read(master, 1 << 16)
            return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\0", "", shown.decode())

        typed(ZSH_SETUP, b"READY")
        shown = typed(line + "\t\x15print -r EN${:-D}\n", b"END")
        zsh.kill()
    os.close(master)
    return set(shown.split("print -r")[0].replace("READY", " ").replace(line.rstrip(), " ").split())


@pytest.mark.parametrize("complete", [in_bash, in_fish, in_zsh])
@pytest.mark.parametrize(
    "words, offered, withheld",
    [
        ([""], {"top", "doctor", "help"}, {"sleep", "ls"}),
        (["s"], {"snapshot", "status", "sleep"}, {"top"}),
        (["-c", ""], set(), {"top", "sleep"}),
        (["-c", "slee"], {"sleep"}, {"snapshot"}),
        (["--"], {"--count", "--stacks", "--slower-than"}, {"--once", "--socket"}),
        (["-c", "-"], {"-p", "--pid"}, {"--once", "snapshot"}),
        (["-c", "--sort", "p"], {"pid", "p50", "p90", "p99"}, {"--pid", "calls"}),
        (["-c", "--columns", "calls,m"], {"min", "max"}, {"pid"}),
        (["-t", "opena"], {"openat", "openat2"}, {"open", "read"}),
        (["-t", "open,wri"], {"write", "writev"}, {"writing", "pwritev"}),
        (["-t", "!%f"], {"%file", "%fstat", "%fstatfs"}, {"%desc"}),
        (["-t", "open,%ne"], {"%network"}, {"%file"}),
        (["--sort", "calls,-p9"], {"p90", "p99"}, {"p50"}),
        (["--by", ""], {"tid", "arg0", "comm"}, set()),
        (["--by", "pid,co"], {"comm"}, {"tid"}),
        (["-c", "--top", ""], set(), {"--top", "snapshot", "README.md"}),
        (["-U", "roo"], {"root"}, set()),
        (["-o", "READ"], {"README.md"}, set()),
        (["-p", str(os.getpid())], {str(os.getpid())}, set()),
        (["top", "--"], {"--once", "--interval"}, {"--csv", "--socket"}),
        (["top", "--sort", ""], {"calls", "lock", "oldest"}, {"p99", "min"}),
        (["top", "--by", "c"], {"comm"}, {"cgroup"}),
        (["daemon", "--metrics-by", "c"], {"cgroup", "comm"}, {"unit"}),
        (["snapshot", "--by", ""], {"comm", "unit"}, {"tid", "arg0"}),
        (["snapshot", "--since", ""], {"10m", "BOOT", "README.md"}, set()),
        (["history", "--step", "a"], {"all"}, set()),
        (["compare", "n"], {"now"}, set()),
        (["compare", "--"], {"--fail-over"}, {"--once"}),
        (["baseline", "s"], {"save"}, {"--replace"}),
        (["help", "t"], {"top"}, {"status", "tail"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_words(complete, words, offered, withheld):
    got = complete(*words)
    # What stands before the last word of a list; a comma that goes on with it.
    got |= {re.sub("^(.*,)?[-+!?=]*", "", word.rstrip(",")) for word in got if not word.startswith("--")}
    assert offered <= got and not withheld & got, got


def test_an_optional_argument_is_completed_behind_its_equals_sign():
    assert in_bash("--stacks", "=", "") == in_bash("--stacks", "=") == {"calls", "time"}
    assert in_bash("--trace", "=", "opena") == {"openat", "openat2"}
    assert in_bash("--failed", "=", "ENOE") == {"ENOENT", "ENOEXEC"}
    assert in_bash("--failed", "=", "EIO,ENOE") == {"EIO,ENOENT", "EIO,ENOEXEC"}
    assert in_bash("--format", "=", "str") == {"strace"}
    assert in_fish("--stacks=") >= {"calls", "time"}
    assert in_zsh("-c", "--stacks=") >= {"calls", "time"}


def test_neither_a_number_nor_a_command_has_our_words():
    assert in_bash("-c", "--min-calls", "") == set()
    assert not {"--follow", "--file"} & in_bash("-c", "-f", "make", "--f")
