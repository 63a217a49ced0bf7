# SPDX-License-Identifier: BSD-2-Clause
"""Drives one headless Chromium over a pair of pipes with its own protocol: no network, no other module."""

import base64
import json
import os
import shutil
import subprocess
import tempfile

import pytest

NAMES = ["chromium", "chromium-browser", "google-chrome"]


def find():
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if not found:
        pytest.skip("no chromium here")
    return found


class Browser:
    """One window, in which a page is opened after the other; what its console says is kept."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="bpftruss-browser-")
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # They are 3 and 4 in the child.
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--user-data-dir=" + self.folder, "--no-first-run", "--disable-background-networking",
                   "--force-color-profile=srgb", "--hide-scrollbars", "about:blank"]  # fmt: skip
        shell = 'a=$1 b=$2; shift 2; eval "exec \\"\\$@\\" 3<&$a 4>&$b"'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "sh", str(to_read), str(to_write), *command],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.session = b"", 0, None
        self.events, self.console, self.requests, self.blocked = [], [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(timeout=10)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- the protocol ---

    def receive(self):
        while b"\0" not in self.rest:
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise EOFError("the browser is gone")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.take_event(message["method"], message["params"])
        return message

    def take_event(self, method, params):
        self.events.append(method)
        if method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(str(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.loadingFailed":
            self.blocked.append(params.get("blockedReason"))

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    # --- pages ---

    def size(self, width, height=900, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        self.call("Emulation.setEmulatedMedia", media="", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])  # fmt: skip

    def open(self, path, scripts=True):
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.go(path.resolve().as_uri())

    def go(self, url):
        self.events, self.console, self.requests, self.blocked = [], [], [], []
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self.receive()

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, code=None, text=None):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **more,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "Escape": 27}.get(key, 0))  # fmt: skip

    def screenshot(self, **how):
        """A PNG of what is in the window; how: see Page.captureScreenshot."""
        return base64.b64decode(self.call("Page.captureScreenshot", **how)["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
