"""Programs that use the adapter directly, without dbt's commands: what they see and change."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import pytest
from dbt.adapters.factory import get_adapter_by_type, register_adapter, reset_adapters
from dbt.config.runtime import RuntimeConfig
from dbt.mp_context import get_mp_context
from dbt_common.exceptions import DbtDatabaseError

from dbt import flags
from tests.functional.life.shop import Shop

pytestmark = pytest.mark.spark


@pytest.fixture
def adapter(shop: Shop) -> Iterator[Any]:
    """Return an adapter that no command made."""
    flags.set_from_args(
        Namespace(
            profiles_dir=str(shop.root),
            project_dir=str(shop.root),
            target=None,
            profile=None,
            threads=None,
        ),
        {},
    )
    # Another test's command may have left its own.
    reset_adapters()
    register_adapter(RuntimeConfig.from_args(flags.get_flags()), get_mp_context())
    yield get_adapter_by_type("vcs")
    reset_adapters()


def ask(adapter: Any, text: str) -> list[tuple[Any, ...]]:
    with adapter.connection_named("program"):
        _, table = adapter.execute(text, fetch=True)
        return [tuple(row) for row in table.rows]


def test_each_statement_is_a_commit_of_its_own(shop: Shop, adapter: Any) -> None:
    ask(adapter, "create schema analytics")
    ask(adapter, "create table analytics.t as select 1 as n")
    first = shop.head()
    ask(adapter, "insert into analytics.t select 2")
    assert shop.repository.objects.commit(shop.head()).parents == (first,)
    assert shop.value("select sum(n) from t") == 3
    assert shop.runs() == []
    with shop.connect() as other:
        other.sql("insert into t select 3")
    assert ask(adapter, "select sum(n) from analytics.t") == [(6,)]
    adapter.cleanup_connections()
    assert ask(adapter, "select count(*) from analytics.t") == [(3,)]


def test_a_commands_adapter_goes_on_as_a_programs(shop: Shop) -> None:
    assert shop.dbt("run", n=1).success
    adapter = get_adapter_by_type("vcs")
    with shop.connect() as other:
        other.sql("insert into a select 5")
    assert ask(adapter, "select sum(n) from analytics.a") == [(6,)]
    ask(adapter, "delete from analytics.a where n = 5")
    assert shop.value("select sum(n) from a") == 1
    relation = adapter.Relation.create(schema="analytics", identifier="a")
    with adapter.connection_named("program"):
        assert [column.name for column in adapter.get_columns_in_relation(relation)] == ["n"]
    reset_adapters()


def test_what_is_left_of_a_command_that_ended_changes_nothing(shop: Shop) -> None:
    shop.write({"seeds/s.csv": "n\n1\n"})
    assert shop.dbt("seed").success
    before = shop.head()
    adapter = get_adapter_by_type("vcs")
    with (
        pytest.raises(DbtDatabaseError, match=r"model\.shop\.a can't continue"),
        adapter.connection_named("model.shop.a"),
    ):
        adapter.execute("drop table analytics.s")
    assert shop.head() == before
    reset_adapters()


def test_a_reading_commands_adapter_may_write_afterwards(shop: Shop) -> None:
    assert shop.dbt("run", n=1).success
    assert shop.dbt("compile").success
    ask(get_adapter_by_type("vcs"), "insert into analytics.a select 2")
    assert shop.value("select sum(n) from a") == 3
    reset_adapters()
