"""Keys: equal if and only if everything that a result follows from is equal.

Each ingredient is a switch with two positions. Two settings of all switches give the same key only
if they are the same, whatever the other switches, which can't matter, are set to.
"""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.ids import FunctionId, Micros, SegmentId, SnapshotId, TableId, ViewId
from dbt.adapters.vcs.core.model import (
    Block,
    Field,
    Function,
    FunctionEntry,
    Origin,
    RelationName,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
    View,
    ViewColumn,
    ViewEntry,
)
from dbt.adapters.vcs.reuse.cache_key import KeyContext
from dbt.adapters.vcs.reuse.contents import NotReusableError
from dbt.adapters.vcs.reuse.engine_context import EngineContext, SessionFacts
from dbt.adapters.vcs.reuse.statement_keys import statement_key
from dbt.adapters.vcs.sql.syntax.parser import read
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.mounts import External
from tests.unit.fake_engine import FakeEngine
from tests.unit.warehouse import Warehouse

QUERY = (
    "select o.id, v.rate, f.id as file, taxed(o.id) as taxed, {expression} as {alias} "
    "from {orders} o join rates v using (id) join raw.files f using (id)"
)
FORMS = {
    "create": "create or replace table {target} {properties} as " + QUERY,
    "insert": "insert into {target} " + QUERY,
    "merge": "merge into {target} t using (" + QUERY + ") s on t.id = s.id "
    "when matched then update set * when not matched then insert *",
    "delete": "delete from {target} where id in (select id from (" + QUERY + ") d)",
    "answer": QUERY,
    "view": "create or replace view v2 as " + QUERY,
}
"""By name. All read a table, a view on a table, files and a function."""

ALWAYS = (
    *("expression", "alias", "columns", "view", "function"),
    *("setting", "said", "spark", "server", "always"),
)
READ = ("rows", "below", "files")
CHANGED = ("target", "key", "columns_of_target")
COUNTS = {
    "create": (*ALWAYS, *READ, "properties", "partition"),
    "insert": (*ALWAYS, *READ, *CHANGED),
    "merge": (*ALWAYS, *READ, *CHANGED),
    "delete": (*ALWAYS, *READ, *CHANGED),
    "answer": (*ALWAYS, *READ),
    "view": ALWAYS,
}
"""Switches that count: rows for what reads them, the target for what changes it."""

ASIDE = ("version", "optimized", "order", "speed", "other_table")
SPELLING = ("comment", "space", "renamed", "schema")
NOISE = {
    "create": (*ASIDE, *SPELLING, *CHANGED),
    "insert": (*ASIDE, *SPELLING),
    "merge": (*ASIDE, *SPELLING),
    "delete": (*ASIDE, *SPELLING),
    "answer": (*ASIDE, *SPELLING, *CHANGED),
    # A view's text is what it is, and its rows are computed by whoever reads it.
    "view": (*ASIDE, *CHANGED, "rows", "below"),
}
"""Switches that can't matter."""


class Place:
    """A branch and a session; of each switch the names of those in second position are given."""

    def __init__(self, on: Set[str], files: Path) -> None:
        self._on = on
        self.warehouse = Warehouse()
        self.schema = self.pick("schema", "shop", "dev")
        self._files = files

    def pick(self, name: str, first: Any, second: Any) -> Any:
        return second if name in self._on else first

    def key(self, form: str) -> str:
        """The key of a statement of this form."""
        return self.key_of(FORMS[form])

    def key_of(self, form: str) -> str:
        self._fill()
        text = self._text(form)
        workspace = Workspace(
            self.warehouse.repository,
            BranchLine(self.warehouse.repository, "main", "ann"),
            lambda: FakeEngine(self.warehouse.blobs),
            schema=self.schema,
            externals=lambda: {
                RelationName("raw", "files"): External(
                    location=str(self._files), format="csv", options={"header": "true"}
                )
            },
        )
        scope = workspace.connect("test").scope(text, workspace.begin(), Origin())
        statement, scope.calls = read(text)
        key = statement_key(scope, statement, self._context())
        assert key is not None
        return key.id

    def _text(self, form: str) -> str:
        text = form.format(
            target="target",
            orders=self.pick("renamed", "orders", "raw_orders"),
            expression=self.pick("expression", "o.id + 1", "o.id + 2"),
            alias=self.pick("alias", "n", "N"),
            properties=self._properties(),
        )
        if self.pick("space", False, True):
            text = text.replace(" ", "\n  ")
        return f"/* model 'x */ {text} -- it's" if self.pick("comment", False, True) else text

    def _properties(self) -> str:
        pairs = ["'a' = '1'", self.pick("properties", "'b' = '2'", "'b' = '3'")]
        if self.pick("order", False, True):
            pairs.reverse()
        partition = self.pick("partition", "", "partitioned by (rate)")
        return f"{partition} tblproperties ({', '.join(pairs)})"

    def _context(self) -> KeyContext:
        settings = {"spark.sql.ansi.enabled": self.pick("setting", "true", "false")}
        if self.pick("speed", False, True):
            settings["spark.sql.shuffle.partitions"] = "7"
            settings["spark.driver.memory"] = "1g"
        return KeyContext(
            engine=EngineContext(
                settings=settings,
                engine_version=self.pick("spark", "4.0", "4.1"),
                server=self.pick("server", "", "sc://a"),
            ),
            facts=SessionFacts(
                changed={"spark.sql.session.timeZone": self.pick("said", "UTC", "Asia/Tokyo")}
            ),
            is_always=self.pick("always", False, True),
        )

    def _fill(self) -> None:
        self._files.write_text(self.pick("files", "id\n1\n", "id\n2\n"))
        objects = self.warehouse.repository.objects
        orders = self.table(
            "orders", self.pick("rows", "a", "b"), self.pick("columns", (), ("x",))
        )
        base = self.table("base", self.pick("below", "a", "b"))
        target = self.table(
            "target",
            self.pick("target", "a", "b"),
            self.pick("columns_of_target", (), ("x",)),
            key=self.pick("key", (), ("id",)),
        )
        rate = self.pick("varying view", self.pick("view", "1", "2"), "date 'today'")
        view = View(
            text=f"select id, {rate} as rate from s.base",
            columns=(ViewColumn(name="id", type="bigint"), ViewColumn(name="rate", type="int")),
            reads=("s.base",),
        )
        function = Function(text=self.pick("function", "x + 1", "x + 2"))
        others = {"more": "c"} if self.pick("other_table", False, True) else {}
        self.warehouse.put(schema="s", base=base)
        self.warehouse.put(
            schema=self.schema,
            **{self.pick("renamed", "orders", "raw_orders"): orders},
            target=target,
            rates=ViewEntry(view=ViewId(objects.put(view))),
            taxed=FunctionEntry(function=FunctionId(objects.put(function))),
            **others,
        )

    def table(
        self, name: str, block: str, more: tuple[str, ...] = (), key: tuple[str, ...] = ()
    ) -> TableEntry:
        """A version of a table; switches decide who made it, and whether it was compacted."""
        objects = self.warehouse.repository.objects
        default = self.pick("default", None, "current_timestamp()") if name == "target" else None
        snapshot = Snapshot(
            table=TableId(f"{name}-{self.pick('version', 1, 2)}"),
            schema=Schema.of(
                [
                    Field(id="", name=column, type="bigint", default=default)
                    for column in ("id", *more)
                ]
            ),
            segments=(self._segment(name, block),),
            created_at=Micros(self.pick("version", 1, 2)),
            operation=self.pick("version", "create", "clone"),
            origin=Origin(node=self.pick("version", "model.a", "model.b")),
            primary_key=key,
        )
        if self.pick("optimized", False, True) and name != "target":
            snapshot = msgspec.structs.replace(
                snapshot,
                segments=(self._segment(name, f"{block}-compact"),),
                operation="optimize",
                parents=(SnapshotId(objects.put(snapshot)),),
            )
        return TableEntry(snapshot=SnapshotId(objects.put(snapshot)))

    def _segment(self, name: str, block: str) -> SegmentRef:
        segment = Segment(blocks=(Block(path=f"data/{name}/{block}.parquet", rows=1, bytes=1),))
        id = SegmentId(self.warehouse.repository.objects.put(segment))
        return SegmentRef(id=id, blocks=1, rows=1, bytes=1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("raw") / "files.csv"
    path.write_text("id\n1\n")
    return path


@pytest.mark.parametrize(
    ("form", "name"), [(form, name) for form in FORMS for name in COUNTS[form]]
)
def test_each_ingredient_changes_the_key(form: str, name: str, files: Path) -> None:
    assert Place({name}, files).key(form) != Place(set(), files).key(form)


@pytest.mark.parametrize(
    ("form", "name"), [(form, name) for form in FORMS for name in NOISE[form]]
)
def test_what_can_not_matter_does_not(form: str, name: str, files: Path) -> None:
    assert Place({name}, files).key(form) == Place(set(), files).key(form)


@given(st.sampled_from(sorted(FORMS)), st.data())
def test_keys_are_equal_if_and_only_if_all_that_counts_is(
    files: Path, form: str, data: st.DataObject
) -> None:
    counted = st.sets(st.sampled_from(COUNTS[form]), max_size=4)
    noise = st.sets(st.sampled_from(NOISE[form]))
    left = data.draw(counted)
    right = data.draw(st.just(left) | counted)
    one, other = (Place(on | data.draw(noise), files).key(form) for on in (left, right))
    assert (one == other) == (left == right)


def test_no_two_forms_share_a_key(files: Path) -> None:
    keys = {Place(set(), files).key(form) for form in FORMS}
    assert len(keys) == len(FORMS)


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("current_timestamp", "current_timestamp"),
        ("`now`()", "now"),
        ("date 'today'", "'today'"),
        ("cast('now' as timestamp)", "'now'"),
        ("rand()", "rand"),
        ("aes_encrypt('a', 'b')", "aes_encrypt"),
        ("'${{env:HOME}}'", "${env:HOME}"),
    ],
)
@pytest.mark.parametrize("form", ["create", "insert", "merge", "delete", "answer"])
def test_what_varies_has_no_key(form: str, expression: str, word: str, files: Path) -> None:
    text = FORMS[form].replace("{expression}", expression)
    with pytest.raises(NotReusableError, match=re.escape(word)):
        Place(set(), files).key_of(text)
    # Who says so takes it in any case.
    assert Place({"always"}, files).key_of(text)


def test_a_view_below_that_varies_is_found(files: Path) -> None:
    with pytest.raises(NotReusableError, match="today"):
        Place({"varying view"}, files).key("create")


@pytest.mark.parametrize(
    "text",
    [
        "insert into target select * from {named}",
        "insert into target replace where id in (select id from {named}) select * from orders",
        "merge into target t using {named} s on t.id = s.id when matched then delete",
        "update target set id = 1 where id in (select id from {named})",
        "delete from target where id in (select id from {named})",
    ],
)
def test_files_that_a_change_names_count(text: str, files: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    found = set()
    for contents in ('{"id": 1}', '{"id": 22}'):
        file.write_text(contents)
        found.add(Place(set(), files).key_of(text.format(named=f"json.`{file}`")))
    assert len(found) == 2


@pytest.mark.parametrize("form", ["insert", "merge", "delete"])
def test_a_default_of_the_target_that_depends_on_the_moment_counts(form: str, files: Path) -> None:
    with pytest.raises(NotReusableError, match="current_timestamp"):
        Place({"default"}, files).key(form)
