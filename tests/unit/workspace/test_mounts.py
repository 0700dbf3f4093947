"""Names in a catalog that several statements read at once."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from typing import Any

import pytest

from dbt.adapters.vcs.core.ids import FunctionId, ViewId
from dbt.adapters.vcs.core.model import (
    Absent,
    Function,
    FunctionEntry,
    RelationName,
    View,
    ViewEntry,
)
from dbt.adapters.vcs.engines.port import Placeholder
from dbt.adapters.vcs.workspace.mounts import Mounts
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.unit.warehouse import Warehouse

ORDERS, ITEMS, BIG, DOUBLE = (
    RelationName("shop", n) for n in ("orders", "items", "big", "double")
)
A_WHILE = 0.1


class Recorded:
    """A session that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, RelationName]] = []

    def ensure_schema(self, schema: str) -> None:
        pass

    def __getattr__(self, verb: str) -> Any:
        return lambda name, *_, **__: self.asked.append((verb, name))


class Catalog:
    """One catalog, two states of a branch, and threads that show either's names."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.mounts = Mounts(lambda *_: pytest.fail("no difference is read"))
        self.session: Any = Recorded()
        self.warehouse = warehouse

    def overlay(self) -> Overlay:
        repository, head = self.warehouse.repository, self.warehouse.head()
        return Overlay(repository=repository, base=head, tree=repository.tree(head))

    def analysing(self, overlay: Overlay, *names: RelationName) -> Any:
        return self.mounts.analysing(names, overlay=overlay, session=self.session, externals={})

    def show(self, overlay: Overlay, *names: RelationName) -> None:
        self.mounts.show(names, overlay=overlay, session=self.session, externals={})

    def put_up(self, name: RelationName) -> None:
        with self.mounts.with_placeholders(
            {name: Placeholder(kind="table", columns=())}, Boards()
        ):
            pass


class Boards:
    """Shows no placeholder."""

    def with_placeholders(self, _: Any) -> Any:
        return threading.Lock()


@pytest.fixture
def catalog() -> Catalog:
    warehouse = Warehouse()
    objects = warehouse.repository.objects
    view = View(text="select * from shop.orders", columns=(), reads=("shop.orders",))
    function = Function(text="2 * 21", returns="int")
    warehouse.put(
        orders=warehouse.table("a"),
        items=warehouse.table("b"),
        big=ViewEntry(view=ViewId(objects.put(view))),
        double=FunctionEntry(function=FunctionId(objects.put(function))),
    )
    return Catalog(warehouse)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


def is_waiting(work: Future[Any]) -> bool:
    try:
        work.result(A_WHILE)
    except NotYetError:
        return True
    return False


def test_two_statements_are_analysed_at_once(catalog: Catalog, pool: ThreadPoolExecutor) -> None:
    overlay, both = catalog.overlay(), threading.Barrier(2)

    def analyse(*names: RelationName) -> int:
        with catalog.analysing(overlay, *names):
            return both.wait(10)

    arrived = list(pool.map(lambda names: analyse(*names), [(ORDERS, BIG), (ORDERS, ITEMS)]))
    assert sorted(arrived) == [0, 1]


@pytest.mark.parametrize("change", ["a version", "a dropped table", "hide", "a placeholder"])
@pytest.mark.parametrize("read", [ORDERS, BIG])
def test_whoever_would_change_a_name_waits(
    catalog: Catalog, pool: ThreadPoolExecutor, change: str, read: RelationName
) -> None:
    before = catalog.overlay()
    catalog.warehouse.put(orders=catalog.warehouse.table("c"))
    after = catalog.overlay()
    if change == "a dropped table":
        after.relations[ORDERS] = Absent
    changes = {
        "hide": lambda: catalog.mounts.hide(ORDERS, catalog.session),
        "a placeholder": lambda: catalog.put_up(ORDERS),
    }
    with catalog.analysing(before, read):
        asked = len(catalog.session.asked)
        changing = pool.submit(changes.get(change, lambda: catalog.show(after, ORDERS)))
        assert is_waiting(changing)
        assert len(catalog.session.asked) == asked
    changing.result(10)
    assert len(catalog.session.asked) > asked or change == "a placeholder"


def test_other_names_change_meanwhile(catalog: Catalog, pool: ThreadPoolExecutor) -> None:
    before = catalog.overlay()
    catalog.show(before, ITEMS)
    catalog.warehouse.put(items=catalog.warehouse.table("c"))
    with catalog.analysing(before, BIG):
        pool.submit(catalog.show, catalog.overlay(), ITEMS, BIG, ORDERS).result(10)
        pool.submit(catalog.mounts.hide, ITEMS, catalog.session).result(10)
    assert catalog.session.asked[-1] == ("unmount", ITEMS)


def test_a_statement_that_calls_a_function_is_analysed_alone(
    catalog: Catalog, pool: ThreadPoolExecutor
) -> None:
    overlay = catalog.overlay()
    with catalog.analysing(overlay, ORDERS, DOUBLE):
        showing = pool.submit(catalog.show, overlay, ORDERS)
        assert is_waiting(showing)
    showing.result(10)


def test_a_failed_analysis_ends_its_uses(catalog: Catalog, pool: ThreadPoolExecutor) -> None:
    with pytest.raises(RuntimeError), catalog.analysing(catalog.overlay(), BIG):
        raise RuntimeError
    pool.submit(catalog.mounts.hide, ORDERS, catalog.session).result(10)


def test_what_a_block_may_not_do_does_not_wait_for_itself(catalog: Catalog) -> None:
    before = catalog.overlay()
    catalog.warehouse.put(orders=catalog.warehouse.table("c"))
    with catalog.analysing(before, ORDERS):
        catalog.show(catalog.overlay(), ORDERS)
    assert catalog.session.asked.count(("mount_table", ORDERS)) == 2
