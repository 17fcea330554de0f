"""Chromium without a window, driven over WebDriver."""

import contextlib
import json
import re
import shutil
import subprocess
import urllib.request

import pytest


class Browser:
    """A session; ``run`` runs JavaScript in the page, which may return a promise."""

    def __init__(self, address):
        self._address = address
        options = {
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--window-size=900,1300",
            ]
        }
        always = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": always}})
        self._address += f"/session/{made['sessionId']}"

    def _ask(self, method, path, values=None):
        request = urllib.request.Request(
            self._address + path, None if values is None else json.dumps(values).encode(), method=method
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]

    def open(self, url):
        self._ask("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def resize(self, width, height):
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def messages(self):
        """What the console has got since it was asked last."""
        return [each["message"] for each in self._ask("POST", "/se/log", {"type": "browser"})]

    def close(self):
        self._ask("DELETE", "")


@contextlib.contextmanager
def browsing():
    """A browser until the block ends; the test is skipped where there is none."""
    program = shutil.which("chromedriver")
    if program is None:
        pytest.skip("Chromium's driver is not installed: chromedriver")
    with subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, text=True) as driver:
        try:
            for line in driver.stdout:
                if found := re.search(r"started successfully on port (\d+)", line):
                    break
            browser = Browser(f"http://127.0.0.1:{found[1]}")
            try:
                yield browser
            finally:
                browser.close()
        finally:
            driver.terminate()
