"""The protocol, explored: it holds in small configurations, and needs each of its rules."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache, reduce
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.model.explorer import Found, Program, explore
from tests.model.protocol import (
    TERM,
    World,
    broken,
    clock,
    collector,
    leader,
    mail,
    network,
    owner,
    purger,
    reader,
    restorer,
    start,
    writer,
)

Off = frozenset[str]
NOTHING: Off = frozenset()


class Configuration(NamedTuple):
    """A world, the processes in it, and the rules that it needs."""

    world: World
    until: int
    programs: Callable[[Off], Mapping[str, Program]]
    rules: tuple[str, ...]


CONFIGURATIONS = {
    "two writers and a reader": Configuration(
        start("a", "b"),
        0,
        lambda off: {
            "writer 1": writer("writer 1", "c", off),
            "writer 2": writer("writer 2", "d+e", off),
            "reader": reader(),
        },
        ("create only if absent", "objects before the move"),
    ),
    "a writer who makes garbage again, and a collector": Configuration(
        start("a", "b", files="g"),
        5,
        lambda off: {
            "writer": writer("writer", "g", off),
            "collector": collector("gc", off),
            "network": network(2),
        },
        (
            "renew what is there",
            "look at the age again",
            "condemn before the first delete",
            "read the lists after storing",
            "store again what is condemned",
            "land within the grace",
        ),
    ),
    "a writer and two collectors": Configuration(
        start("a", "b", files="g g.1"),
        0,
        lambda off: {
            "writer": writer("writer", "g", off),
            "collector 1": collector("gc 1", off),
            "collector 2": collector("gc 2", off),
            "network": network(3),
        },
        ("condemn before the first delete", "store again what is condemned"),
    ),
    "a writer and a purge": Configuration(
        start("a", "b"),
        0,
        lambda off: {
            "writer": writer("writer", "c", off),
            "purger": purger("purger", "b", off),
            "network": network(1),
        },
        ("fence what is planned", "look for a purge before the move"),
    ),
    "a restorer and a collector": Configuration(
        start("a", "b", files="a"),
        4,
        lambda off: {
            "restorer": restorer("restorer", "a", off),
            "collector": collector("gc", off),
            "network": network(1),
        },
        (
            "pin, then read the lists",
            "bring nothing condemned back",
            "condemn before the first delete",
            "read the refs again",
        ),
    ),
    "a plan and whoever lands it too": Configuration(
        start("a", "b"),
        0,
        lambda off: {
            "owner": owner("owner", "c", "k", off),
            "leader": leader("leader", "d", off),
            "mail": mail(1),
        },
        (
            "blocks before the plan",
            "store what a plan brings",
            "look for one's own plan in the log",
            "name one's own plan",
            "look for plans in the log",
            "withdraw by a move",
            "create only if absent",
        ),
    ),
    "a plan, whoever lands it too, and a writer of an earlier version": Configuration(
        start("a", "b"),
        0,
        lambda off: {
            "owner": owner("owner", "c", "k", off),
            "leader": leader("leader", "d", off),
            "writer": writer("writer", "e", off),
        },
        ("look for plans in the log", "create only if absent"),
    ),
    "a restorer of what is long gone": Configuration(
        start("a", "b"),
        0,
        lambda off: {"restorer": restorer("restorer", "a", off)},
        ("look for the files",),
    ),
}


@cache
def explored(name: str, off: Off = NOTHING) -> Found:
    found = CONFIGURATIONS[name]
    return explore(found.programs(off), found.world, clock(found.until), broken)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_invariants_hold_in_every_order(name: str) -> None:
    found = explored(name)
    assert found.broken is None, str(found)


@pytest.mark.parametrize(
    ("name", "rule"),
    [(name, rule) for name, found in CONFIGURATIONS.items() for rule in found.rules],
)
def test_each_rule_is_needed(name: str, rule: str) -> None:
    assert explored(name, frozenset({rule})).broken is not None


def test_a_killed_collection_blocks_nobody_for_longer_than_its_term() -> None:
    world = start("a", "b", files="g")._replace(leases=frozenset({("killed", 0)}))
    programs = {"collector": collector("gc"), "network": network(1)}

    def collected(world: World) -> str | None:
        return None if "g" in world.names else "collected"

    assert explore(programs, world, clock(TERM), collected).broken == "collected"
    assert explore(programs, world, clock(TERM - 1), collected).broken is None


def test_requests_are_named_as_the_functions_that_make_them() -> None:
    for name in CONFIGURATIONS:
        for request in explored(name).requests:
            module, _, path = request.partition(":")
            owner: Any = importlib.import_module(f"dbt.adapters.vcs.{module}")
            assert callable(reduce(getattr, path.split("."), owner)), request


def test_the_page_states_the_invariants_and_the_rules() -> None:
    page = (Path(__file__).parents[2] / "docs" / "concurrency.md").read_text(encoding="utf-8")
    text = " ".join(page.split())
    said = {rule for found in CONFIGURATIONS.values() for rule in found.rules}
    said |= {explored(name, frozenset({rule})).broken or "" for name, rule in _RULES}
    assert {each for each in said if each not in text} == set()


_RULES = [(name, rule) for name, found in CONFIGURATIONS.items() for rule in found.rules]
