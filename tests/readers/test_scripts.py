# SPDX-License-Identifier: BSD-2-Clause
"""Scripts print help and do nothing else when asked for it, and one sentence where they cannot go on."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
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


def test_the_demo_wants_root_or_sudo(bare):
    """Before it installs or builds anything."""
    # The script asks which user runs it, whoever runs this test.
    some_user = Path(bare["PATH"]) / "id"
    some_user.write_text("#!/bin/sh\necho 1000\n")
    some_user.chmod(0o755)
    result = call(TOP / "scripts/demo", env=bare)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1 and "as root" in result.stderr


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


# --- what it leaves behind -----------------------------------------------------------------------

# A shell that hears a signal in the moment before it waits obeys it only when the job has ended.
SLEEPER = """
. scripts/scratch.bash
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
            env={**os.environ, "TMPDIR": str(folder), "JOB": str(job)},
            cwd=TOP,
            start_new_session=True,
            # A shell in the background, and nohup, have them ignored, and then no shell can hear them.
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        )
        time.sleep(moment / 200)
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
