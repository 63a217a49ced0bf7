# SPDX-License-Identifier: BSD-2-Clause
"""docs/FLEET.md: its queries give what it says, its configurations are accepted, and its options exist."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BPFTRUSS = os.path.join(os.environ.get("O", str(TOP / "build")), "bpftruss")
TEXT = (TOP / "docs/FLEET.md").read_text()
UIDS = {"orders-a": "4b7e1c1e-0a55-4b1e-9d3f-1f6f2c7d1a01", "canary": "9c2d77aa-6b1e-4e0c-8a57-3f0b9e6c5d03"}


def promtool(*words, **more):
    if not shutil.which("promtool"):
        pytest.skip("no promtool here")
    return subprocess.run(["promtool", *words], capture_output=True, text=True, check=False, **more)


def blocks(language):
    return re.findall(r"^```%s\n(.*?)^```$" % language, TEXT, re.M | re.S)


def series(text, values):
    return "  - {series: '%s', values: '%s'}" % (text, values)


# An hour of samples; 60 or 1200 calls a minute are 1 or 20 a second.
def given():
    lines = []
    for i, (pod, uid) in enumerate(UIDS.items()):
        node, step = "node-%d" % i, 20 if pod == "canary" else 1
        name = '{instance="%s",%%s,syscall="openat"}' % node
        lines += [
            series('bpftruss_syscalls_total' + name % 'pod_uid="%s"' % uid, "0+%dx60" % (60 * step)),
            series('bpftruss_syscalls_total' + name % 'container="%012d"' % i, "0+%dx60" % (60 * step)),
            series('bpftruss_target_info{instance="%s",container="%012d",container_id="%064d"}' % (node, i, i), "1x60"),
            series('kube_pod_info{namespace="shop",pod="%s",uid="%s"}' % (pod, uid), "1x60"),
            series('kube_pod_container_info{namespace="shop",pod="%s",container="main",container_id="containerd://%064d"}'
                   % (pod, i), "1x60"),
        ]  # fmt: skip
    return "\n".join(lines)


def expected(labels):
    return "\n".join(
        "    - {labels: '{%s,namespace=\"shop\",pod=\"%s\",syscall=\"openat\"}', value: %d}"
        % (labels(i, uid), pod, 20 if pod == "canary" else 1)
        for i, (pod, uid) in enumerate(UIDS.items())
    )


@pytest.mark.parametrize("which, labels", [
    (0, lambda i, uid: 'pod_uid="%s"' % uid),
    (1, lambda i, uid: 'instance="node-%d",container="%012d",container_id="%064d"' % (i, i, i)),
])  # fmt: skip
def test_names_are_joined(tmp_path, which, labels):
    query = " ".join(blocks("promql")[which].split())
    # Of the two groupings a host has one.
    query = query.replace('{syscall="openat"}', '{syscall="openat",pod_uid!=""}')
    if which:
        query = query.replace("bpftruss_syscalls_total[", 'bpftruss_syscalls_total{container!=""}[')
    path = tmp_path / "test.yml"
    path.write_text(
        "evaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n%s\n  promql_expr_test:\n"
        "  - expr: '%s'\n    eval_time: 30m\n    exp_samples:\n%s\n" % (given(), query, expected(labels))
    )
    result = promtool("test", "rules", str(path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_prometheus_takes_its_configuration(tmp_path):
    found = [block for block in blocks("yaml") if "scrape_configs" in block]
    assert len(found) == 1
    (tmp_path / "prometheus.yml").write_text(found[0])
    for name in ("ca.pem", "token"):
        (tmp_path / name).write_text("x")
    result = promtool("check", "config", "--syntax-only", "prometheus.yml", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_daemon_knows_its_keys(tmp_path):
    (text,) = blocks("ini")
    path = tmp_path / "fleet.conf"
    path.write_text(text)
    argv = [BPFTRUSS, "daemon", "--check-config", "--config", path]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    # The files are not there; the keys are known.
    assert result.returncode == 1 and "cannot read /etc/bpftruss/server.pem" in result.stderr


def test_its_options_exist():
    lines = re.findall(r"\bbpftruss (snapshot|merge|report|compare) (.*)", TEXT)
    assert {verb for verb, _ in lines} == {"snapshot", "merge", "report", "compare"}
    for verb, words in lines:
        help = subprocess.run([BPFTRUSS, verb, "--help"], capture_output=True, text=True, check=True).stdout
        for option in re.findall(r"--[a-z-]+", words):
            assert option + " " in help or option + "\n" in help, (verb, option)


def test_its_numbers_add_up():
    """10,000 hosts, of what one has."""
    numbers = {name: float(value.replace(",", "")) for name, value in re.findall(r"^\| ([^|]+?) \| ([\d.,]+)", TEXT, re.M)}
    hosts, per_host, interval = 10000, numbers["series of a host, at most"], numbers["seconds between scrapes"]
    assert numbers["series of 10,000 hosts"] == hosts * per_host
    assert numbers["samples a second"] == pytest.approx(hosts * per_host / interval, rel=0.01)
