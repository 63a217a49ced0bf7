# SPDX-License-Identifier: BSD-2-Clause
"""
Tests what the daemon keeps of the past: history, gaps, baselines; comparisons of these; and
/metrics, as Debian's Prometheus reads it.
"""

import collections
import csv
import io
import json
import re
import socket
import socketserver
import sqlite3
import subprocess
import threading

import pytest

from cgroups import cgroup_mount
from daemons import counts, gap_reasons, of_steps, start_daemon, written
from harness import NATIVE, need, run, until
from prometheus import Prometheus, port_free
from reports import page_tables


def history(daemon, *options):
    return json.loads(daemon.verb("history", "--json", *options))


def all_steps(daemon, *options):
    """Counts of a part of the history, as one step."""
    return written(daemon, *options, "--step", "all")


def of_snapshot(daemon, *options):
    return counts([json.loads(daemon.verb("snapshot", "--json", *options))])


@pytest.fixture
def place(tmp_path):
    return tmp_path / "daemon"


def start(live, place):
    """Only one program is counted, so that what is compared does not change meanwhile."""
    return start_daemon(live, place, "-n", "calls", "--interval", "1s")


def start_and_play(live, place):
    """The same, with something in its history; and what it has counted."""
    daemon = start(live, place)
    live.play("calls")
    daemon.wait_intervals()
    return daemon, of_snapshot(daemon)


# --- history -------------------------------------------------------------------------------------


def pictures_have(daemon, folder, calls):
    """A heat map has all calls, by column and, but for those without a time, by cell; a chart has as many steps."""
    heatmap, chart = folder / "heatmap.svg", folder / "chart.svg"
    daemon.verb("history", "--from", "-10m", "-t", "*", "--heatmap", heatmap, "--chart", chart)
    text = heatmap.read_text()
    columns = [int(n) for n in re.findall(r'<rect class="panel"[^>]*><title>[^<]*\n(\d+) calls?</title>', text)]
    cells = [int(n) for n in re.findall(r'<rect class="c\d"[^>]*><title>[^<]*: (\d+) calls?</title>', text)]
    untimed = re.search(r"; (\d+) without a time", text)
    assert sum(columns) == calls
    assert sum(cells) == calls - int(untimed.group(1) if untimed else 0) and len(cells) > 5
    assert chart.read_text().count('class="hit"') >= len(columns) > 0
    printed = daemon.verb("history", "--from", "-10m", "--format", "chart", "--by", "comm", "--sort", "p99")
    assert printed.startswith("<svg ") and ">System calls, p99 by comm<" in printed


def test_the_history_has_what_was_counted_for_every_reader(live, place):
    daemon, wanted = start_and_play(live, place)
    assert sum(row["calls"] for row in wanted.values()) > 100
    assert all_steps(daemon) == wanted
    calls = {name: row["calls"] for (_, name), row in wanted.items()}
    with sqlite3.connect("file:%s/history.db?mode=ro" % daemon.state, uri=True) as file:
        query = "select syscall, sum(calls) from calls where comm = 'calls' group by 1"
        assert dict(file.execute(query)) == calls
    lines = list(csv.DictReader(io.StringIO(daemon.verb("history", "--csv", "--step", "all"))))
    assert {line["syscall"]: int(line["calls"]) for line in lines} == calls
    assert len(lines) == len(calls)
    pictures_have(daemon, place.parent, sum(calls.values()))
    page = place.parent / "history.html"
    daemon.verb("history", "--html", page)
    tables = page_tables(page)
    shown = tables["calls"] + tables.get("waiting", [])
    assert {row["syscall"]: row["calls"] for row in shown} == calls
    assert sum(row["calls"] or 0 for row in tables["steps"]) == sum(row["calls"] for row in tables["calls"])
    assert daemon.verb("history", "--format", "html", "--by", "unit").startswith("<!doctype html>")
    # Without a daemon the file tells.
    daemon.stop()
    options = ["--state-dir", daemon.state, "--json", "--step", "all"]
    result = run("history", "--socket", daemon.socket, *options)
    assert result.returncode == 0, result.stderr
    assert "no daemon is running" in result.stderr
    assert of_steps(json.loads(result.stdout)["steps"]) == wanted


def test_steps_add_up_to_the_whole(live, place):
    daemon = start(live, place)
    for _ in range(3):
        live.play("calls")
        daemon.wait_intervals(1)
    daemon.wait_intervals(1)
    steps = history(daemon, "--from", "1m", "--step", "1s")["steps"]
    assert len([step for step in steps if step["snapshot"]]) >= 3
    assert of_steps(steps) == of_snapshot(daemon)


def test_sums_by_key_have_all_calls(live, place):
    daemon, wanted = start_and_play(live, place)
    calls = {name: row["calls"] for (_, name), row in wanted.items()}
    for keys, name in ("call", "[all]"), ("user", "[all]"), ("comm", "calls"), ("comm,unit", "calls"):
        answer = json.loads(daemon.request("/v1/snapshot?from=1&sum=" + keys)[2])
        assert {process["comm"] for process in answer["processes"]} == {name}, keys
        assert all((process["uid"] is not None) == (keys == "user") for process in answer["processes"]), keys
        assert "unit" in keys or not any(process["cgroup"] for process in answer["processes"]), keys
        assert {name: row["calls"] for (_, name), row in counts([answer]).items()} == calls, keys
    for verb in ("history", "snapshot"):
        for by in ("user,syscall", "comm,syscall", "syscall", "comm,unit,syscall"):
            table = daemon.verb(verb, "--from", "10m", "--csv", "--by", by, *["--step", "all"] * (verb == "history"))
            lines = list(csv.DictReader(io.StringIO(table)))
            assert {line["syscall"]: int(line["calls"]) for line in lines} == calls, (verb, by)
            assert "comm" not in by or {line["comm"] for line in lines} == {"calls"}, (verb, by)
    for by, known in ("comm", {"calls": sum(calls.values())}), ("syscall", calls):
        compared = json.loads(daemon.verb("compare", "--by", by, "--json", "--", "10m", "-10m..now"))
        assert compared["left_out"] == 0
        for side in "a", "b":
            assert calls_of_side(compared, by, side) == known, (by, side)
    cgroup_mount()
    answer = json.loads(daemon.request("/v1/snapshot?from=1&sum=comm,unit")[2])
    assert all(process["cgroup"] for process in answer["processes"])


def calls_of_side(compared, key, side):
    """Calls of one side of a comparison by a key; what waits and what does not are groups of their own."""
    calls = collections.Counter()
    for group in compared["groups"]:
        calls[group[key]] += (group[side] or {"calls": 0})["calls"]
    return dict(calls)


def test_a_daemon_that_knows_no_sums_is_asked_without(live, place):
    daemon, wanted = start_and_play(live, place)
    calls = sum(row["calls"] for row in wanted.values())
    asked = []

    class Older(socketserver.StreamRequestHandler):
        def handle(self):
            target = self.rfile.readline().split()[1].decode()
            while self.rfile.readline().strip():
                pass
            asked.append(target)
            status, body = 400, b'{"error": "this path has no parameter \\"sum\\", only from to"}'
            if "sum=" not in target:
                status, _, body = daemon.request(target)
            self.wfile.write(b"HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))

    path = str(place / "older")
    with socketserver.ThreadingUnixStreamServer(path, Older) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = ["--socket", path, "-n", "calls", "--by", "comm"]
        compared = run("compare", *options, "--json", "--", "10m", "-10m..now")
        taken = run("snapshot", *options, "--csv", "--from", "10m")
        server.shutdown()
    assert compared.returncode == 0, compared.stderr
    assert calls_of_side(json.loads(compared.stdout), "comm", "b") == {"calls": calls}
    lines = list(csv.DictReader(io.StringIO(taken.stdout)))
    assert {line["comm"]: int(line["calls"]) for line in lines} == {"calls": calls}, taken
    assert ["sum=" in target for target in asked] == [True, False] * 3


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restart_leaves_a_gap_and_loses_nothing_that_was_written(live, place, end):
    daemon, first = start_and_play(live, place)
    getattr(daemon, end)()
    live.play("calls")
    again, second = start_and_play(live, place)
    both = all_steps(again, "--from", "10m")
    assert {key: row["calls"] for key, row in both.items()} == {
        key: first.get(key, {"calls": 0})["calls"] + row["calls"] for key, row in second.items()
    }
    assert "not_running" in gap_reasons(again, "--from", "10m", "--step", "all")
    assert "daemon was not running" in again.verb("history", "--from", "10m", "--step", "1s")


def test_since_boot_goes_beyond_the_daemon(live, place):
    def snapshot(which, *options):
        return json.loads(which.verb("snapshot", "--json", *options))

    daemon = start(live, place)
    live.play("calls")
    first = snapshot(daemon)
    daemon.stop()
    again = start(live, place)
    live.play("calls")
    both = snapshot(again, "--since", "BOOT")
    assert counts([both])["calls", "exit_group"]["calls"] == 2
    # Between the daemons nothing was counted.
    begin_ns = first["monotonic_ns"] - first["elapsed_ns"]
    assert both["paused_ns"] > 0 and "paused_ns" not in first
    assert both["monotonic_ns"] - both["elapsed_ns"] - both["paused_ns"] == begin_ns
    assert of_snapshot(again)["calls", "exit_group"]["calls"] == 1


def test_questions_write_nothing_and_know_what_is_not_written_yet(live, place):
    daemon = start_daemon(live, place, "-n", "calls", "--interval", "1h")
    live.play("calls")
    wanted = of_snapshot(daemon)
    assert wanted["calls", "exit_group"]["calls"] == 1
    assert of_snapshot(daemon, "--since", "BOOT") == wanted
    assert counts([daemon.get("/v1/snapshot?from=1")]) == wanted
    assert of_steps(history(daemon)["steps"]) == wanted
    daemon.verb("baseline", "save", "monday", "--from", "10m")
    assert counts([daemon.get("/v1/baselines/monday")]) == wanted
    lines = daemon.verb("history", "--csv", "--step", "all").splitlines()
    assert len(lines) == 1 + len(wanted)
    assert "\n" in daemon.verb("history")
    assert daemon.intervals() == 0
    daemon.stop()
    assert all_steps(start(live, place), "--from", "10m") == wanted


def test_no_history_is_kept_when_none_is_wanted(live, place):
    daemon = start_daemon(live, place, "--no-history")
    daemon.verb("history", status=1)
    assert "none is kept" in daemon.verb("status")


# --- baselines -----------------------------------------------------------------------------------


def test_baselines_are_kept_listed_compared_and_removed(live, place):
    """And not replaced by accident."""
    daemon, wanted = start_and_play(live, place)
    assert "no baselines" in daemon.verb("baseline", "list")
    daemon.verb("baseline", "save", "monday", "--from", "5m")
    listed = json.loads(daemon.verb("baseline", "list", "--json"))["baselines"]
    assert [baseline["name"] for baseline in listed] == ["monday"]
    assert counts([daemon.get("/v1/baselines/monday")]) == wanted
    assert counts([json.loads(daemon.verb("baseline", "show", "monday", "--json"))]) == wanted
    shown = run("baseline", "--socket", daemon.socket, "show", "monday")
    assert "\nsum " in shown.stdout
    assert re.search(r"^bpftruss: baseline monday, \S+ \S+ to .* s counted$", shown.stderr)
    assert "monday" in daemon.refusal("baseline", "save", "monday", status=[1])
    daemon.verb("baseline", "save", "monday", "--replace")
    for pair in (["monday", "now"], ["monday", "10m"], ["5m ago..now", "monday"]):
        assert "exit_group" in daemon.verb("compare", *pair, "--top", 100)
    page = place.parent / "compare.html"
    daemon.verb("compare", "monday", "10m", "--html", page)
    assert "exit_group" in {row["syscall"] for row in page_tables(page)["calls"]}
    assert json.loads(daemon.verb("compare", "monday", "now", "--json"))["schema"] == 1
    saved = place.parent / "of_history.json"
    saved.write_text(daemon.verb("baseline", "show", "monday", "--json"))
    for pair in (["monday", "now"], ["now", "monday"], ["5m ago..now", "now"], [saved, "now"]):
        said = daemon.refusal("compare", *pair, "--by", "pid", status=[2])
        assert "the history knows processes by name, user and unit, not by pid" in said
    assert "exit_group" in daemon.verb("compare", "now", "10m", "--by", "pid,syscall", "--top", "999")
    daemon.verb("baseline", "rm", "monday")
    assert "no baselines" in daemon.verb("baseline", "list")


@pytest.mark.parametrize("name", ["../x", "a b", "", ".", "x" * 65, "a?b"])
def test_names_that_are_none_are_refused(tmp_path, name):
    result = run("baseline", "--socket", tmp_path / "none", "save", name)
    assert result.returncode == 2 and "not a name" in result.stderr


def test_a_span_says_why_it_is_longer_than_was_asked(live, place):
    daemon = start_daemon(live, place, "-n", "calls")
    until(lambda: daemon.status("uptime_ns") > 3e9, "it has run for longer")
    said = run("snapshot", "--socket", daemon.socket, "--since", "1ms").stderr
    assert said.endswith(" s counted; it begins with the last reading before --since\n"), said
    said = run("snapshot", "--socket", daemon.socket, "--since", "BOOT").stderr
    assert said.endswith(" s counted\n"), said


# --- compare -------------------------------------------------------------------------------------


@pytest.fixture
def saved(live, tmp_path):
    """A report of steady calls, and the same twice as fast."""
    report, _ = live.run_workload("steady", 20, 101)
    same, faster = tmp_path / "same.json", tmp_path / "faster.json"
    same.write_bytes(report.text)
    report.data["elapsed_ns"] //= 2
    faster.write_text(json.dumps(report.data))
    return str(same), str(faster)


def test_a_regression_has_its_exit_status(saved):
    result = run("compare", *saved, "--fail-over", "20%")
    assert result.returncode == 3, result.stderr
    assert run("compare", *saved).returncode == 0
    assert run("compare", *reversed(saved), "--fail-over", "20%").returncode == 0
    same = run("compare", saved[0], saved[0], "--fail-over", "1%")
    assert (same.returncode, same.stderr) == (0, "")


def test_compare_says_what_it_does_not_know(live, place):
    said = start(live, place).refusal("compare", "nothing", "now", status=[1])
    assert '"nothing" is neither a file nor a span, and ' in said


@pytest.mark.parametrize("side", ["nothing", "now", "10m", "2h ago..now"])
def test_compare_without_a_daemon_says_that_there_is_none(tmp_path, side):
    result = run("compare", "--socket", tmp_path / "none", side, "now")
    assert result.returncode == 1
    assert "no daemon answers" in result.stderr and "neither" not in result.stderr, result.stderr


# --- metrics, as Prometheus reads them -----------------------------------------------------------


def test_prometheus_reads_what_the_workload_says(live, tmp_path):
    need("prometheus")
    port = port_free()
    options = ["--listen", "127.0.0.1:%d" % port, "--metrics-by", "comm",
               "--metrics-histograms", "all", "--metrics-series", "200000", "--metrics-top", "1000"]
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


@pytest.mark.waits
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
def test_other_addresses_than_loopback_are_refused_unless_said_twice(tmp_path, address):
    place = ["--socket", tmp_path / "s", "--state-dir", tmp_path]
    result = run("daemon", *place, "--listen", address)
    assert result.returncode in (1, 2)
    assert result.stderr.count("\n") == 1 and address in result.stderr, result.stderr
