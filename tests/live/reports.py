# SPDX-License-Identifier: BSD-2-Clause
"""Reports that are not JSON: how tests get them, read them and add them up."""

import csv
import io
import json
import re

from harness import until

KEYS = ("pid", "tid", "comm", "unit", "user", "syscall", "abi", "arg0")
SUMS = ("calls", "errors", "interrupted", "no_return", "untimed")


def count_text(live, options, name, *args):
    """A text report of a workload, and the workload's table."""
    target, bpftruss = live.begin(name, *args, options=options, json=False)
    text = bpftruss.end_text()
    assert target.wait() == 0, target.stderr()
    return text, target.table()


def count_both(live, options, name, *args):
    """A text report and the JSON report of the same calls."""
    target = live.workload(name, *args)
    json, text = live.attach(target.pid, "-f"), live.attach(target.pid, "-f", *options, json=False)
    target.go()
    report = json.report()
    return text.end_text(), report


def parse_csv(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows and None not in rows[0]
    assert all(None not in row.values() for row in rows), "a line is too short"
    return rows


def count_csv(live, options, name, *args):
    text, table = count_text(live, ["--csv"] + list(options), name, *args)
    return parse_csv(text), table


def page_tables(path):
    """The tables of a page by id, each as a list of rows by field."""
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.S)
    return {
        table["id"]: [dict(zip((field["name"] for field in table["fields"]), row)) for row in table["rows"]]
        for table in json.loads(data)["tables"]
    }


def by(rows, *keys, value="calls"):
    """{(key, …): calls}; no two rows may have the same keys."""
    found = {tuple(row[key] for key in keys): int(row[value]) for row in rows}
    assert len(found) == len(rows)
    return found


def add_up(rows, field):
    return sum(int(row[field] or 0) for row in rows)


def must_add_up(rows, table):
    expected = table.counts().values()
    assert {f: add_up(rows, f) for f in SUMS} == {f: sum(c[f] for c in expected) for f in SUMS}


def crew_at_rest(live, *options):
    """Seven threads that made one call, two calls, and so on, and now sleep."""
    target, bpftruss = live.begin("sleepers", "crew", 7, options=options, json=False)
    until(lambda: len(target.threads()) == 1 + 7, "threads")
    for tid in target.threads():
        target.wait_asleep_in("read", tid=tid)
    return target, bpftruss
