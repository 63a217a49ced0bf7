# SPDX-License-Identifier: BSD-2-Clause
"""Tests what `make install` leaves below DESTDIR, and that `make uninstall` takes it away again."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("O", str(TOP / "build"))
SYSTEM = {
    "bin/bpftruss": 0o755,
    "share/man/man5/bpftruss.conf.5": 0o644,
    "share/man/man7/bpftruss-stacks.7": 0o644,
    "share/man/man8/bpftruss.8": 0o644,
    "share/man/man8/bpftruss-count.8": 0o644,
    "share/bash-completion/completions/bpftruss": 0o644,
    "share/doc/bpftruss/LICENSE": 0o644,
    "share/doc/bpftruss/stacks.conf": 0o644,
    "lib/systemd/system/bpftruss.service": 0o644,
    "lib/systemd/system/bpftruss.socket": 0o644,
    "lib/sysusers.d/bpftruss.conf": 0o644,
    "lib/tmpfiles.d/bpftruss.conf": 0o644,
}
CONFIG = "etc/bpftruss/bpftruss.conf"


def make(target, destination, *variables):
    # Not those of the make that runs us.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    argv = ["make", "-s", "-C", TOP, target, "O=" + BUILD, "DESTDIR=%s" % destination, *variables]
    subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, check=True, timeout=600)


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


@pytest.mark.parametrize("prefix", [None, "/usr"])
def test_install_and_uninstall(tmp_path, prefix):
    variables = ["PREFIX=" + prefix] if prefix else []
    place = (prefix or "/usr/local")[1:] + "/"
    make("install", tmp_path, *variables)
    expected = {place + path: mode for path, mode in {**SYSTEM, **manual_pages()}.items()}
    assert files(tmp_path) == {**expected, CONFIG: 0o644}
    unit = (tmp_path / place / "lib/systemd/system/bpftruss.service").read_text()
    assert "\nExecStart=/%sbin/bpftruss daemon\n" % place in unit
    assert "@" not in "".join(line for line in unit.splitlines() if line.startswith("Exec"))
    make("uninstall", tmp_path, *variables)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_others_stay(tmp_path):
    """A /usr/local has its folders before anything is in them, as on a system."""
    prefix = "PREFIX=%s" % (tmp_path / "usr")
    config = "SYSCONFDIR=%s" % (tmp_path / "etc")
    os.makedirs(tmp_path / "etc")
    theirs = tmp_path / "usr/share/man/man8/theirs.8"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
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
