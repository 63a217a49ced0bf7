# SPDX-License-Identifier: BSD-2-Clause
"""Tests what Prometheus and its tools make of the metrics that the unit test left in SAMPLES_DIR. A
program or module that is not here is a test that is skipped, by name."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "live"))

from prometheus import Prometheus, Server, need  # noqa: E402

SAMPLES = Path(os.environ["SAMPLES_DIR"])
NAMES = ["web", "web_pid", "web_cgroup", "hostile", "overflow", "empty"]
FORMATS = {
    "openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8",
    "prom": "text/plain; version=0.0.4; charset=utf-8",
}


def sample(name, form):
    return (SAMPLES / f"metrics_{name}.{form}").read_bytes()


def sample_lines(text):
    return [line for line in text.decode().splitlines() if not line.startswith("#")]


def promtool(*words, text=None):
    return subprocess.run([need("promtool"), "check", *words], input=text, capture_output=True,
                          timeout=300)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_promtool(name):
    done = promtool("metrics", text=sample(name, "prom"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_promtool_finds_fault():
    """It would say so."""
    text = re.sub(rb"(?m)^# HELP bpftruss_attached .*\n", b"", sample("web", "prom"))
    done = promtool("metrics", text=text)
    assert done.returncode != 0 and b"bpftruss_attached" in done.stderr


def families(name, form):
    parser = pytest.importorskip({"openmetrics": "prometheus_client.openmetrics.parser",
                                  "prom": "prometheus_client.parser"}[form])
    return list(parser.text_string_to_metric_families(sample(name, form).decode()))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_python_client(name, form):
    found = families(name, form)
    samples = [one for family in found for one in family.samples]
    assert len(samples) == len(sample_lines(sample(name, form)))
    assert len({family.name for family in found}) == len(found)
    keys = {(one.name, tuple(sorted(one.labels.items()))) for one in samples}
    assert len(keys) == len(samples)
    assert all(family.documentation for family in found)


@pytest.mark.parametrize("form", FORMATS)
def test_python_client_types(form):
    kinds = {family.name: (family.type, family.unit) for family in families("web", form)}
    unit = "seconds" if form == "openmetrics" else ""
    assert kinds["bpftruss_syscalls"] == ("counter", "")
    assert kinds["bpftruss_syscall_duration_seconds"] == ("histogram", unit)
    assert kinds["bpftruss_prog_run_seconds"] == ("counter", unit)
    assert kinds["bpftruss_build" + ("" if unit else "_info")] == ("info" if unit else "gauge", "")


def test_hostile_names_come_back():
    calls = next(family for family in families("hostile", "openmetrics")
                 if family.name == "bpftruss_syscalls")
    comms = {one.labels["comm"] for one in calls.samples}
    assert {"a\"b\\c'd", "one\\x0atwo\\x0d\\x09x", "</script>", "visible"} <= comms


@pytest.fixture
def serve():
    """serve(name, form) offers a sample and returns (HOST:PORT, what was asked to accept)."""
    servers = []

    def start(name, form):
        accepts = []

        def answer(request):
            accepts.append(request.headers["Accept"])
            return 200, FORMATS[form], sample(name, form)

        servers.append(Server(answer))
        return servers[-1].target, accepts

    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize("form", FORMATS)
def test_prometheus_reads_all(serve, tmp_path, form):
    need("prometheus")
    target, accepts = serve("web", form)
    with Prometheus(tmp_path, target) as prometheus:
        prometheus.wait_scrape()
        assert prometheus.value("up") == 1
        lines = sample_lines(sample("web", form))
        assert prometheus.value("scrape_samples_scraped") == len(lines)
        assert prometheus.value("sum(bpftruss_syscalls_total)") == 6118
        assert prometheus.value('bpftruss_syscalls_total{unit="nginx.service",syscall="read"}') == 4000
        assert prometheus.value("sum by (errno) (bpftruss_syscall_errors_total{errno='EAGAIN'})") == 160
        assert prometheus.value('bpftruss_syscall_duration_seconds_bucket{'
                                'syscall="read",le="4.096e-06"}') == 3600
        assert prometheus.value('bpftruss_syscall_duration_seconds_sum{syscall="read"}') == 0.8054
        slow = prometheus.value("histogram_quantile(0.95, sum by (le) "
                                '(bpftruss_syscall_duration_seconds_bucket{syscall="read"}))')
        assert 0.001048576 <= slow <= 0.004194304
        labels, value = prometheus.query("bpftruss_target_info")[0]
        assert value == 1 and labels["cgroup"] == "/system.slice/nginx.service"
    assert all("application/openmetrics-text" in accept for accept in accepts) and accepts


def test_prometheus_reads_hostile_names(serve, tmp_path):
    need("prometheus")
    target, _ = serve("hostile", "openmetrics")
    with Prometheus(tmp_path, target) as prometheus:
        prometheus.wait_scrape()
        assert len(prometheus.query("bpftruss_syscalls_total")) == 14
        found = prometheus.query("bpftruss_syscalls_total{comm='one\\\\x0atwo\\\\x0d\\\\x09x'}")
        assert [value for _, value in found] == [1]


# --- docs/METRICS.md ---

DOCUMENT = (Path(__file__).resolve().parent.parent.parent / "docs" / "METRICS.md").read_text()


def test_document_names_every_metric():
    written = set()
    for name in NAMES:
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", sample(name, "prom").decode(), re.M))
        written |= set(types.items())
    written = {(name, "info" if name.endswith("_info") else kind) for name, kind in written}
    documented = set(re.findall(r"^\| `(\w+)` \| (\w+)", DOCUMENT, re.M))
    assert documented == written


@pytest.mark.parametrize("index,check", [(0, ("config", "--syntax-only")), (1, ("rules",))])
def test_document_examples(tmp_path, index, check):
    example = re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.S)[index]
    (tmp_path / "example.yml").write_text(example)
    done = promtool(*check, tmp_path / "example.yml")
    assert done.returncode == 0, done.stderr
