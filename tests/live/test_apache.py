# SPDX-License-Identifier: BSD-2-Clause
"""
Apache from Debian's package, in an instance of its own: one prefork worker on loopback, which gets
the same request over and over.
"""

import http.client
import os
import pathlib
import shutil
import tempfile

import pytest

from harness import slurp, until
from prometheus import port_free
from reports import parse_csv

APACHE = shutil.which("apache2") or shutil.which("apache2", path="/usr/sbin")
MODULES = pathlib.Path("/usr/lib/apache2/modules")

needs_apache = pytestmark = pytest.mark.skipif(
    not APACHE or not MODULES.is_dir(), reason="needs Debian's apache2"
)

# After its answer the worker waits for the client to close: how often it looks is up to chance.
WAITS_FOR_CLIENT = {"read", "poll"}

PAGE = "hello " * 41
CONFIG = """
ServerRoot {root}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {root}/pid
ErrorLog {root}/error.log
DefaultRuntimeDir {root}
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule mime_module {modules}/mod_mime.so
TypesConfig /dev/null
User nobody
Group nogroup
StartServers 1
MinSpareServers 1
MaxSpareServers 1
MaxRequestWorkers 1
KeepAlive Off
DocumentRoot {pages}
<Directory />
  Require all granted
  AllowOverride {override}
</Directory>
"""


class Apache:
    def __init__(self, live, override, more="", page=PAGE):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="bpftruss-apache-"))
        self.pages = self.root / "one" / "two" / "three"
        self.pages.mkdir(parents=True)
        self.root.chmod(0o755)
        (self.pages / "index.html").write_text(page)
        self.port = port_free()
        config = self.root / "apache.conf"
        text = CONFIG.format(
            root=self.root, port=self.port, modules=MODULES, pages=self.pages, override=override
        )
        config.write_text(text + more)
        self.process = live.spawn(APACHE, "-f", config, "-DFOREGROUND")
        self.worker = until(self.find_worker, "Apache starts its worker; " + self.process.stderr())
        until(self.is_idle, "Apache's worker waits for requests")
        # A worker does some things only once.
        self.requests(3)

    def find_worker(self):
        assert self.process.popen.poll() is None, self.process.stderr()
        return next(iter(self.process.children()), None)

    def is_idle(self):
        """Asleep in accept4."""
        return slurp("/proc/%d/syscall" % self.worker).split()[0] in (b"288", b"242")

    def requests(self, number):
        for _ in range(number):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            connection.request("GET", "/index.html")
            assert connection.getresponse().read() == PAGE.encode()
            connection.close()
        until(self.is_idle, "Apache's worker is done")

    def directories(self):
        """How many there are from the root down to the page: each may have an .htaccess."""
        return len((self.pages / "index.html").parents)


@pytest.fixture
def start_apache(live):
    started = []

    def start(override="None", **how):
        started.append(Apache(live, override, **how))
        return started[-1]

    yield start
    live.close()
    for apache in started:
        shutil.rmtree(apache.root)


def count_requests(live, apache, number):
    bpftruss = live.attach(apache.worker)
    apache.requests(number)
    return bpftruss.interrupt()


def calls(report):
    return {row["syscall"]: row["calls"] for row in report.rows if row["calls"]}


def test_every_call_of_a_request_is_counted_once_for_each_request(live, start_apache):
    report = count_requests(live, start_apache(), 100)
    report.must_have("accept4", calls=100, errors=0, in_flight=1)
    counts = calls(report)
    assert {"accept4", "openat", "close"} <= set(counts)
    uneven = {name: n for name, n in counts.items() if n % 100 and name not in WAITS_FOR_CLIENT}
    assert uneven == {}
    report.must_have("openat", calls=100, errors=0)


def test_twice_the_requests_are_twice_the_calls(live, start_apache):
    apache = start_apache()
    once, twice = (calls(count_requests(live, apache, number)) for number in (100, 200))
    for name in set(once) - WAITS_FOR_CLIENT:
        assert twice[name] == 2 * once[name], name


def test_allowoverride_on_the_root_looks_for_htaccess_in_every_directory(live, start_apache):
    apache = start_apache("All")
    row = count_requests(live, apache, 100).only("openat")
    # It looks below the page as well, which is no directory.
    assert row["errnos"] == {"ENOENT": 100 * apache.directories(), "ENOTDIR": 100}
    assert row["calls"] - row["errors"] == 100


def test_errors_by_path_name_each_htaccess(live, start_apache):
    apache = start_apache("All")
    bpftruss = live.attach(apache.worker, "--csv", "--errors", "--by", "path", json=False)
    apache.requests(100)
    rows = [row for row in parse_csv(bpftruss.stop_text()) if row["path"].endswith("/.htaccess")]
    found = {(row["syscall"], row["path"], row["errno"]): int(row["count"]) for row in rows}
    page = apache.pages / "index.html"
    wanted = {("openat", str(folder / ".htaccess"), "ENOENT"): 100 for folder in page.parents}
    assert found == {**wanted, ("openat", str(page / ".htaccess"), "ENOTDIR"): 100}


def test_attaching_to_all_of_apache_counts_the_same_requests(live, start_apache):
    """And leaves the worker as it was."""
    apache = start_apache()
    bpftruss = live.attach([apache.process.pid, apache.worker], "-f")
    apache.requests(50)
    assert bpftruss.interrupt().total("accept4") == 50
    apache.requests(10)
    assert os.path.exists("/proc/%d" % apache.worker)
