"""Write the macros of this package from the adapter's own: `python hub/generate.py`.

Each macro of the package hands its arguments on to the one that the adapter brings, so nothing is
computed here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

HUB: Final = Path(__file__).parent
MACROS: Final = HUB.parent / "macros"
NAMES: Final = ("operations/changes", "operations/snapshot_diff", "relations/at")
"""Macros that models use, besides all generic tests on differences."""

_OWN: Final = "check_adapter.sql"
_DISPATCH: Final = re.compile(r"adapter\.dispatch\('(\w+)', 'dbt'\)\(")
_OPENING: Final = re.compile(
    r"^(\{% (test|macro) (\w+)\(.*?\) %\}\n)(.*?)(\{% end\2)", re.S | re.M
)


def macros() -> dict[str, str]:
    """Return the texts of the package's macros by the names of their files."""
    paths = [*(MACROS / "tests").glob("diff_*.sql"), *(MACROS / f"{name}.sql" for name in NAMES)]
    return {path.name: _handing_on(path.read_text(encoding="utf-8")) for path in sorted(paths)}


def _handing_on(text: str) -> str:
    """Return a public macro, with its comment, that calls the adapter's if it is there."""
    # What computes is the adapter's, and stays there.
    public = text.partition("{% macro default__")[0].rstrip() + "\n"
    # By its name, since dbt refuses to parse a dispatch to what another adapter lacks. That name
    # is the adapter's only, as the context of a test holds one macro of a name.
    public = _DISPATCH.sub(r"default__\1(", public)
    return _OPENING.sub(
        lambda found: (
            f"{found[1]}  {{% if dbt_vcs_diff.check_adapter('{found[3]}') %}}\n"
            f"{found[4]}  {{% endif %}}\n{found[5]}"
        ),
        public,
    )


def write() -> None:
    """Write the macros, and delete those that the adapter has no more."""
    found = macros()
    for path in (HUB / "macros").glob("*.sql"):
        if path.name not in (*found, _OWN):
            path.unlink()
    for name, text in found.items():
        (HUB / "macros" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
