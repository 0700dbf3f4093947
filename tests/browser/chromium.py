"""A headless Chromium over its pipe: the DevTools protocol without a port or a library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One page in a browser of its own, which ends with the `with` block.

    Attributes:
        events: What the browser reported since the last `open`.
    """

    def __init__(self, seconds: float = 60) -> None:
        self.events: list[dict[str, Any]] = []
        self._seconds = seconds
        self._number = 0
        self._left = b""

    def __enter__(self) -> Chromium:
        program = find()
        assert program is not None
        self._home = TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        # It reads at 3 and writes at 4.
        start = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            [
                *("bash", "-c", start, program),
                *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *("--disable-background-networking", "--disable-dev-shm-usage", "--no-first-run"),
                *("--remote-debugging-pipe", f"--user-data-dir={self._home.name}", "about:blank"),
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._session: str | None = None
        (page,) = (
            target
            for target in self("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        )
        attached = self("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._to)
        os.close(self._from)
        self._home.cleanup()

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, (method, answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        until = monotonic() + self._seconds
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(0, until - monotonic()))
            assert ready, f"Chromium said nothing in {self._seconds} seconds"
            read = os.read(self._from, 1 << 20)
            assert read, "Chromium ended"
            self._left += read
        message, _, self._left = self._left.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def open(
        self, page: Path | str, *, width: int = 1280, height: int = 800, scheme: str = "light"
    ) -> float:
        """Open a file or an address, and return the seconds until it was loaded."""
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": scheme},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ],
        )
        self.events.clear()
        before = monotonic()
        self("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        self.wait_for_page()
        return monotonic() - before

    def wait_for_page(self) -> None:
        """Wait for the page that is on its way since `events` were cleared."""
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())
        # Answered only when the page is idle enough to be used.
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression, awaited."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, *, code: int = 0, text: str = "", shift: bool = False) -> None:
        """Press and release a key, such as `Tab` (9) or `Enter` (13)."""
        same = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": code,
            "modifiers": 8 if shift else 0,
        }
        self("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **same)
        self("Input.dispatchKeyEvent", type="keyUp", **same)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a PNG of what is seen, or of the whole page."""
        taken = self("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        path.write_bytes(base64.b64decode(taken["data"]))

    def pdf(self, path: Path) -> None:
        """Write the page as it is printed."""
        path.write_bytes(base64.b64decode(self("Page.printToPDF", printBackground=True)["data"]))
