"""Temporary views of a session whose catalog is somebody else's: what they were made of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.engines.connect.connect_session import ConnectView
from dbt.adapters.vcs.engines.connect.tagged_jobs import OperationGate, ServerErrors, TaggedJobs
from dbt.adapters.vcs.engines.dataframes.name_registry import NameRegistry, Recorded
from dbt.adapters.vcs.engines.dataframes.staged_insert import ScratchSchema
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.methods import ServerAddress
from dbt.adapters.vcs.engines.port import TemporaryDefinition
from dbt.adapters.vcs.engines.spark.adopted import OwnersTemporaries


class Server:
    """A session of a server that knows temporary views by their names only."""

    def __init__(self) -> None:
        self.views: set[str] = set()
        self.texts: list[str] = []

    def addTag(self, tag: str) -> None: ...

    def removeTag(self, tag: str) -> None: ...

    def sql(self, text: str) -> Any:
        words = text.split()
        if words[0] == "create" and words[1] == "temporary":
            if words[3] in self.views:
                raise StatementError(f"{words[3]} exists.")
            self.views.add(words[3])
        if words[:2] == ["drop", "view"]:
            self.views.remove(words[2].strip("`"))
        self.texts.append(text)
        names = self.views if text == "show views" else ()
        rows = [SimpleNamespace(viewName=name, isTemporary=True) for name in names]
        schema = SimpleNamespace(fields=[])
        return SimpleNamespace(columns=[], schema=schema, collect=lambda: rows)


def test_a_view_stays_what_it_is_when_the_same_name_is_refused_to_another() -> None:
    server: Any = Server()
    errors = ServerErrors(ServerAddress("sc://here:1"), str)
    view = ConnectView(
        server,
        NameRegistry(),
        ScratchSchema(float),
        MemoryBlobs(),
        root=lambda: "file:/x",
        jobs=TaggedJobs(server, errors, OperationGate()),
        settings={},
    )
    for name in "ab":
        view.mount_view(RelationName("s", name), f"select '{name}1' x")
    view.query("create temporary view v as select * from s.a")
    with pytest.raises(StatementError):
        view.query("create temporary view v as select * from s.b")
    # What follows must not take the refused statement for one that was carried out.
    view.query("set spark.sql.ansi.enabled = true")
    found = view.temporary_view("v")
    assert found is not None and found.text == "select * from s.a"
    view.mount_view(RelationName("s", "b"), "select 'later' x")
    server.texts.clear()
    view.query("select * from v")
    assert not any("later" in text for text in server.texts)


def test_what_another_thread_has_dropped_already_is_dropped() -> None:
    nothing = TemporaryDefinition(
        text="select 1", schema="", views=frozenset(), functions=frozenset()
    )
    recorded = {"v": Recorded(nothing, str, "select 1")}

    def definition(name: str) -> None:
        recorded.clear()

    OwnersTemporaries._drop_replaced(recorded, frozenset({"v"}), definition)
    assert not recorded
