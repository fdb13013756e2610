"""Pages in headless Chromium, for tests of layout, of the keyboard and of accessibility."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from ssdlab.report import library

#: Longest wait for an answer of the browser, and for the figures of a page [s].
_PATIENCE = 180

#: Findings of the checker that keep people out, each with the first part of the page that has it.
FINDINGS = """axe.run(document).then((found) => found.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id} (${one.nodes.length}): ${one.nodes[0].html.slice(0, 200)}`))"""


def browser() -> str:
    """Returns the path of Chromium; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium here")
    return found


def dom_of(html: str, script: str, path: Path, width: int = 1400) -> str:
    """Returns a report as Chromium has it once its figures are drawn and a script has run after them."""
    waits = "const wait = setInterval(() => { if (document.body.dataset.drawn) { clearInterval(wait); run(); } }, 50);"
    page = html.replace("</body>", f"<script>function run() {{ {script} }} {waits}</script></body>")
    path.write_text(library.secured_page(page), encoding="utf-8")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},3000", "--virtual-time-budget=10000"]
    done = subprocess.run(
        [browser(), *flags, "--dump-dom", f"file://{path}"], capture_output=True, text=True, timeout=180, check=False
    )
    return done.stdout


class Tab:
    """A tab of a browser, controlled through the pipes of its developer tools (Chrome DevTools Protocol).

    Unlike a window, it can be narrower than 500 pixels, be dark, and take keys.
    """

    def __init__(self, commands: int, answers: BinaryIO) -> None:
        self._commands, self._answers = commands, answers
        self._number, self._session = 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        # Scripts of a test run in the page although its policy allows the page's own alone.
        self.call("Page.setBypassCSP", enabled=True)

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        """Runs a command of the protocol and returns its result."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        command = {"id": self._number, "method": method, "params": values, **session}
        sent = memoryview(json.dumps(command).encode() + b"\0")
        while sent:
            sent = sent[os.write(self._commands, sent) :]
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def _message(self) -> bytes:
        message = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser has ended"
            message += byte
        return bytes(message)

    def open(self, path: Path | str, width: int = 1400, scheme: str = "light") -> None:
        """Opens a page, a file or an address, in a window of a width and waits until its figures are drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=path if isinstance(path, str) else f"file://{path}")
        self._wait(path)

    def reload(self) -> None:
        """Opens the page again."""
        # The page that goes away must not be taken for the one that comes.
        self.value("delete document.body.dataset.drawn")
        self.call("Page.reload")
        self._wait(self.value("location.href"))

    def _wait(self, path: Path | str) -> None:
        """Waits until the figures of the page are drawn."""
        end = time.monotonic() + _PATIENCE
        while not self.value("location.href !== 'about:blank' && document.body && document.body.dataset.drawn"):
            assert time.monotonic() < end, f"the figures of {path} are not drawn"
            time.sleep(0.1)

    def value(self, script: str) -> Any:
        """Returns the value of an expression in the page; of a promise, what it becomes."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str, shift: bool = False) -> None:
        """Presses a key: ``Tab``, ``Enter``, ``Escape``, an arrow ``Delete`` or a space."""
        codes = {
            "Tab": 9,
            "Delete": 46,
            "Enter": 13,
            "Escape": 27,
            " ": 32,
            "ArrowLeft": 37,
            "ArrowUp": 38,
            "ArrowRight": 39,
            "ArrowDown": 40,
        }
        pressed = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": codes[key]}
        text = {"Enter": "\r", " ": " "}.get(key)
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **down, **pressed, modifiers=8 if shift else 0)
        self.call("Input.dispatchKeyEvent", type="keyUp", **pressed, modifiers=8 if shift else 0)

    def picture(self, path: Path) -> None:
        """Writes a picture of the whole page, as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def tab(profile: Path) -> Iterator[Tab]:
    """Runs a browser with a profile of its own, and yields a tab of it."""
    program = browser()
    read_commands, commands = os.pipe()
    answers, write_answers = os.pipe()

    def connect() -> None:
        # The browser reads commands from file 3 and writes answers to file 4.
        first, second = os.dup(read_commands), os.dup(write_answers)
        os.dup2(first, 3)
        os.dup2(second, 4)

    flags = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--remote-debugging-pipe",
        "--hide-scrollbars",
    ]
    process = subprocess.Popen(
        [program, *flags, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=connect,
    )
    os.close(read_commands)
    os.close(write_answers)
    try:
        with os.fdopen(answers, "rb") as reader:
            yield Tab(commands, reader)
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE)
        os.close(commands)
