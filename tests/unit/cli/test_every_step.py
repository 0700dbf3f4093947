"""Each message that names a command is made to appear, and its commands are typed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from tests.unit.cli.scenes import Scene
from tests.unit.cli.steps import CASES, ELSEWHERE, Case, Site, sites, steps_in
from tests.unit.docs.test_commands import CHECKOUT, _a_folder_of_profiles  # noqa: F401
from tests.unit.warehouse import Warehouse


@pytest.mark.parametrize("chosen", ["--target"], indirect=True)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=f"{case.line if isinstance(case.line, str) else case.line.__name__} {case.words}"[
                :90
            ],
            marks=(pytest.mark.spark, pytest.mark.slow) if case.spark else (),
        )
        for case in CASES
    ],
)
def test_a_step_is_typed_as_it_is_printed(
    case: Case, chosen: Call, call: Call, vcs: Call, warehouse: Warehouse, folder: Path
) -> None:
    (site,) = case.sites
    scene = Scene(warehouse, folder, vcs)
    known = case.given(scene) or {}
    if callable(case.line):
        # A program chose the repository by itself, and whoever types the step does, too.
        said, call = case.line(scene), vcs
    else:
        line = shlex.split(case.line)
        said = chosen(*(word.format(**known) for word in line), code=case.code).output
    found = site.pattern.search(said)
    assert found, said
    steps = steps_in(found[0])
    for number in range(len(steps)) if case.steps is None else case.steps:
        program, *words = shlex.split(steps[number])
        assert program == "dbt-vcs", steps
        call(*map(case.filled, words), code=case.then)


def test_every_message_has_a_case() -> None:
    produced = {site for case in CASES for site in case.sites}
    named = {place: _sites_of(*place) for place in ELSEWHERE}
    # Each names a message, or all of a file, and none that has a case.
    assert [place for place, found in named.items() if not found or found & produced] == []
    known = produced.union(*named.values())
    assert [f"{site.file}: {site.text}" for site in sites() if site not in known] == []


@pytest.mark.parametrize(("place", "words"), ELSEWHERE.values(), ids=map(str, ELSEWHERE))
def test_a_message_is_looked_at_where_it_is_said_to_be(place: str, words: str) -> None:
    assert words in (CHECKOUT / place).read_text(encoding="utf-8")


def _sites_of(file: str, words: str) -> set[Site]:
    return {site for site in sites() if site.file == file and words in f"^{site.text}$"}
