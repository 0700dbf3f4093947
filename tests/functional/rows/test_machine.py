"""Random statements give the same rows on a table and on a list of dicts, on every branch."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dbt.adapters.vcs.changes.writes.stage_write import WRITE_MODE
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Snapshot

from .model import NAMES, VALUES, Clauses, Condition, Source, Table, conditions, quoted
from .model import text as sql
from .shop import Shop

pytestmark = pytest.mark.spark

ALL = Condition("", lambda row: True)


class Rows(RuleBasedStateMachine):
    """One table on up to three branches; its snapshots are checked again at the end."""

    main: Shop

    def __init__(self) -> None:
        super().__init__()
        self.branches: list[tuple[Shop, Table]] = []
        self.seen: list[tuple[Shop, Snapshot, Table]] = []
        self.changed: int | None = None
        self.name = ""

    @initialize(
        mode=st.sampled_from(["auto", "merge_on_read", "merge_on_read", "copy_on_write"]),
        partitioned=st.booleans(),
        rows=st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=12),
    )
    def begin(self, mode: str, partitioned: bool, rows: list[tuple[Any, ...]]) -> None:
        shop = self.main
        by = "p" if partitioned else ""
        properties = f"'{WRITE_MODE}' = '{mode}'"
        self.name = shop.make("k int, a int, p int", by=by, properties=properties)
        table = Table(["k", "a", "p"])
        self.branches.append((shop, table))
        self._insert(0, rows)

    def _insert(self, branch: int, rows: list[tuple[Any, ...]], verb: str = "into") -> None:
        shop, table = self.branches[branch]
        listed = ", ".join(f"({', '.join(map(sql, row))})" for row in rows)
        none = f"select * from {self.name} where false"
        values = f"select * from values {listed}" if rows else none
        assert shop.change(f"insert {verb} {self.name} {values}") == len(rows)
        table.insert(rows)
        self.changed = branch

    def _pick(self, data: st.DataObject) -> tuple[int, Shop, Table]:
        branch = data.draw(st.integers(0, len(self.branches) - 1), "branch")
        self.changed = branch
        return branch, *self.branches[branch]

    @rule(data=st.data())
    def insert(self, data: st.DataObject) -> None:
        branch, _, table = self._pick(data)
        row = st.tuples(*[VALUES] * len(table.columns))
        self._insert(branch, data.draw(st.lists(row, min_size=1, max_size=6)))

    @rule(data=st.data())
    def overwrite(self, data: st.DataObject) -> None:
        branch, _, table = self._pick(data)
        row = st.tuples(*[VALUES] * len(table.columns))
        rows = data.draw(st.lists(row, max_size=8))
        table.rows = []
        self._insert(branch, rows, "overwrite")

    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        column = data.draw(st.sampled_from(table.columns), "column")
        where = data.draw(conditions(table.columns), "where")
        value = data.draw(VALUES | st.just("k + 1"), "value")
        to = sql(value)

        def change(row: dict[str, Any]) -> Any:
            if value == "k + 1":
                return None if row["k"] is None else row["k"] + 1
            return value

        text = f"update {self.name} set {quoted(column)} = {to} where {where.sql}"
        assert shop.change(text) == table.update(column, change, where), text

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        where = data.draw(conditions(table.columns), "where")
        text = f"delete from {self.name} where {where.sql}"
        assert shop.change(text) == table.delete(where), text

    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        source = Source(tuple(data.draw(st.lists(st.tuples(VALUES, VALUES), max_size=6))))
        on_target = conditions(table.columns, "t.")
        clauses = Clauses(
            update=data.draw(st.none() | st.sampled_from(table.columns)),
            delete=data.draw(st.none() | st.just(ALL) | on_target),
            insert=data.draw(st.booleans()),
            by_source=data.draw(st.none() | on_target),
        )
        parts = [f"merge into {self.name} t using {source.sql} s on t.k = s.k"]
        if clauses.delete is not None:
            only = f" and ({clauses.delete.sql})" if clauses.delete.sql else ""
            parts.append(f"when matched{only} then delete")
        # Spark rejects a clause after one without a condition.
        if clauses.update is not None and clauses.delete is not ALL:
            parts.append(f"when matched then update set {quoted(clauses.update)} = s.x")
        else:
            clauses = clauses._replace(update=None)
        if clauses.insert:
            parts.append("when not matched then insert (k) values (s.k)")
        if clauses.by_source is not None:
            parts.append(f"when not matched by source and {clauses.by_source.sql} then delete")
        if len(parts) == 1:
            return
        affected = table.merge(source, clauses)
        if affected is None:
            with pytest.raises(InputError, match="match several rows"):
                shop.sql(" ".join(parts))
        else:
            assert shop.change(" ".join(parts)) == affected, parts

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        shop.sql(f"truncate table {self.name}")
        table.rows = []

    @rule(data=st.data())
    def add_column(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        left = [name for name in NAMES if name not in table.columns]
        if left:
            name = data.draw(st.sampled_from(left))
            shop.sql(f"alter table {self.name} add columns ({quoted(name)} int)")
            self._place(shop, table, name)

    def _place(self, shop: Shop, table: Table, name: str) -> None:
        """Add a column in the table's order: partition columns stay last."""
        table.add(name)
        table.columns = list(shop.version(self.name).schema.names)

    @rule(data=st.data())
    def drop_column(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        free = [name for name in table.columns if name not in ("k", "p")]
        if free:
            name = data.draw(st.sampled_from(free))
            shop.sql(f"alter table {self.name} drop column {quoted(name)}")
            table.drop(name)

    @rule(data=st.data())
    def rename_column(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        free = [name for name in table.columns if name not in ("k", "p")]
        left = [name for name in NAMES if name not in table.columns]
        if free and left:
            old, new = data.draw(st.sampled_from(free)), data.draw(st.sampled_from(left))
            shop.sql(f"alter table {self.name} rename column {quoted(old)} to {quoted(new)}")
            table.rename(old, new)

    @precondition(lambda self: len(self.branches) < 3)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        self.branches.append((shop.branched(), table.copy()))
        self.changed = len(self.branches) - 1

    @rule(data=st.data())
    def look_again_later(self, data: st.DataObject) -> None:
        _, shop, table = self._pick(data)
        self.seen.append((shop, shop.version(self.name), table.copy()))
        self.changed = None

    @invariant()
    def the_changed_branch_has_the_same_rows(self) -> None:
        if self.changed is not None:
            shop, table = self.branches[self.changed]
            self._compare(shop, shop.version(self.name), table)
            self.changed = None

    def _compare(self, shop: Shop, version: Snapshot, table: Table) -> None:
        assert list(version.schema.names) == table.columns
        assert version.rows == len(table.rows)
        assert Counter(shop.rows_of(version)) == table.contents()

    def teardown(self) -> None:
        for shop, version, table in self.seen:
            self._compare(shop, version, table)
        for shop, table in self.branches:
            self._compare(shop, shop.version(self.name), table)
            if shop is not self.main:
                shop.close()


def test_random_statements(shop: Shop) -> None:
    class Here(Rows):
        main = shop

    # Each step is a few jobs of Spark, so an example here is a hundred elsewhere.
    chosen = settings(
        max_examples=max(1, settings().max_examples // 40),
        stateful_step_count=12,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Here, settings=chosen)
