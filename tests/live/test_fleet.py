# SPDX-License-Identifier: BSD-2-Clause
"""
The commands of docs/FLEET.md, as they are written there, with three daemons that pass for hosts; but for
those of step 4, which `make test-systemd` tries.
"""

import os
import re
from pathlib import Path

from harness import BPFTRUSS, Process, Report, need, need_unshare, write

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "FLEET.md").read_text()

# Each host has a name, an address and a boot of its own. Bash opens what is not there. At the end all get a signal
# that have the process group of the script: Prometheus is a grandchild.
SCRIPT = r"""
trap 'trap "" TERM; kill 0; wait' EXIT
until_true() { for _ in {1..200}; do "$@" && return; sleep 0.1; done; echo "did not happen: $*" >&2; return 1; }
ip link set lo up
for i in 1 2 3; do ip address add 192.0.2.$i dev lo; done
mount --bind hosts /etc/hosts
. ./step-1; . ./step-2; . ./step-3
for host in web-1 web-2 web-3; do
	mkdir -m 700 $host $host/state
	cp $host.pem $host/server.pem && cp $host.key $host/server.key && cp token $host/token
	sed "s#/etc/bpftruss#$PWD/$host#; s/0.0.0.0/192.0.2.${host#web-}/" fleet.conf >$host/conf
	cat /proc/sys/kernel/random/uuid >$host/boot
	unshare --mount --uts bash -ec 'hostname "$0"; mount --bind "$0/boot" /proc/sys/kernel/random/boot_id
		exec bpftruss daemon --config "$0/conf" --socket "$PWD/$0/socket" --state-dir "$PWD/$0/state" -n bash' $host &
done
while :; do : <missing; sleep 0.2; done 2>/dev/null &
. ./step-6 >prometheus.log 2>&1 &
ask() { . ./step-5 >metrics && [ "$(cat metrics)" -gt 50 ]; }
until_true ask
query() { . ./step-7 >query && [ "$(grep -c ENOENT query)" = 3 ]; }
until_true query
. ./step-8; . ./step-9; . ./step-10
"""


def steps():
    """{number: commands}."""
    found = re.findall(r"^\*\*(\d+)\.\*\*(.*?)(?=^\*\*\d|^## )", TEXT, re.M | re.S)
    return {int(number): "".join(re.findall(r"^    (.*\n)", text, re.M)) for number, text in found}


def block(language, word):
    return next(text for text in re.findall(r"^```%s\n(.*?)^```" % language, TEXT, re.M | re.S) if word in text)


def test_each_step(live, tmp_path):
    for program in ("openssl", "curl", "ip", "promtool", "prometheus"):
        need(program)
    need_unshare("--net", "--mount")
    assert set(steps()) == set(range(1, 11))
    for number, commands in steps().items():
        assert commands, number
        write(str(tmp_path / ("step-%d" % number)), commands)
    write(str(tmp_path / "hosts"), "127.0.0.1 localhost\n" + "".join("192.0.2.%d web-%d\n" % (i, i) for i in (1, 2, 3)))
    write(str(tmp_path / "fleet.conf"), block("ini", "[metrics]"))
    write(str(tmp_path / "prometheus.yml"), block("yaml", "job_name: bpftruss").replace("15s", "1s"))
    environment = dict(os.environ, PATH=os.path.dirname(BPFTRUSS) + ":" + os.environ["PATH"])
    argv = ["unshare", "--net", "--mount", "--propagation", "private", "bash", "-ec", SCRIPT]
    script = live.add(Process, argv, cwd=tmp_path, env=environment)
    assert script.wait() == 0, script.stderr()
    assert "3 snapshots of 3 hosts" in script.stderr()
    report = script.stdout().decode()
    assert set(re.findall(r"^web-[123]", report, re.M)) == {"web-1", "web-2", "web-3"}, report
    Report((tmp_path / "fleet.json").read_bytes(), lossy=True).may_lose()
    assert "exact: no call is missing" in report
