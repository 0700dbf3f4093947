"""Write docs/pictures/review-*.png and ui-*.png: pages as a browser shows them.

Run by `make pictures`. It needs Chromium, and pdftoppm for the printed page.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from dbt.adapters.vcs.commands.review_page import page
from tests.browser import shops
from tests.browser.chromium import Chromium, find
from tests.unit import reviews
from tests.unit.serve.server_process import ServerProcess

PICTURES = Path(__file__).parents[2] / "docs/pictures"


def shrink(drawn: Path, name: str) -> None:
    """Keep a picture with at most 128 colours."""
    with Image.open(drawn) as image:
        few = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
        few.save(PICTURES / name, optimize=True)


def main() -> None:
    """Draw them all."""
    if find() is None:
        sys.exit(
            "Found no Chromium. Install it: apt-get install chromium, or brew install chromium"
        )
    with TemporaryDirectory() as scratch, Chromium() as browser:
        folder = Path(scratch)
        usual, many, drawn = (folder / name for name in ("usual.html", "many.html", "drawn.png"))
        usual.write_text(page(reviews.usual()), encoding="utf-8")
        many.write_text(page(reviews.large(200, 1200, 20_000)), encoding="utf-8")

        def draw(name: str, made: Path, whole: bool = False, after: str = "", **look: Any) -> None:
            browser.open(made, **look)
            if after:
                browser.run(after)
                browser.run("new Promise(done => setTimeout(done, 200))")
            browser.screenshot(drawn, whole=whole)
            shrink(drawn, name)

        draw("review-light.png", usual, height=1500)
        draw("review-dark.png", usual, height=1500, scheme="dark")
        draw("review-narrow.png", usual, width=375, height=1300)
        draw("review-many.png", many, height=900)
        lineage = "document.getElementById('lineage').scrollIntoView()"
        draw("review-lineage.png", many, height=900, after=lineage)
        rows = (
            "(rows => { rows.open = true; rows.scrollIntoView() })"
            "(document.querySelector('details.rows'))"
        )
        draw("review-rows.png", usual, height=700, after=rows)

        browser.open(usual)
        draw_printed(browser, folder, "review-printed.png")
        draw_ui(browser, folder)


def draw_printed(browser: Chromium, folder: Path, name: str) -> None:
    """Draw the first page of what is open, as it is printed."""
    browser.pdf(folder / "open.pdf")
    command = ["pdftoppm", "-r", "70", "-png", "-f", "1", "-l", "1", "-singlefile"]
    subprocess.run([*command, folder / "open.pdf", folder / "printed"], check=True)
    shrink(folder / "printed.png", name)


def draw_ui(browser: Chromium, folder: Path) -> None:
    """Draw pages of `dbt-vcs ui`."""
    shops.usual(folder / "shop", 200)
    drawn = folder / "drawn.png"
    # The folder is of this machine alone.
    rename = "document.querySelector('.place').textContent = 's3://lake/warehouse'"
    server = ServerProcess(folder / "shop", verb="ui", says="Showing ")
    try:
        browser.open(server.url)
        home = server.url.partition("?")[0]
        rows = "rows?name=shop.orders"

        def draw(name: str, path: str, **look: Any) -> None:
            browser.open(home + path, **look)
            browser.run(rename)
            browser.screenshot(drawn)
            shrink(drawn, name)

        draw("ui-branches.png", "", height=720)
        draw("ui-log.png", "log", height=620, scheme="dark")
        draw("ui-tables.png", "tables", height=720)
        draw("ui-rows.png", f"{rows}&where=amount+%3E+150+and+note+is+null", height=720)
        draw("ui-conflicts.png", "conflicts?into=main&name=shop.orders", height=820)
        draw("ui-narrow.png", rows, width=375, height=720)
        browser.open(home + rows)
        draw_printed(browser, folder, "ui-printed.png")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
