# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Prometheus, scraping one target every second, and asked what it has read; and servers."""

import contextlib
import http.server
import json
import os
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import DEADLINE_S, Process, need, until, write

class Server(http.server.ThreadingHTTPServer):
    """Answers on loopback with what answer(request) returns: a status, a content type, a body."""

    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, kind, body = answer(self)
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *args):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.target = "127.0.0.1:%d" % self.server_port
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


CONFIG = """\
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- job_name: bpftruss
  %s
  static_configs: [{targets: ['%s']}]
"""


def port_free():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Prometheus(Process):
    """Runs in a directory of its own, as a context manager; target is HOST:PORT, job more lines."""

    def __init__(self, directory, target, job=""):
        config = os.path.join(directory, "prometheus.yml")
        write(config, CONFIG % (job, target))
        self.port = port_free()
        argv = [need("prometheus"), "--config.file=" + config,
                "--web.listen-address=127.0.0.1:%d" % self.port,
                "--storage.tsdb.path=" + os.path.join(directory, "data")]  # fmt: skip
        super().__init__(os.path.join(directory, "output"), argv, cwd=directory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, what, **parameters):
        """The data that a path of its API gives; None while it does not answer."""
        address = "http://127.0.0.1:%d/api/v1/%s?%s" % (
            self.port, what, urllib.parse.urlencode(parameters))
        try:
            with urllib.request.urlopen(address, timeout=DEADLINE_S) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            # It is up; 503 only says that it is not ready yet.
            if error.code != 503:
                raise AssertionError("%s: %s" % (address, error.read().decode())) from error
        except (urllib.error.URLError, ConnectionError):
            pass
        return None

    def until(self, condition, what):
        """Waits for a condition, and returns what it gives."""

        def reached():
            assert self.popen.poll() is None, self.stderr()
            return condition()

        return until(reached, what)

    def wait_scrape(self):
        """Waits for a scrape that begins from now on and whose samples can be asked for.

        The list of targets tells of a scrape before its samples are there; "up" is one of them.
        """
        since = time.time()

        def scraped():
            found = self.query("timestamp(up)")
            return bool(found) and found[0][1] > since
        self.until(scraped, "a scrape")
        assert self.value("up") == 1, self.ask("targets")
        return self

    def query(self, expression):
        """The series of an instant query: a list of (labels, value)."""
        data = self.until(lambda: self.ask("query", query=expression), "an answer")
        assert data["resultType"] == "vector", data
        return [(series["metric"], float(series["value"][1])) for series in data["result"]]

    def value(self, expression):
        """The one value of an instant query."""
        found = self.query(expression)
        assert len(found) == 1, (expression, found)
        return found[0][1]
