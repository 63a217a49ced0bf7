# SPDX-License-Identifier: BSD-2-Clause
"""
/metrics beyond loopback: TLS, certificates of clients, tokens and passwords, as curl and Debian's
Prometheus use them; and each mistake in their files is one sentence.
"""

import contextlib
import os
import socket
import subprocess

import pytest

from daemons import start_daemon
from harness import BPFTRUSS, need, run, until, write
from prometheus import Prometheus, port_free

EXTENSIONS = "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=%s\n"
TOKEN, PASSWORD = "s3cret-token", "prom:pass:word"


class Files:
    """Keys and certificates of a CA, of a server, of a client and of another CA's client."""

    def __init__(self, place):
        self.place = str(place)
        for authority in ("ca", "stranger-ca"):
            self.openssl("req", "-x509", *self.new_key(authority), "-out", self[authority + ".pem"],
                         "-subj", "/CN=" + authority, "-days", "2")  # fmt: skip
        self.issue("server", "ca", "serverAuth")
        self.issue("client", "ca", "clientAuth")
        self.issue("stranger", "stranger-ca", "clientAuth")
        self.write("auth", "# who may ask\n\n%s\n%s\n" % (TOKEN, PASSWORD))

    def __getitem__(self, name):
        return os.path.join(self.place, name)

    def write(self, name, text, mode=0o600):
        write(self[name], text)
        os.chmod(self[name], mode)
        return self[name]

    def openssl(self, *words):
        subprocess.run([need("openssl"), *words], check=True, capture_output=True)

    def new_key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", self[name + ".key"]]  # fmt: skip

    def issue(self, name, authority, usage):
        request = self[name + ".csr"]
        self.openssl("req", *self.new_key(name), "-out", request, "-subj", "/CN=" + name)
        self.openssl("x509", "-req", "-in", request, "-CA", self[authority + ".pem"],
                     "-CAkey", self[authority + ".key"], "-CAcreateserial", "-days", "2",
                     "-out", self[name + ".pem"],
                     "-extfile", self.write("extensions", EXTENSIONS % usage))  # fmt: skip

    def options(self, *names):
        files = {"cert": "server.pem", "key": "server.key", "client-ca": "ca.pem", "auth": "auth"}
        return [word for name in names for word in ("--listen-" + name, self[files[name]])]

    def curl(self, port, *words, who=None, path="/metrics", scheme="https"):
        """The status of an answer, 0 if there is none; and what it says."""
        argv = [need("curl"), "-s", "--max-time", "20", "-w", "\n%{http_code}", "--cacert",
                self["ca.pem"], *words, "%s://127.0.0.1:%d%s" % (scheme, port, path)]  # fmt: skip
        if who:
            argv[1:1] = ["--cert", self[who + ".pem"], "--key", self[who + ".key"]]
        said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
        body, _, status = said.rpartition("\n")
        return int(status), body


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def serve(live, tmp_path, *options, address="0.0.0.0"):
    port = port_free()
    daemon = start_daemon(live, tmp_path / "daemon", "--listen", "%s:%d" % (address, port),
                          *options)  # fmt: skip
    return daemon, port


BEARER = ["-H", "Authorization: Bearer " + TOKEN]
BASIC = ["-u", PASSWORD]


def test_only_who_knows_a_secret_is_answered(live, tmp_path, files):
    daemon, port = serve(live, tmp_path, *files.options("cert", "key", "auth"))
    for words in (BEARER, BASIC, ["-H", "authorization: bearer " + TOKEN],
                  [*BEARER, "-H", "Host: web.example"], [*BASIC, "--tls-max", "1.2"]):  # fmt: skip
        status, body = files.curl(port, *words)
        assert status == 200 and "bpftruss_attached 1" in body, words
    for words in ([], ["-u", "prom:pass"], ["-u", "prom:pass:words"], ["-u", ":"],
                  ["-H", "Authorization: Bearer " + TOKEN[:-1]],
                  ["-H", "Authorization: Bearer " + TOKEN + "x"],
                  ["-H", "Authorization: Bearer "], ["-H", "Authorization: " + TOKEN],
                  ["-H", "Authorization: Basic " + TOKEN],
                  ["-H", "Authorization: Bearer # who may ask"]):  # fmt: skip
        status, body = files.curl(port, *words)
        assert status == 401 and "listen-auth" in body, words
    # Nothing else is there, and nothing without TLS or with an old one.
    assert files.curl(port, *BASIC, path="/v1/snapshot")[0] == 403
    assert files.curl(port, *BASIC, scheme="http")[0] == 0
    assert files.curl(port, *BASIC, "--tls-max", "1.1")[0] == 0
    assert daemon.request("/metrics")[0] == 200


def test_only_clients_of_the_ca_are_answered(live, tmp_path, files):
    _, port = serve(live, tmp_path, *files.options("cert", "key", "client-ca"))
    assert files.curl(port, who="client")[0] == 200
    # The server's own certificate is for servers.
    for who in (None, "server"):
        status, body = files.curl(port, who=who)
        assert status == 403 and "listen-client-ca" in body, who
    assert files.curl(port, who="stranger")[0] in (0, 403)


def test_a_certificate_and_a_secret_may_both_be_asked_for(live, tmp_path, files):
    _, port = serve(live, tmp_path, *files.options("cert", "key", "client-ca", "auth"))
    assert files.curl(port, *BASIC, who="client")[0] == 200
    assert files.curl(port, who="client")[0] == 401
    assert files.curl(port, *BASIC)[0] == 403


def test_loopback_and_what_was_said_twice_need_no_tls(live, tmp_path, files):
    _, port = serve(live, tmp_path, *files.options("auth"), address="127.0.0.1")
    assert files.curl(port, *BEARER, scheme="http")[0] == 200
    assert files.curl(port, scheme="http")[0] == 401


def test_without_tls_if_said_twice(live, tmp_path, files):
    _, port = serve(live, tmp_path, "--listen-insecure")
    assert files.curl(port, "-H", "Host: web.example", scheme="http")[0] == 200


def test_a_renewed_certificate_is_taken_at_a_reload(live, tmp_path, files):
    daemon, port = serve(live, tmp_path, *files.options("cert", "key", "auth"))
    files.issue("server", "stranger-ca", "serverAuth")
    assert files.curl(port, *BEARER)[0] == 200
    files.write("auth", "another\n")
    daemon.popen.send_signal(1)
    words = ["--cacert", files["stranger-ca.pem"], "-H", "Authorization: Bearer another"]
    until(lambda: files.curl(port, *words)[0] == 200, "the new certificate")
    assert files.curl(port, *BEARER)[0] == 0
    # A bad one changes nothing.
    os.chmod(files["server.key"], 0o644)
    daemon.popen.send_signal(1)
    until(lambda: "others may read" in daemon.stderr(), "a sentence")
    assert files.curl(port, *words)[0] == 200


def test_strangers_keep_nobody_out(live, tmp_path, files):
    """Neither those that begin no handshake, nor those that break it off, nor any bytes."""
    daemon, port = serve(live, tmp_path, *files.options("cert", "key", "auth"))
    with contextlib.ExitStack() as stack:
        for said in [b""] * 20 + [b"\x16\x03\x01\x02\x00\x01\x00"] * 20 + [os.urandom(4096)] * 5:
            stranger = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            stranger.sendall(said)
        for _ in range(5):
            assert files.curl(port, *BEARER)[0] == 200
    until(lambda: files.curl(port, *BEARER)[0] == 200, "an answer when they are gone")
    assert daemon.popen.poll() is None


@pytest.mark.waits
@pytest.mark.parametrize("job", [
    "basic_auth: {username: prom, password: 'pass:word'}",
    "authorization: {type: Bearer, credentials: %s}" % TOKEN,
])  # fmt: skip
def test_prometheus_scrapes_through_tls(live, tmp_path, files, job):
    need("prometheus")
    _, port = serve(live, tmp_path, *files.options("cert", "key", "client-ca", "auth"))
    (tmp_path / "scraper").mkdir()
    job += "\n  scheme: https\n  tls_config: {ca_file: %s, cert_file: %s, key_file: %s}" % (
        files["ca.pem"], files["client.pem"], files["client.key"])  # fmt: skip
    with Prometheus(str(tmp_path / "scraper"), "127.0.0.1:%d" % port, job) as prometheus:
        prometheus.wait_scrape()
        assert prometheus.value("bpftruss_attached") == 1


# --- reports of other hosts ----------------------------------------------------------------------


def ask(port, verb, *words, address="https://127.0.0.1:%d"):
    return run(verb, "--host", address % port, *words)


def test_reports_of_another_host(live, tmp_path, files):
    options = files.options("cert", "key", "client-ca", "auth")
    _, port = serve(live, tmp_path, *options, "--listen-reports")
    known = ["--ca", files["ca.pem"], "--cert", files["client.pem"], "--key", files["client.key"],
             "--auth", files["auth"]]  # fmt: skip
    said = ask(port, "snapshot", "--json", *known)
    assert said.returncode == 0, said.stderr
    saved = str(tmp_path / "saved")
    write(saved, said.stdout)
    assert '"host"' in said.stdout
    # What has come since, and all that a table is made of.
    table = ask(port, "snapshot", "--since", saved, "-w", "--by", "host,comm", *known)
    assert table.returncode == 0 and "sum" in table.stdout, table.stderr
    for verb, *words in (["status"], ["history"], ["baseline", "list"],
                         ["compare", saved, "now"]):  # fmt: skip
        said = ask(port, verb, *words, *known)
        assert said.returncode == 0, (verb, said.stderr)
    # Over TCP nothing can be changed.
    said = ask(port, "baseline", "save", "monday", *known)
    assert said.returncode == 1 and "permission denied" in said.stderr
    assert files.curl(port, *BASIC, path="/v1/recorder?from=0", who="client")[0] == 403


def test_a_host_may_be_given_by_name(live, tmp_path, files):
    try:
        socket.gethostbyname("localhost")
    except OSError as error:
        pytest.skip("localhost is not known here (/etc/hosts): %s" % error)
    _, port = serve(live, tmp_path, *files.options("cert", "key", "auth"), "--listen-reports")
    known = ["--ca", files["ca.pem"], "--auth", files["auth"]]
    said = ask(port, "snapshot", "-w", *known, address="https://localhost:%d/")
    assert said.returncode == 0 and "sum" in said.stdout, said.stderr


def test_reports_are_only_for_who_is_known(live, tmp_path, files):
    _, port = serve(live, tmp_path, *files.options("cert", "key", "auth"), "--listen-reports")
    ca, auth = ["--ca", files["ca.pem"]], ["--auth", files["auth"]]
    wrong = files.write("wrong", "another\n")
    for words, sentence in [
        (ca, "send a token or a password of listen-auth"),
        ([*ca, "--auth", wrong], "send a token or a password of listen-auth"),
        (["--ca", files["stranger-ca.pem"], *auth], "127.0.0.1:%d is not trusted: " % port),
        (auth, " is not trusted: "),
    ]:
        said = ask(port, "status", *words)
        assert said.returncode == 1 and sentence in said.stderr, words
        assert said.stderr.count("\n") == 1
    said = ask(port, "status", *auth, address="http://127.0.0.1:%d")
    assert said.returncode == 1 and said.stderr.count("\n") == 1
    # A certificate of another name is none of this host.
    files.openssl("req", *files.new_key("server"), "-out", files["server.csr"], "-subj", "/CN=server")
    said = ask(port, "status", *ca, *auth, address="https://127.0.0.2:%d")
    assert said.returncode == 1 and "is not trusted: " in said.stderr
    assert ask(port, "status", *ca, *auth).returncode == 0


def test_metrics_alone_unless_reports_are_allowed(live, tmp_path, files):
    _, port = serve(live, tmp_path, *files.options("auth"), address="127.0.0.1")
    assert files.curl(port, *BEARER, scheme="http")[0] == 200
    said = ask(port, "status", "--auth", files["auth"], address="http://127.0.0.1:%d")
    assert said.returncode == 1 and "listen-reports" in said.stderr


# --- mistakes ------------------------------------------------------------------------------------

LISTEN = ["--listen", "0.0.0.0:9477"]


def refused(*words):
    """The one sentence with which the daemon does not start."""
    result = run("daemon", "--check-config", "--config", "/dev/null", *words)
    assert result.returncode in (1, 2) and not result.stdout
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


@pytest.mark.parametrize("given, sentence", [
    ([], "other hosts can connect to 0.0.0.0:9477: give listen-cert and listen-key, or say"),
    (["auth"], "give listen-cert and listen-key, or say listen-insecure, too"),
    (["cert", "key"], "give listen-auth or listen-client-ca, or say listen-insecure, too"),
    (["cert", "auth"], "--listen-cert needs --listen-key"),
    (["key", "auth"], "--listen-key needs --listen-cert"),
])  # fmt: skip
def test_too_little_is_refused(files, given, sentence):
    assert sentence in refused(*LISTEN, *files.options(*given))


def test_reports_for_strangers_are_refused(files):
    options = ["--listen", "127.0.0.1:9477", "--listen-reports"]
    assert "--listen-reports needs --listen-auth or --listen-client-ca" in refused(*options)


@pytest.mark.parametrize("words, sentence", [
    (["--host", "web-1:9477"], "--host: web-1:9477 is not https://HOST:PORT"),
    (["--host", "https://"], "is not https://HOST:PORT"),
    (["--host", "https://web-1:9477/metrics"], "is not https://HOST:PORT"),
    (["--host", "https://web-1:x"], "is not https://HOST:PORT"),
    (["--host", "https://[::1"], "is not https://HOST:PORT"),
    (["--host", "http://192.0.2.1:9477"], "use https://, or say --insecure, too"),
    (["--host", "http://127.0.0.1.example:9477"], "use https://, or say --insecure, too"),
    (["--host", "https://192.0.2.1", "--insecure"], "--insecure is for addresses with http://"),
    (["--host", "http://127.0.0.1", "--ca", "x"], "--ca needs an address with https://"),
    (["--host", "https://127.0.0.1", "--cert", "x"], "--cert needs --key"),
    (["--host", "https://127.0.0.1", "--socket", "x"], "give either it or --host"),
    (["--ca", "x"], "are about another host: give --host, too"),
])  # fmt: skip
def test_a_wrong_way_to_another_host_is_one_sentence(words, sentence):
    result = run("status", *words)
    assert result.returncode == 2 and result.stderr.count("\n") == 1, result.stderr
    assert sentence in result.stderr


@pytest.mark.parametrize("option, name, text, mode, sentence", [
    ("--ca", "ca.pem", "x", 0o644, "--ca: %s has no certificate in the form PEM"),
    ("--auth", "auth", "a b\n", 0o600, "--auth: line 1 of %s is neither a token nor"),
    ("--auth", "auth", "a\n", 0o644, "--auth: others may read or change %s"),
    ("--auth", "none", None, 0, "--auth: cannot read %s"),
])  # fmt: skip
def test_a_mistake_in_a_file_of_a_client_is_one_sentence(files, option, name, text, mode, sentence):
    if text:
        files.write(name, text, mode)
    words = {"--ca": files["ca.pem"], option: files[name]}
    result = run("status", "--host", "https://127.0.0.1:9", *[word for pair in words.items() for word in pair])
    assert result.returncode == 1 and sentence % files[name] in result.stderr


def test_a_host_that_does_not_answer_is_named(files):
    port = port_free()
    result = run("status", "--host", "https://127.0.0.1:%d" % port, "--ca", files["ca.pem"])
    assert result.returncode == 1
    assert "no daemon answers at 127.0.0.1:%d: Connection refused" % port in result.stderr


def test_another_server_is_told_from_a_daemon():
    """By a sentence that names the option that led there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with subprocess.Popen([BPFTRUSS, "status", "--host", "http://127.0.0.1:%d" % port],
                              stderr=subprocess.PIPE, text=True) as client:  # fmt: skip
            connection, _ = server.accept()
            with connection:
                assert connection.recv(4096).startswith(b"GET ")
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhello\n")
            said = client.communicate()[1]
    assert said.count("\n") == 1
    assert "the server there is not a daemon of this version: see --host" in said


@pytest.mark.parametrize("name", ["cert", "key", "client-ca", "auth"])
def test_files_without_an_address_are_refused(files, name):
    assert "--listen-%s needs --listen" % name in refused(*files.options(name))


NO_KEY = "has no private key in the form PEM without a password"


@pytest.mark.parametrize("name, text, mode, sentence", [
    ("server.key", None, 0o644, "--listen-key: others may read or change %s: chmod 600 or 640 it"),
    ("server.key", None, 0o660, "--listen-key: others may read or change %s"),
    ("server.key", "x", 0o600, "--listen-key: %s " + NO_KEY),
    ("server.pem", "x", 0o644, "--listen-cert: %s has no certificate in the form PEM"),
    ("server.pem", "", 0o644, "--listen-cert: %s has no certificate in the form PEM"),
    ("ca.pem", "x", 0o644, "--listen-client-ca: %s has no certificate in the form PEM"),
    ("auth", None, 0o604, "--listen-auth: others may read or change %s"),
    ("auth", "", 0o600, "--listen-auth: %s has no secret: write a token or USER:PASSWORD into it"),
    ("auth", "# x\n", 0o600, "--listen-auth: %s has no secret"),
    ("auth", "a\ntwo words\n", 0o600, "--listen-auth: line 2 of %s is neither a token nor"),
])  # fmt: skip
def test_a_mistake_in_a_file_is_one_sentence(files, name, text, mode, sentence):
    if text is None:
        os.chmod(files[name], mode)
    else:
        files.write(name, text, mode)
    options = files.options("cert", "key", "client-ca", "auth")
    assert sentence % files[name] in refused(*LISTEN, *options)


def test_a_key_of_another_certificate_is_refused(files):
    os.replace(files["client.key"], files["server.key"])
    sentence = "--listen-key: %s is not the key of the certificate in %s" % (
        files["server.key"], files["server.pem"])  # fmt: skip
    assert sentence in refused(*LISTEN, *files.options("cert", "key", "auth"))


@pytest.mark.parametrize("name", ["server.pem", "server.key", "ca.pem", "auth"])
def test_a_file_that_cannot_be_read_is_named(files, name):
    os.remove(files[name])
    options = files.options("cert", "key", "client-ca", "auth")
    assert "cannot read %s: No such file or directory" % files[name] in refused(*LISTEN, *options)
    os.mkdir(files[name])
    assert "%s is not a file of at most 1 MiB" % files[name] in refused(*LISTEN, *options)
