"""Write docs/pictures/review-*.png: a review's page as a browser shows it.

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
from tests.browser.chromium import Chromium, find
from tests.unit import reviews

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
        browser.pdf(folder / "usual.pdf")
        command = ["pdftoppm", "-r", "70", "-png", "-f", "1", "-l", "1", "-singlefile"]
        subprocess.run([*command, folder / "usual.pdf", folder / "printed"], check=True)
        shrink(folder / "printed.png", "review-printed.png")


if __name__ == "__main__":
    main()
