# SPDX-License-Identifier: BSD-2-Clause
"""
All pairs of the options of a report, on one saved snapshot: a pair works, and what both of them ask for
can be seen, or it is refused in one sentence. Nothing is silently ignored.
"""

import csv
import io
import itertools
import json
import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BPFTRUSS = os.path.join(os.environ.get("O", str(TOP / "build")), "bpftruss")

OPTIONS = [
    "--by comm", "--by user,syscall", "--by unit", "--by container", "--by pid",
    "--sort -syscall", "--sort +calls", "--top 1", "--columns calls,p99", "--min-calls 50",
    "-Z", "-z", "-t read,futex", "-n nginx", "--waiting read", "--width 40",
    "--wide", "--hist", "--errors", "--csv", "--json", "--stacks", "--stacks=time",
    "--format strace", "--format folded", "--format flame", "--format pprof", "--format chart", "--format html",
]  # fmt: skip

# Neither of two can be seen beside the other, and none is ignored.
SAME = {
    # It is one: a table that has more than that of truss is the wide one.
    "--wide": {"--by comm", "--by user,syscall", "--by unit", "--by container", "--by pid",
               "--columns calls,p99", "--waiting read", "--hist", "--errors", "--csv", "--json"},
    # These have it already.
    "--json": {"--stacks", "--stacks=time"},
    "--errors": {"--by comm"},
    # A page has all weights, and here its rows begin with the same.
    "--format html": {"--stacks"},
    # So it is with these processes and calls.
    "-z": {"--by comm", "--by unit", "--by container", "--by pid", "--top 1", "-t read,futex"},
    "-Z": {"--sort -syscall", "--top 1", "-t read,futex"},
    "--top 1": {"--min-calls 50"},
    "--sort -syscall": {"-t read,futex"},
    "--sort +calls": {"--waiting read"},
    # All that are wide anyhow have less than 40 columns, or no limit.
    "--width 40": {"--sort +calls", "--top 1", "--min-calls 50", "-Z", "-z", "-t read,futex",
                   "-n nginx", "--sort -syscall", "--stacks", "--stacks=time", "--csv", "--json",
                   "--errors", "--format strace", "--format folded", "--format flame",
                   "--format pprof", "--format chart", "--format html", "--columns calls,p99", "--by unit",
                   "--by container", "--hist", "--by comm", "--by pid", "--by user,syscall",
                   "--waiting read", "--wide"},
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Two processes of two users in two containers, with stacks, errors, and calls that wait."""
    data = json.loads((TOP / "tests/fuzz/seeds/json/stacks").read_text())
    owners = [("www-data", "a" * 64), ("postgres", "b" * 64)]
    for process, (user, container) in zip(data["processes"], owners):
        process.update(user=user, cgroup="/system.slice/docker-%s.scope" % container,
                       cgroup_id=process["pid"], uid=process["pid"],
                       unit="docker-%s.scope" % container)  # fmt: skip
    # Some that always fail, and some of a kind that never do.
    reads = next(row for row in data["rows"] if row["comm"] == "nginx" and row["syscall"] == "read")
    fails = dict(reads, nr=257, syscall="openat", calls=60, errors=60, errnos={"ENOENT": 60},
                 histogram=[[1280, 1536, 60]], stacks=[], bytes=0)  # fmt: skip
    works = dict(fails, nr=1, syscall="write", calls=55, errors=0, errnos={}, histogram=[[1280, 1536, 55]])
    data["rows"] += [fails, works]
    path = tmp_path_factory.mktemp("saved") / "saved.json"
    path.write_text(json.dumps(data))
    return path


def report(saved, *options):
    words = [word for option in options for word in option.split(" ", 1)]
    return subprocess.run(
        [BPFTRUSS, "report", str(saved), *words], capture_output=True, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def single(saved):
    return {option: report(saved, option) for option in OPTIONS}


def is_one_sentence(result):
    text = result.stderr.decode()
    return text.startswith("bpftruss: ") and text.count("\n") == 1 and len(text) < 500


def must_parse(options, output):
    if "--json" in options:
        json.loads(output)
    elif "--csv" in options:
        lines = list(csv.reader(io.StringIO(output.decode())))
        assert len(lines) > 1 and len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_changes_the_report(saved, single, option):
    result = single[option]
    assert result.returncode == 0 and result.stdout, result.stderr
    must_parse([option], result.stdout)
    assert result.stdout != report(saved).stdout or option in ("--width 40", "--sort -syscall")


def is_repeated(pair):
    """The last one counts, but of formats."""
    names = {option.split("=")[0].split(" ")[0] for option in pair}
    return len(names) == 1 and names != {"--format"}


PAIRS = [pair for pair in itertools.combinations(OPTIONS, 2) if not is_repeated(pair)]


@pytest.mark.parametrize("one, other", PAIRS)
def test_a_pair_works_or_is_refused(saved, single, one, other):
    result = report(saved, one, other)
    if result.returncode:
        assert result.returncode == 2 and is_one_sentence(result), result.stderr
        assert not result.stdout
        return
    assert result.stdout and not result.stderr
    must_parse([one, other], result.stdout)
    for option, beside in ((one, other), (other, one)):
        if beside in SAME.get(option, ()) or option in SAME.get(beside, ()):
            continue
        assert result.stdout != single[option].stdout, "%s changes nothing" % beside


# --- pictures --------------------------------------------------------------------------------------


def flame_of(saved, tmp_path, *options):
    path = tmp_path / "flame.svg"
    done = report(saved, "--flame %s" % path, *options)
    assert done.returncode == 0, done.stderr
    return path.read_text()


def test_a_flame_graph_by_other_keys(saved, tmp_path):
    by_user = flame_of(saved, tmp_path, "--flame-by user")
    assert '<g class="box comm"' in by_user and "<title>www-data\nuser\n" in by_user
    inverted = flame_of(saved, tmp_path, "--flame-by syscall")
    assert ">Callers of system calls, by number<" in inverted
    refused = report(saved, "--flame %s" % (tmp_path / "x.svg"), "--flame-by tid")
    assert refused.returncode == 1 and b"take one with --by tid" in refused.stderr


def compare(*words):
    return subprocess.run([BPFTRUSS, "compare", *map(str, words)], capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip


def test_a_differential_flame_graph(saved, tmp_path):
    """The same calls in half the time are twice as many per second; their shares are the same."""
    data = json.loads(saved.read_text())
    data["elapsed_ns"] //= 2
    double, picture = tmp_path / "double.json", tmp_path / "changes.svg"
    double.write_text(json.dumps(data))
    done = compare(saved, double, "--flame", picture)
    assert done.returncode == 0 and "calls" in done.stdout, done.stderr
    rates = picture.read_text()
    assert rates.count('<g class="box d6') == rates.count('<g class="box ') > 10
    assert ": now 2.00 times as much per second</title>" in rates
    done = compare(saved, double, "--flame", picture, "--flame-normalize", "--flame-by", "syscall")
    shares = picture.read_text()
    assert done.returncode == 0 and shares.count('<g class="box d3') == shares.count('<g class="box ')


def test_a_side_without_stacks_is_told(saved, tmp_path):
    bare, picture = TOP / "tests/golden/saved.json", tmp_path / "changes.svg"
    done = compare(saved, bare, "--flame", picture)
    assert done.returncode == 1 and "%s has no call stacks: save a snapshot" % bare in done.stderr
    assert done.stdout == "" and not picture.exists()
