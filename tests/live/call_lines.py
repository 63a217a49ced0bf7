# SPDX-License-Identifier: BSD-2-Clause
"""
Lines of single calls: bpftruss without -c writes them to a file, and what it says at its end is judged.

Each run that a test gets has been checked: what is shown, stated and lost adds up to what was counted, and
the lines are as many as it says.
"""

import collections
import functools
import os
import re
import signal

from harness import BPFTRUSS, Lossy, Process, slurp, until

CONCLUSION = re.compile(
    r"^bpftruss: (\d+) calls? shown(?: \+ (\d+) left out)?(?: \+ (\d+) after --max-events)?"
    r" \+ (\d+) lost = (\d+) counted$", re.M)
GAP = re.compile(r"^(?:… |strace: )(\d+) calls? of thread (\d+) not shown$", re.M)
BELOW = re.compile(r"^    .*$", re.M)
SLEEPING = re.compile(r"\(sleeping\.\.\.\)$", re.M)
PREFIX = r"(?:(?P<pid>\d+)/(?P<tid>\d+):\t)?"
LINE = re.compile(PREFIX + r"(?P<times>(?:(?:\d+\.\d{6}|-)\t)*)(?P<name>\w+)\((?P<arguments>.*?)\)"
                  r"(?:  +(?P<result>= .*|Err#\d+ .*|\((?:sleeping\.\.\.|refused|not returned)\)))?$")
STRACE = re.compile(r"(?P<tid>\d+) +(?P<time>\d+\.\d{6}) (?P<name>\w+)\((?P<arguments>.*)\) *"
                    r"= (?P<result>.*?)(?: <(?P<wall>\d+\.\d{6})>)?$")

Conclusion = collections.namedtuple("Conclusion", "shown left_out unread lost counted")


class Line:
    """One call, as one line of truss has it."""

    def __init__(self, text, form=LINE):
        found = form.match(text)
        assert found, "no line of a call: %r" % text
        fields = found.groupdict()
        self.text = text
        self.pid, self.tid = (int(fields.get(key) or 0) for key in ("pid", "tid"))
        self.times = fields.get("times", "").split()
        self.name, self.arguments = fields["name"], fields["arguments"]
        self.result = fields["result"] or ""
        self.below = []

    def is_asleep(self):
        return self.result == "(sleeping...)"

    def __repr__(self):
        return self.text


class Lines:
    """What one run has shown."""

    def __init__(self, text, stderr, form=LINE, has_room=True):
        self.text, self.form = text, form
        self.conclusion = Conclusion(*(
            int(number or 0) for number in CONCLUSION.findall(stderr)[-1]))
        self.gaps = [(int(tid), int(count)) for count, tid in GAP.findall(text)]
        assert not text or text.endswith("\n"), text[-200:]
        c = self.conclusion
        assert c.shown + c.left_out + c.unread + c.lost == c.counted, c
        # Behind --max-events nothing is stated; and nobody numbers calls of threads without a record.
        assert self.stated() == c.lost or c.unread or not has_room, (self.gaps, c)
        others = len(self.gaps) + len(BELOW.findall(text)) + len(SLEEPING.findall(text))
        assert text.count("\n") - others == c.shown, c

    @functools.cached_property
    def calls(self):
        """All lines of calls, also of those that sleep, each with the lines below it."""
        calls = []
        for line in self.text.split("\n")[:-1]:
            if line.startswith("    "):
                calls[-1].below.append(line.strip())
            elif not GAP.match(line):
                calls.append(Line(line, self.form))
        return calls

    @functools.cached_property
    def ended(self):
        return [call for call in self.calls if not call.is_asleep()]

    def stated(self):
        return sum(count for _, count in self.gaps)

    def must_have_lost_nothing(self):
        """Else the test is tried again: the rings are for hosts that have a CPU for the reader."""
        if self.conclusion.lost:
            raise Lossy({"calls": self.conclusion.lost})
        return self

    def of(self, *names):
        return [call for call in self.ended if call.name in names]

    def only(self, name):
        (call,) = self.of(name)
        return call

    def texts(self):
        return [call.text for call in self.ended]


class Calls(Process):
    """A running bpftruss that writes single calls into a file."""

    def __init__(self, directory, arguments, form=LINE, **options):
        self.report_path = os.path.join(directory, "calls")
        self.form = form
        argv = [BPFTRUSS, "-o", self.report_path] + [str(arg) for arg in arguments]
        super().__init__(directory, argv, **options)

    def wait_attached(self):
        def attached():
            ended = self.popen.poll() is not None
            found = "bpftruss: counting " in self.stderr()
            assert found or not ended, "bpftruss ended: " + self.stderr()
            return found

        until(attached, "bpftruss has attached")
        return self

    def lines(self, status=0, **how):
        """What one that ends by itself has shown."""
        assert self.wait() == status, self.stderr()
        return Lines(self.shown(), self.stderr(), self.form, **how)

    def shown(self):
        """What it has shown so far."""
        return slurp(self.report_path).decode("utf-8", "surrogateescape")

    def interrupt(self):
        self.signal(2)
        return self.lines()


def attach(live, pids, *options, **how):
    pids = [pids] if isinstance(pids, int) else pids
    listed = ",".join(str(pid) for pid in pids)
    return live.add(Calls, list(options) + ["-p", listed], **how).wait_attached()


def watch(live, *workload, options=(), **how):
    """A workload that was let go from its barrier once its calls were shown, and bpftruss."""
    target = live.workload(*workload)
    calls = attach(live, target.pid, *options, **how)
    target.go()
    return target, calls


def watch_too_late(live, threads, *options):
    """Threads of 100,000 calls each, and a bpftruss that reads the rings once all of them have ended."""
    target = live.workload("sequences", threads, 100000)
    calls = attach(live, target.pid, *options)
    calls.pause()
    target.play()
    calls.signal(signal.SIGCONT)
    return calls


def show(live, *workload, options=(), **how):
    """The lines of a workload that ends by itself."""
    target, calls = watch(live, *workload, options=options, **how)
    lines = calls.lines()
    assert target.wait() == 0, target.stderr()
    return lines


def show_command(live, *argv, options=(), status=0, **how):
    """The lines of a command."""
    return live.add(Calls, list(options) + list(argv), **how).lines(status)
