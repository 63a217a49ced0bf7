# SPDX-License-Identifier: BSD-2-Clause
"""
A collector that takes OTLP/HTTP in JSON, checks each request against the specification, and
answers as it is told to.
"""

import collections
import http.server
import json
import re
import ssl
import threading

# Upper bounds of the buckets in seconds, as the kernel has them in whole nanoseconds.
BOUNDS = [((1 << shift) - 1) / 1e9 for shift in range(10, 36, 2)]

UNSIGNED = re.compile(r"^(0|[1-9][0-9]{0,19})$")


def must_have(thing, required, optional=()):
    assert isinstance(thing, dict), thing
    assert set(required) <= set(thing) <= set(required) | set(optional), sorted(thing)


def number(text):
    """64 bits are decimal text."""
    assert isinstance(text, str) and UNSIGNED.match(text), text
    assert int(text) < 1 << 64
    return int(text)


def attributes(listed):
    """{key: value}; each key once."""
    found = {}
    for attribute in listed:
        must_have(attribute, ["key", "value"])
        (kind, value), = attribute["value"].items()
        assert kind in ("stringValue", "intValue") and attribute["key"] not in found
        assert isinstance(value, str)
        found[attribute["key"]] = number(value) if kind == "intValue" else value
    return found


def real(value):
    assert isinstance(value, (int, float)) and not isinstance(value, bool)
    return value


Point = collections.namedtuple("Point", "service name labels start_ns time_ns value")
Histogram = collections.namedtuple("Histogram", "count sum buckets")


def point_of(service, name, kind, temporality, point):
    times = ["timeUnixNano"] + (["startTimeUnixNano"] if kind != "gauge" else [])
    values = (["sum", "bucketCounts", "explicitBounds"] if kind == "histogram" else
              [key for key in ("asInt", "asDouble") if key in point])  # fmt: skip
    # Other writers leave out whatever is empty or 0.
    must_have(point, [*times, *values], ["attributes", "count"])
    start_ns = number(point["startTimeUnixNano"]) if kind != "gauge" else None
    time_ns = number(point["timeUnixNano"])
    assert start_ns is None or 0 < start_ns <= time_ns
    if kind == "histogram":
        buckets = [number(count) for count in point["bucketCounts"]]
        assert point["explicitBounds"] == BOUNDS and len(buckets) == len(BOUNDS) + 1
        assert sum(buckets) == number(point.get("count", "0"))
        value = Histogram(sum(buckets), real(point["sum"]), buckets)
    else:
        assert len(values) == 1
        value = number(point["asInt"]) if "asInt" in point else real(point["asDouble"])
    assert temporality in (None, 1, 2)
    return Point(service, name, attributes(point.get("attributes", [])), start_ns, time_ns, value)


class Request:
    """One that is as it has to be: its points or records, and its resources."""

    def __init__(self, path, headers, body):
        assert path in ("/v1/metrics", "/v1/logs"), path
        assert headers["Content-Type"] == "application/json"
        self.headers, self.size = headers, len(body)
        self.resources, self.points, self.logs, self.temporalities = [], [], [], set()
        whole = json.loads(body)
        kind = path.rpartition("/")[2]
        names = {"metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
                 "logs": ("resourceLogs", "scopeLogs", "logRecords")}[kind]  # fmt: skip
        must_have(whole, [names[0]])
        for part in whole[names[0]]:
            must_have(part, ["resource", names[1]])
            must_have(part["resource"], ["attributes"])
            self.resources.append(attributes(part["resource"]["attributes"]))
            (scope,) = part[names[1]]
            must_have(scope, ["scope", names[2]])
            must_have(scope["scope"], ["name", "version"])
            assert scope["scope"]["name"] == "bpftruss" and scope[names[2]]
            for thing in scope[names[2]]:
                (self.take_metric if kind == "metrics" else self.take_record)(thing)
        identities = [resource["service.name"] for resource in self.resources]
        assert len(set(identities)) == len(identities)

    def take_metric(self, metric):
        (kind,) = set(metric) - {"name", "description", "unit"}
        assert kind in ("sum", "gauge", "histogram")
        data = metric[kind]
        must_have(data, {"sum": ["aggregationTemporality", "isMonotonic", "dataPoints"],
                         "gauge": ["dataPoints"],
                         "histogram": ["aggregationTemporality", "dataPoints"]}[kind])  # fmt: skip
        assert kind != "sum" or data["isMonotonic"] is True
        temporality = data.get("aggregationTemporality")
        self.temporalities.add(temporality)
        service = self.resources[-1]["service.name"]
        points = [point_of(service, metric["name"], kind, temporality, point)
                  for point in data["dataPoints"]]  # fmt: skip
        assert points and len({str(point.labels) for point in points}) == len(points)
        self.points += points

    def take_record(self, record):
        must_have(record, ["timeUnixNano", "observedTimeUnixNano", "severityNumber",
                           "severityText", "body"], ["attributes", "eventName"])  # fmt: skip
        assert record["severityNumber"] in (5, 9, 13, 17)
        must_have(record["body"], ["stringValue"])
        self.logs.append((record.get("eventName"), record["body"]["stringValue"],
                          attributes(record.get("attributes", []))))  # fmt: skip

    def total(self, name, key=None):
        """Sums the values of a metric, by the value of an attribute."""
        sums = collections.Counter()
        for point in self.points:
            if point.name == name:
                sums[point.labels.get(key)] += point.value
        return +sums

    def histograms(self):
        """{call: [count, sum of seconds]} over all services."""
        sums = collections.defaultdict(lambda: [0, 0.0])
        for point in self.points:
            if point.name == "bpftruss.syscall.duration":
                entry = sums[point.labels["syscall.name"]]
                entry[0] += point.value.count
                entry[1] += point.value.sum
        return dict(sums)


class Collector(http.server.ThreadingHTTPServer):
    """
    Answers with what answer(path) returns: a status, further headers, a body. Requests that were
    answered with 200 to 299 are in taken, and what is wrong with any is in faults.
    """

    def __init__(self, files=None, secret=None, port=0, prefix="", answer=None):
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.handle_post(self, body)

            def log_message(self, *args):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        self.answer = answer or (lambda path: (200, {}, b"{}"))
        self.secret, self.taken, self.seen, self.faults = secret, [], 0, []
        self.scheme, self.prefix = "http", prefix
        self.last = {}
        if files:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(files["server.pem"], files["server.key"])
            self.socket = context.wrap_socket(self.socket, server_side=True)
            self.scheme = "https"
        self.endpoint = "%s://127.0.0.1:%d%s" % (self.scheme, self.server_port, prefix)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Whoever breaks off says so itself."""

    def handle_post(self, handler, body):
        path = handler.path.removeprefix(self.prefix)
        status, headers, answer = self.answer(path)
        self.seen += 1
        if self.secret and handler.headers["Authorization"] != "Bearer " + self.secret:
            status, headers, answer = 401, {}, b'{"message": "who are you?"}'
        if 200 <= status < 300:
            try:
                request = Request(path, handler.headers, body)
                self.must_follow(request)
                self.taken.append(request)
            except Exception as error:  # pylint: disable=broad-except
                self.faults.append(repr(error))
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(answer)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(answer)

    def must_follow(self, request):
        """Cumulative counters of the same start do not shrink; deltas do not overlap."""
        for point in request.points:
            series = point.service, point.name, str(sorted(point.labels.items()))
            before = self.last.get(series)
            if before and point.start_ns:
                assert before.time_ns <= point.time_ns
                if request.temporalities & {1}:
                    assert point.start_ns >= before.time_ns
                elif before.start_ns == point.start_ns:
                    assert (point.value.count >= before.value.count
                            if isinstance(point.value, Histogram)
                            else point.value >= before.value), (before, point)  # fmt: skip
                else:
                    assert point.start_ns >= before.time_ns
            self.last[series] = point

    def metrics(self):
        return [request for request in self.taken if request.points]

    def events(self, name=None):
        """(name, text, attributes) of all records."""
        return [record for request in self.taken for record in request.logs
                if name in (None, record[0])]  # fmt: skip

    def close(self):
        self.shutdown()
        self.server_close()
        assert self.faults == []
