"""What a new statement takes: a type, a reader and a handler, none of which is listed anywhere."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dbt.adapters.vcs.core.errors import ReadOnlyError
from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.sql.schema import DropSchema
from dbt.adapters.vcs.sql.syntax import parser
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.parser import Statement, parse, reads
from dbt.adapters.vcs.sql.table import DropRelation
from dbt.adapters.vcs.workspace import statement_scope
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection, Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handler_of, handles
from tests.unit.fake_engine import FakeEngine
from tests.unit.warehouse import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTwice(Statement):
    """`drop twice s`."""

    changes = True

    name: str


def read_drop_twice(cursor: TokenCursor) -> DropTwice:
    name = cursor.schema()
    cursor.end()
    return DropTwice(name=name)


def drop_twice(scope: Scope, statement: DropTwice) -> Outcome:
    scope.overlay.put_schema(f"{statement.name}_twice", comment=None, properties={})
    return Outcome(affected=2)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the statement for one test; what is there must have been found before."""
    handler_of(parse("drop table t"))
    for module, table in ((parser, "_READERS"), (statement_scope, "_HANDLERS")):
        monkeypatch.setattr(module, table, dict(getattr(module, table)))
    reads("drop twice")(read_drop_twice)
    handles(DropTwice)(drop_twice)
    yield


@pytest.fixture
def connection() -> Connection:
    warehouse = Warehouse()
    line = BranchLine(warehouse.repository, "main", "ann")
    engine = FakeEngine(warehouse.blobs)
    return Workspace(warehouse.repository, line, lambda: engine, schema="shop").connect("test")


@pytest.mark.usefixtures("registered")
def test_the_reader_of_most_words_reads_a_statement() -> None:
    assert parse("drop twice s") == DropTwice(name="s")
    assert isinstance(parse("drop table s"), DropRelation)
    assert isinstance(parse("drop schema s"), DropSchema)


@pytest.mark.usefixtures("registered")
def test_a_statement_reaches_the_handler_of_its_type(connection: Connection) -> None:
    overlay = connection.workspace.begin()
    outcome = connection.execute("drop twice s", overlay, origin=Origin())
    assert outcome.affected == 2
    assert overlay.schema_names() == ["s_twice"]


@pytest.mark.usefixtures("registered")
def test_what_changes_the_branch_is_refused_where_one_only_reads(connection: Connection) -> None:
    overlay = connection.workspace.begin()
    with pytest.raises(ReadOnlyError, match="drop twice s"):
        connection.execute("drop twice s", overlay, origin=Origin(), read_only=True)


@pytest.mark.usefixtures("registered")
def test_words_and_types_have_one_owner() -> None:
    with pytest.raises(ValueError, match="begin with drop twice"):
        reads("drop twice")(read_drop_twice)
    with pytest.raises(ValueError, match="Two handlers for DropTwice"):
        handles(DropTwice)(drop_twice)


def below(kind: type[Statement]) -> Iterator[type[Statement]]:
    for item in kind.__subclasses__():
        yield item
        yield from below(item)


# What several statements share, and none is.
SHARED = {"ChangingRelation", "ChangingStatement", "Creation", "OnRelation"}


def test_every_statement_has_a_handler() -> None:
    handler_of(parse("drop table t"))
    house = [kind for kind in below(Statement) if kind.__module__.startswith("dbt.")]
    kinds = {kind.__qualname__ for kind in house} - SHARED
    assert len(kinds) > 40
    assert {kind.__qualname__ for kind in statement_scope._HANDLERS} >= kinds
