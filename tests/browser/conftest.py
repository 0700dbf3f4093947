"""What tests in a browser share: the browser, the keyboard, and axe-core."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium, find

needs_chromium = pytest.mark.skipif(
    find() is None, reason="needs Chromium: apt-get install chromium, or brew install chromium"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as started:
        yield started


def tab_to(browser: Chromium, condition: str, most: int = 80) -> None:
    """Press Tab until the focused element, `it`, fulfils a condition."""
    for _ in range(most):
        browser.press("Tab", code=9)
        if browser.run(f"(it => Boolean({condition}))(document.activeElement)"):
            return
    raise AssertionError(f"Tab never comes to {condition}")


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's script, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm to get axe-core")
    folder = tmp_path_factory.mktemp("axe")
    packed = subprocess.run(
        [npm, "pack", "axe-core@4", "--silent"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if packed.returncode:
        pytest.skip(f"npm can't get axe-core: {packed.stderr.strip()[-200:]}")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packages:
        script = packages.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


def serious(browser: Chromium, axe: str) -> list[Any]:
    """Return what axe-core finds serious of the page that is open."""
    browser.run(f"{axe}; 0")
    answer = json.loads(browser.run("axe.run().then(JSON.stringify)"))
    assert len(answer["passes"]) > 20
    found = [
        (item["id"], item["impact"], item["nodes"][0]["html"], item["nodes"][0]["failureSummary"])
        for item in answer["violations"]
    ]
    return [item for item in found if item[1] in ("serious", "critical")]
