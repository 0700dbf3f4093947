"""What becomes of a block that loses rows."""

import pytest

from dbt.adapters.vcs.changes.writes.stage import BlockChoice
from dbt.adapters.vcs.changes.writes.stage_write import MIN_BYTES, chosen
from dbt.adapters.vcs.core.model import Block

LARGE = Block(path="large", rows=100, bytes=MIN_BYTES)
SMALL = Block(path="small", rows=100, bytes=MIN_BYTES - 1)
OTHER = Block(path="other", rows=100, bytes=MIN_BYTES)
NOTHING = BlockChoice(frozenset(), (), frozenset())


def choice(deleted: dict[str, int], before: dict[str, int], mode: str = "auto") -> BlockChoice:
    return chosen([LARGE, SMALL, OTHER], deleted, before, mode)


@pytest.mark.parametrize(
    ("deleted", "before", "mode", "expected"),
    [
        ({}, {"large": 90}, "auto", NOTHING),
        ({"large": 1}, {}, "auto", NOTHING._replace(holed=frozenset({"large"}))),
        ({"large": 30}, {}, "auto", NOTHING._replace(holed=frozenset({"large"}))),
        ({"large": 31}, {}, "auto", NOTHING._replace(rewritten=(LARGE,))),
        ({"large": 1}, {"large": 30}, "auto", NOTHING._replace(rewritten=(LARGE,))),
        ({"large": 100}, {}, "auto", NOTHING._replace(gone=frozenset({"large"}))),
        ({"large": 60}, {"large": 40}, "auto", NOTHING._replace(gone=frozenset({"large"}))),
        ({"small": 1}, {}, "auto", NOTHING._replace(rewritten=(SMALL,))),
        ({"small": 1}, {}, "merge_on_read", NOTHING._replace(holed=frozenset({"small"}))),
        ({"large": 99}, {}, "merge_on_read", NOTHING._replace(holed=frozenset({"large"}))),
        ({"large": 1}, {}, "copy_on_write", NOTHING._replace(rewritten=(LARGE,))),
        ({"large": 100}, {}, "copy_on_write", NOTHING._replace(gone=frozenset({"large"}))),
        (
            {"large": 2, "small": 100, "other": 50},
            {},
            "auto",
            BlockChoice(frozenset({"small"}), (OTHER,), frozenset({"large"})),
        ),
    ],
)
def test_choice(
    deleted: dict[str, int], before: dict[str, int], mode: str, expected: BlockChoice
) -> None:
    assert choice(deleted, before, mode) == expected
