# SPDX-License-Identifier: BSD-2-Clause
"""
The dashboards of contrib/grafana: what Grafana wants of a file that it imports, and that each query
of each panel, asked of a Prometheus with scrapes of a daemon, gives data.
"""

import json
import re
from pathlib import Path

import pytest

from daemons import start_daemon
from harness import need, until
from prometheus import Prometheus, port_free

DASHBOARDS = {path.stem: json.loads(path.read_text())
              for path in (Path(__file__).resolve().parents[2] / "contrib" / "grafana").glob("*.json")}  # fmt: skip
# What fails, syncs and hangs: an open of a FIFO waits for a writer.
BUSY = """
import ctypes, os, sys, time
with open(sys.argv[2] + "/cgroup.procs", "w") as procs:
    procs.write(str(os.getpid()))
os.mkfifo(sys.argv[1] + "/fifo")
if not os.fork():
    ctypes.CDLL(None).prctl(1, 9)
    open(sys.argv[1] + "/fifo")
fd = os.open(sys.argv[1] + "/file", os.O_CREAT | os.O_WRONLY)
while True:
    os.write(fd, b"x")
    os.fsync(fd)
    os.access("/no/such/file", os.F_OK)
    time.sleep(0.05)
"""
UNIT = "bpftruss-busy.service"


def targets(dashboard):
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"]
            for target in panel["targets"]]  # fmt: skip


def test_all_are_there():
    assert set(DASHBOARDS) == {"fleet", "host", "unit"}
    for member in ("uid", "title"):
        assert len({dashboard[member] for dashboard in DASHBOARDS.values()}) == len(DASHBOARDS)


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_it_can_be_imported(name):
    dashboard = DASHBOARDS[name]
    inputs = {"${%s}" % one["name"] for one in dashboard["__inputs"]}
    assert dashboard["schemaVersion"] >= 36 and "id" not in dashboard
    variables = {one["name"] for one in dashboard["templating"]["list"]}
    used, cells, ids = set(), set(), set()
    for panel in [*dashboard["panels"], *dashboard["templating"]["list"]]:
        assert panel["datasource"]["uid"] in inputs
        text = json.dumps(panel)
        used |= set(re.findall(r"\$(\w+)", text)) | set(re.findall(r"\$\{(\w+)\}", text))
    for panel in dashboard["panels"]:
        assert panel["options"].get("legend", {"showLegend": True})["showLegend"] is True
        ids.add(panel["id"])
        place = panel["gridPos"]
        covered = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                   for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
        assert not covered & cells and place["x"] + place["w"] <= 24, panel["title"]
        cells |= covered
    assert len(ids) == len(dashboard["panels"])
    assert used - {"__rate_interval", "__range"} == variables | {"DS_PROMETHEUS"}


@pytest.fixture
def scraped(live, tmp_path, cgroup):
    """A Prometheus that has read the metrics of a busy unit, and the value of each variable."""
    need("prometheus")
    live.spawn("python3", "-c", BUSY, str(tmp_path), cgroup(UNIT))
    target = "127.0.0.1:%d" % port_free()
    start_daemon(live, tmp_path / "daemon", "--listen", target, "-u", UNIT)
    (tmp_path / "prometheus").mkdir()
    with Prometheus(str(tmp_path / "prometheus"), target) as prometheus:
        yield prometheus.wait_scrape(), target


@pytest.mark.waits
def test_every_query_gives_data(scraped):
    prometheus, target = scraped
    values = {"__rate_interval": "20s", "__range": "1m", "instance": target, "unit": UNIT,
              "latency": "fsync"}  # fmt: skip

    def data(query):
        found = prometheus.query(query)
        return found and all(value == value for _, value in found)

    for name, dashboard in DASHBOARDS.items():
        for title, expression in targets(dashboard):
            query = re.sub(r"\$(\w+)", lambda match: values[match[1]], expression)
            until(lambda query=query: data(query), "%s: %s: %s" % (name, title, query))
        for variable in dashboard["templating"]["list"]:
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)",
                                         variable["query"]["query"]).groups()  # fmt: skip
            series = re.sub(r"\$(\w+)", lambda match: values[match[1]], series)
            found = prometheus.query(series)
            assert values[variable["name"]] in {labels[label] for labels, _ in found}, series
