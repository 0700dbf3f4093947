"""Open conflicts of a large merge: counted, and read only as far as they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa

from dbt.adapters.vcs.merges.by_engine.row_decisions import OPEN, UNIT, spelled
from dbt.adapters.vcs.merges.by_engine.staged_actions import StagedActions
from dbt.adapters.vcs.merges.rowwise.conflict_rows import OUR_TYPE, THEIR_TYPE, mark_of
from dbt.adapters.vcs.rows.files.block_reader import shown_type
from dbt.adapters.vcs.rows.quoting import quoted

KEPT: Final = 100_000
"""Up to so many conflicts are read and can be decided one by one."""

SHOWN: Final = 100
"""Of more conflicts so many are read, to be shown."""

_SIDES: Final = {"b": "base", "o": "our", "t": "their"}


@dataclass(frozen=True)
class OpenConflicts:
    """Conflicts that nobody decided, as `rowwise.conflict_rows.Conflicts`."""

    actions: StagedActions

    def __len__(self) -> int:
        return self.actions.totals.conflicts

    @cached_property
    def table(self) -> pa.Table:
        """The conflicts as `Conflicts.table`; of more than `KEPT` the first `SHOWN`."""
        limit = len(self) if len(self) <= KEPT else SHOWN
        found = self.actions.session.query(f"{self.query} limit {limit}").arrow()
        return found.cast(self._schema)

    @property
    def query(self) -> str:
        """The query for all of them, in any order."""
        fields, by = self.actions.fields, self.actions.by
        row = f"struct({', '.join(f'c{n}' for n in range(len(fields)))})"
        rows = [
            f"first(case when {state} = 1 then {row} end, true) row_{state}" for state in _SIDES
        ]
        # All rows of a conflict without a key are equal, and so are these counts.
        counts = ["max(uo - ub) our_count", "max(ut - ub) their_count"]
        columns = [*self._types(), *self._counts()]
        columns += [
            f"row_{state}.c{n} {quoted(f'{side}_{field.name}')}"
            for n, field in enumerate(fields)
            for state, side in _SIDES.items()
        ]
        return (
            f"select {', '.join(columns)} from (select {', '.join([*rows, *counts])} "
            f"from {self.actions.relation} where action = {OPEN} "
            f"group by {', '.join([*spelled(fields, by), UNIT])})"
        )

    def _types(self) -> list[str]:
        mark = mark_of(self.actions.fields)
        found = []
        for state, side, name in (("o", "our", OUR_TYPE), ("t", "their", THEIR_TYPE)):
            told = (
                f"if(row_b is null, 'added', if(row_{state} is null, 'removed', 'modified'))"
                if self.actions.keyed
                else f"if({side}_count > 0, 'added', 'removed')"
            )
            found.append(f"{told} {quoted(name + mark)}")
        return found

    def _counts(self) -> list[str]:
        if self.actions.keyed:
            return []
        mark = mark_of(self.actions.fields)
        return [f"{side}_count {quoted(f'{side}_diff_count{mark}')}" for side in ("our", "their")]

    @property
    def _schema(self) -> pa.Schema:
        fields, mark = self.actions.fields, mark_of(self.actions.fields)
        told = [(name + mark, pa.string()) for name in (OUR_TYPE, THEIR_TYPE)]
        if not self.actions.keyed:
            told += [(f"{side}_diff_count{mark}", pa.int64()) for side in ("our", "their")]
        return pa.schema(
            [
                *told,
                *(
                    (f"{side}_{field.name}", shown_type(field))
                    for field in fields
                    for side in _SIDES.values()
                ),
            ]
        )
