# SPDX-License-Identifier: BSD-2-Clause
"""Plays the recipes of README.md on an Apache under load: each command that it has must work."""

import contextlib
import os
import re
import shlex
import subprocess

import pytest

from daemons import start_daemon
from harness import BPFTRUSS, DEADLINE_S, TOP, meanwhile
from test_apache import needs_apache, start_apache  # noqa: F401 it is a fixture

pytestmark = needs_apache


def recipes():
    """The commands of bpftruss in the section, as they stand there."""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
        section = re.search(r"^## Seven recipes$(.*?)^## ", file.read(), re.M | re.S).group(1)
    return re.findall(r"^    ((?:sudo )?bpftruss .*)$", section, re.M)


# What differs here: who is asked, how long it takes, what is installed, when there is a history.
CHANGES = [
    (r"^sudo ", ""),
    (r"\b1234\b", "PID"),
    (r"-d 10\b", "-d 0.5"),
    (r"-u (nginx|postgresql)\b", "-n apache2"),
    (r"--as-user make\b", "--as-user=nobody make --version"),
    (r"^bpftruss top$", "bpftruss top --once"),
    (r"^bpftruss -(p|t|-slower-than) ", r"bpftruss -d 0.5 -\1 "),
    ("100ms", "1us"),
    (r'compare "[^"]+" \S+', "compare 1m now"),
    (r'--from "yesterday 22:00" --to 06:00', "--from -1h"),
]

# What a report of each must have, by what is in the command.
EXPECTED = [
    ("--version", r"^exact"),
    ("-t open --failed", r'^\d+/\d+:\topenat\(AT_FDCWD, ".*/\.htaccess", .* Err#2 ENOENT$'),
    ("bpftruss -p ", r"^(?:\d+/\d+:\t)?accept4\(\d.* = \d"),
    ("--slower-than", r"^ +libc\S*`"),
    ("--in-flight", r"^apache2 \d+.*: (accept4|poll|read|epoll)"),
    ("bpftruss top", r"^ *\d+ apache2 "),
    ("--by comm,syscall", r"^apache2 +\S+ +\d+"),
    ("--errors --by path", r"\.htaccess"),
    ("--errors", r"ENOENT|EAGAIN|all errors"),
    ("--stacks", r"^sys totals:|^exact|^sum"),
    ("--flame", r"^accept4 |^openat "),
    ("history", r"^start|unit|calls"),
    ("compare", r"calls"),
    ("-w", r"^sum"),
]


def expected_of(command):
    return next(pattern for part, pattern in EXPECTED if part in command)


def test_there_are_recipes():
    assert len(recipes()) >= 9


def adapt(command, pid):
    for pattern, replacement in CHANGES:
        command = re.sub(pattern, replacement, command)
    return command.replace("PID", str(pid))


@pytest.mark.parametrize("recipe", recipes())
def test_a_recipe_works(live, start_apache, tmp_path, recipe):  # noqa: F811
    apache = start_apache("All")
    words = shlex.split(adapt(recipe, apache.worker))
    assert words[0] == "bpftruss"
    words[0] = BPFTRUSS
    if words[1] in ("history", "compare"):
        daemon = start_daemon(live, tmp_path / "daemon", "--interval", "1s")
        words += ["--socket", daemon.socket, "--state-dir", daemon.state]
        apache.requests(5)
    # A server that hangs answers nothing.
    with contextlib.ExitStack() as stack:
        if "--in-flight" not in words:
            stack.enter_context(meanwhile(lambda: apache.requests(3)))
        result = subprocess.run(
            words, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
    assert result.returncode == 0, result.stderr
    text = result.stderr if "make" in words else result.stdout
    assert re.search(expected_of(recipe + " ".join(words)), text, re.M), text + result.stderr
    for picture in {"--flame", "--heatmap"} & set(words):
        assert (tmp_path / words[words.index(picture) + 1]).read_text().startswith("<svg")
    if "--html" in words:
        assert "exact" in (tmp_path / words[words.index("--html") + 1]).read_text()
