# SPDX-License-Identifier: BSD-2-Clause
"""
Lists what is in the kernel: BPF programs, maps and links, by id, and which processes hold them.
Others may use bpftruss at the same time, so nothing is ever compared by number.
"""

import glob
import json
import re
import subprocess

from harness import slurp, until

KINDS = {"prog": "prog_id", "map": "map_id", "link": "link_id", "btf": "btf_id"}
ATTACHED = ("prog", "map", "link")

# Names of bpftruss's programs and maps that no other tool uses.
OURS = {
    "prog": re.compile(
        "^(on_sys_enter|on_sys_exit|on_enter_plain|on_exit_plain|on_sched_switch|on_cgroup_made|adopt_targets)$"),
    "map": re.compile("^(truss_bp[.].*|returned_(records|slots|tallies)|foreign_slots)$"),
}


def bpftool(*words):
    """Tries again: some versions fail when an object goes while they list it."""
    argv = ["bpftool", "-j", *words]

    def answer():
        result = subprocess.run(argv, stdout=subprocess.PIPE)
        return result if result.returncode == 0 else None

    return until(answer, " ".join(argv) + " succeeds").stdout


def listed(kind):
    return json.loads(bpftool(kind, "list") or "[]")


def map_keys(number):
    """The keys that are in a map, as tuples of bytes."""
    dump = json.loads(bpftool("map", "dump", "id", str(number)))
    return {tuple(entry["key"]) for entry in dump}


def in_kernel(kind):
    return {each["id"] for each in listed(kind)}


def ours(kind):
    """Ids of programs or maps that are of some bpftruss, and of the links of such programs."""
    if kind == "link":
        programs = ours("prog")
        return {each["id"] for each in listed("link") if each.get("prog_id") in programs}
    return {each["id"] for each in listed(kind) if OURS[kind].match(each.get("name", ""))}


def held(pid="[0-9]*"):
    """{kind: ids} that a process holds by a file descriptor, or any process."""
    found = {kind: set() for kind in KINDS}
    for path in glob.glob("/proc/%s/fdinfo/*" % pid):
        try:
            text = slurp(path).decode()
        except OSError:
            continue
        for kind, field in KINDS.items():
            found[kind].update(int(n) for n in re.findall(r"^%s:\t(\d+)$" % field, text, re.M))
    return found


def must_be_unloaded(objects):
    """Waits until the kernel lets go of what a process held, whoever else has it."""
    until(lambda: not any(ids & in_kernel(kind) for kind, ids in objects.items()),
          "the kernel frees all that was loaded")  # fmt: skip


def attached():
    """The objects of each bpftruss that is there. One in another pid namespace seems to hold none."""
    return {kind: ours(kind) for kind in ATTACHED}


class Orphans:
    """Objects of bpftruss that nobody holds, but for some. gone() is asked until it is true."""

    def __init__(self, others):
        now = attached()
        self.left = {kind: now[kind] - others[kind] for kind in ATTACHED}

    def gone(self):
        """An object that is being made has no descriptor yet, so an orphan is one each time."""
        now, holders = attached(), held()
        for kind in ATTACHED:
            self.left[kind] &= now[kind] - holders[kind]
        return not any(self.left.values())
