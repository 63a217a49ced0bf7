# SPDX-License-Identifier: BSD-2-Clause
"""/metrics of the daemon, as Debian's Prometheus reads it."""

import socket
import subprocess

import pytest

from daemons import start_daemon
from harness import NATIVE, run, until
from prometheus import Prometheus, need, port_free


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


def test_promtool_finds_no_fault(live, tmp_path):
    promtool = need("promtool")
    daemon = start_daemon(live, tmp_path / "daemon")
    live.play("calls")
    _, headers, body = daemon.request("/metrics")
    assert headers["Content-Type"].startswith("text/plain")
    result = subprocess.run(
        [promtool, "check", "metrics"], input=body, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_open_metrics_is_given_to_whoever_prefers_it(live, tmp_path):
    daemon = start_daemon(live, tmp_path / "daemon")
    accept = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}
    _, headers, body = daemon.request("/metrics", headers=accept)
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_over_tcp_there_is_nothing_else(live, tmp_path):
    port = port_free()
    start_daemon(live, tmp_path / "daemon", "--listen", "127.0.0.1:%d" % port)
    curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"]
    for path, status in (("/metrics", "200"), ("/v1/status", "403"), ("/v1/snapshot", "403")):
        result = subprocess.run(
            curl + ["http://127.0.0.1:%d%s" % (port, path)], capture_output=True, text=True,
            check=True,
        )
        assert result.stdout == status, path


def test_a_stranger_who_says_a_byte_at_a_time_is_cut_off(live, tmp_path):
    """He is never silent, yet his connection ends; others are answered meanwhile."""
    port = port_free()
    start_daemon(live, tmp_path / "daemon", "--listen", "127.0.0.1:%d" % port)
    address = "http://127.0.0.1:%d/metrics" % port
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.settimeout(0.5)

        def is_cut_off():
            try:
                stranger.sendall(b"G")
                return stranger.recv(1) == b""
            except TimeoutError:
                subprocess.run(["curl", "-sf", "-o", "/dev/null", address], check=True)
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
