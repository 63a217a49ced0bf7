# SPDX-License-Identifier: BSD-2-Clause
"""/metrics of the daemon, as Debian's Prometheus reads it."""

import socket
import subprocess

import pytest

from daemons import start_daemon
from harness import NATIVE, need, run, until
from prometheus import Prometheus, port_free


def test_prometheus_reads_what_the_workload_says(live, tmp_path):
    need("prometheus")
    port = port_free()
    options = ["--listen", "127.0.0.1:%d" % port, "--metrics-by", "comm"]
    daemon = start_daemon(live, tmp_path / "daemon", *options)
    live.play("calls")
    rows = daemon.snapshot("-n", "calls").rows
    with Prometheus(tmp_path, "127.0.0.1:%d" % port) as prometheus:
        prometheus.wait_scrape()
        for row in rows:
            if row["abi"] == NATIVE and not row["syscall"].startswith("syscall_"):
                query = 'bpftruss_syscalls_total{comm="calls",syscall="%s"}' % row["syscall"]
                assert prometheus.value(query) == row["calls"], query
                query = query.replace("syscalls_total", "syscall_duration_seconds_count")
                timed = sum(count for _, _, count in row["histogram"])
                assert prometheus.value(query) == timed, query


def test_open_metrics_is_given_to_whoever_prefers_it_and_promtool_finds_no_fault(live, tmp_path):
    daemon = start_daemon(live, tmp_path / "daemon")
    live.play("calls")
    accept = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}
    _, headers, body = daemon.request("/metrics", headers=accept)
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
    _, headers, body = daemon.request("/metrics")
    assert headers["Content-Type"].startswith("text/plain")
    argv = [need("promtool"), "check", "metrics"]
    result = subprocess.run(argv, input=body, capture_output=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_over_tcp_there_is_nothing_else_and_strangers_are_cut_off(live, tmp_path):
    """He who says a byte at a time is never silent, yet cut off; others are answered meanwhile."""
    port = port_free()
    start_daemon(live, tmp_path / "daemon", "--listen", "127.0.0.1:%d" % port)

    def ask(path):
        url = "http://127.0.0.1:%d%s" % (port, path)
        curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", url]
        return subprocess.run(curl, capture_output=True, text=True, check=True).stdout

    for path, status in (("/metrics", "200"), ("/v1/status", "403"), ("/v1/snapshot", "403")):
        assert ask(path) == status, path
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.settimeout(0.5)

        def is_cut_off():
            try:
                stranger.sendall(b"G")
                return stranger.recv(1) == b""
            except TimeoutError:
                assert ask("/metrics") == "200"
                return False
            except OSError:
                return True

        until(is_cut_off, "the connection ends")


@pytest.mark.parametrize("address", ["0.0.0.0:9477", "192.0.2.1:9477", "nonsense", "127.0.0.1"])
def test_only_loopback_addresses_are_listened_on(tmp_path, address):
    place = ["--socket", tmp_path / "s", "--state-dir", tmp_path]
    result = run("daemon", *place, "--listen", address)
    assert result.returncode in (1, 2)
    assert result.stderr.count("\n") == 1 and address in result.stderr, result.stderr
