"""Two sides of a small table, changed by hand."""

from collections import Counter
from typing import Any

from dbt.adapters.vcs.changes.merges.rowwise.row_outcome import MergeOutcome
from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.table.limits import MERGE_LIMITS, Limits
from tests.property.merging import RowMode, merge, policy_of, result_of
from tests.property.oracle import Table
from tests.property.world import World

SCHEMA = Schema.of(
    [
        Field(id="", name="k", type="bigint"),
        Field(id="", name="v", type="string"),
        Field(id="", name="w", type="string"),
    ]
)


def row(k: int, v: Any = "0", w: Any = "0") -> dict[str, Any]:
    return {"k": k, "v": v, "w": w}


OLD, OUR, THEIR = row(1), row(1, "ours"), row(1, "theirs")


class Sides:
    """A base of rows, and what becomes of it on two sides."""

    def __init__(self, rows: Table, *, key: tuple[str, ...] = ("k",)) -> None:
        self.world = World()
        self.base = self.world.create(SCHEMA, rows, key=key)
        self.ours = self.theirs = self.base

    def make(self, side: str, remove: list[int], add: Table, *, rewrite: bool = False) -> None:
        """Replace rows on one side, by a tombstone and a new block or by copy-on-write."""
        version = getattr(self, side)
        if rewrite:
            paths = [block.path for block in self.world.blocks(version)]
            made = self.world.rewrite(
                version, paths, lambda rows: [r for r in rows if r["k"] not in remove] + add
            )
        else:
            places = [place for place, r in self.world.located(version) if r["k"] in remove]
            made = self.world.update(version, places, add)
        setattr(self, side, made)

    def merge(
        self, mode: RowMode = "fail", limits: Limits = MERGE_LIMITS, **options: Any
    ) -> MergeOutcome:
        return merge(
            self.world.repository,
            self.base,
            self.ours,
            self.theirs,
            policy=policy_of(mode=mode, **options),
            limits=limits,
        )

    def rows(self, outcome: MergeOutcome) -> Counter[Any]:
        return content(self.world.rows(result_of(self.world, outcome)))


def content(rows: Table) -> Counter[Any]:
    return Counter(tuple(r.values()) for r in rows)
