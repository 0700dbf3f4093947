"""The oracle: what a journal allows the branches to show."""

from __future__ import annotations

from typing import Any

import pytest

from chaos.worlds import Worlds


def followed(*lines: dict[str, Any]) -> Worlds:
    worlds = Worlds()
    for line in lines:
        worlds.follow(line)
    return worlds


def insert(place: str, batch: str) -> dict[str, Any]:
    return {"event": "intended", "op": "insert", "place": place, "batch": batch}


DONE = {"event": "done"}
NOTHING: dict[str, list[str]] = {"main": [], "work": [], "lab": [], "old": []}


def test_an_acknowledged_batch_must_be_there() -> None:
    worlds = followed(insert("main", "x"), DONE)
    (wrong,) = worlds.narrow(NOTHING)
    assert wrong.startswith("lost: x")


@pytest.mark.parametrize("shown", [[], ["x"]])
@pytest.mark.parametrize("end", [[], [{"event": "unknown"}]])
def test_one_that_was_not_acknowledged_may_be_there(
    shown: list[str], end: list[dict[str, Any]]
) -> None:
    worlds = followed(insert("main", "x"), *end)
    assert worlds.narrow({**NOTHING, "main": shown}) == []
    # From then on it stays as it was seen.
    assert worlds.narrow({**NOTHING, "main": [] if shown else ["x"]}) != []


def test_one_that_was_refused_must_not_be_there() -> None:
    worlds = followed(insert("main", "x"), {"event": "refused"})
    (wrong,) = worlds.narrow({**NOTHING, "main": ["x"]})
    assert wrong.startswith("risen: x")


def test_a_merge_that_may_have_happened_brings_all_or_nothing() -> None:
    publish = {"event": "intended", "op": "publish"}
    lines = insert("work", "x"), DONE, insert("work", "y"), DONE, publish
    both = {**NOTHING, "work": ["x", "y"]}
    for main in ([], ["x", "y"]):
        assert followed(*lines).narrow({**both, "main": main}) == []
    (wrong,) = followed(*lines).narrow({**both, "main": ["x"]})
    assert wrong.startswith("mixed")


def test_what_main_deleted_stays_away_when_the_branch_is_merged_again() -> None:
    publish = {"event": "intended", "op": "publish"}
    delete = {"event": "intended", "op": "delete", "place": "main", "batch": "x"}
    worlds = followed(insert("work", "x"), DONE, publish, DONE, delete, DONE, publish, DONE)
    assert worlds.narrow({**NOTHING, "work": ["x"]}) == []


def test_a_sign_that_was_acknowledged_must_be_up() -> None:
    put_up = {"event": "intended", "op": "sign", "text": "open"}
    assert followed(put_up, DONE).narrow({**NOTHING, "sign": ["open"]}) == []
    (wrong,) = followed(put_up, DONE).narrow({**NOTHING, "sign": []})
    assert wrong.startswith("lost: open")
    (wrong,) = followed(put_up, {"event": "refused"}).narrow({**NOTHING, "sign": ["open"]})
    assert wrong.startswith("risen: open")
    assert followed(put_up).narrow({**NOTHING, "sign": ["open"]}) == []
