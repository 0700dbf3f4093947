"""Contracts: the rules of `vcs.yml` for what a merge may change, against an oracle on rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.merges.approvals import approve
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.changes.merges.project_rules import Contract, Rules, read_rules
from dbt.adapters.vcs.commands.merge import MergeReport, MergeRequest, continue_merge, merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.commands.review_verdict import verdict_of
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from tests.unit.tables import Rows, Tables
from tests.unit.warehouse import Warehouse

T = RelationName("shop", "t")


def put(tables: Tables, branch: str, rows: Rows, before: TableEntry | None = None) -> TableEntry:
    """Show exactly these rows, as a rebuild does."""
    parents = [before] if before else []
    entry = tables.entry([tables.block(rows)] if rows else [], key=True, parents=parents)
    tables.put(branch, t=entry)
    return entry


def changed(before: Rows, after: Rows) -> Tables:
    tables = Tables(Warehouse())
    base = put(tables, "main", before)
    tables.warehouse.branch("dev")
    put(tables, "dev", after, base)
    return tables


def merged(
    tables: Tables, rules: dict[str, Any], pattern: str = "shop.t", **how: Any
) -> MergeReport:
    contracts = (Contract(pattern=pattern, rules=rules),)
    request = MergeRequest(contracts=contracts, **how)
    return merge(tables.warehouse.repository, "dev", "main", request, author="ann")


BEFORE = {1: "a", 2: "b", 3: "c", 4: "d"}
BROKEN: list[tuple[dict[str, Any], Rows, str]] = [
    ({"freeze": True}, {**BEFORE, 5: "e"}, r"shop\.t is frozen, and was changed"),
    ({"no_removed": True}, {1: "a", 4: "d"}, r"loses 2 rows \(id = 2; id = 3\), and no_removed"),
    (
        {"max_change_ratio": 0.4},
        {**BEFORE, 1: "x", 5: "e"},
        r"changes 2 rows of 4, a share of 0\.5, and max_change_ratio is 0\.4",
    ),
    ({"max_rows": 1}, {**BEFORE, 1: "x", 5: "e"}, r"changes 2 rows, and max_rows is 1"),
    (
        {"only_columns": ["id"]},
        {**BEFORE, 1: "x"},
        r"changes 1 row in name, and only_columns allows id",
    ),
    (
        {"expression": "name <> 'x'"},
        {**BEFORE, 1: "x"},
        r"has 1 row \(id = 1\) for which the expression name <> 'x' is false",
    ),
    ({"only_columns": ["nix"]}, {**BEFORE, 1: "x"}, r"no column 'nix' among id, name"),
    ({"expression": "nix > 1"}, {**BEFORE, 1: "x"}, r"expression of shop\.t can't be checked"),
]


@pytest.mark.parametrize(("rules", "after", "message"), BROKEN, ids=[str(r[0]) for r in BROKEN])
def test_a_broken_contract_is_refused_with_the_figure_and_the_limit(
    rules: dict[str, Any], after: Rows, message: str
) -> None:
    tables = changed(BEFORE, after)
    head = tables.warehouse.head()
    for dry_run in (True, False):
        with pytest.raises(ConflictError, match=message):
            merged(tables, rules, dry_run=dry_run)
    assert tables.warehouse.head() == head
    # A contract of another relation is not asked.
    assert merged(tables, rules, pattern="shop.other").how == "fast_forward"


KEPT: list[tuple[dict[str, Any], Rows]] = [
    ({"no_removed": True, "max_rows": 1, "max_change_ratio": 0.25}, {**BEFORE, 1: "x"}),
    ({"only_columns": ["NAME"]}, {**BEFORE, 1: "x"}),
    # NULL is not false, and rows that don't change are not asked.
    ({"expression": "name <> 'a' and name <> 'x'"}, {**BEFORE, 2: None}),
    ({"schema": "additive"}, {}),
]


@pytest.mark.parametrize(("rules", "after"), KEPT)
def test_a_kept_contract_lets_a_change_land(rules: dict[str, Any], after: Rows) -> None:
    assert merged(changed(BEFORE, after), rules, "shop.*").how == "fast_forward"


def test_an_additive_schema_refuses_renaming_and_dropping() -> None:
    for change in ("rename", "drop"):
        tables = changed(BEFORE, BEFORE)
        old = tables.shown(T, "dev")
        tables.put("dev", t=tables.renamed(old, "name", "title") if change == "rename" else None)
        with pytest.raises(ConflictError, match=r"lacks name|was dropped"):
            merged(tables, {"schema": "additive"})


def test_a_created_table_has_no_rows_to_keep() -> None:
    tables = Tables(Warehouse())
    tables.put(other=tables.entry([]))
    tables.warehouse.branch("dev")
    put(tables, "dev", BEFORE)
    with pytest.raises(ConflictError, match="changes 4 rows, and max_rows is 3"):
        merged(tables, {"max_rows": 3})
    with pytest.raises(ConflictError, match="frozen, and was created"):
        merged(tables, {"freeze": True})
    kept = {"no_removed": True, "max_change_ratio": 0, "only_columns": [], "schema": "additive"}
    assert merged(tables, kept).how == "fast_forward"


def test_a_view_can_only_be_frozen() -> None:
    warehouse = Warehouse()
    warehouse.put(v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", v=warehouse.view("select 2"))
    tables = Tables(warehouse)
    with pytest.raises(ConflictError, match=r"shop\.v is frozen"):
        merged(tables, {"freeze": True}, "shop.v")
    assert merged(tables, {"max_rows": 0}, "shop.v").how == "fast_forward"


def test_a_merge_of_both_sides_is_checked_against_the_target() -> None:
    """What main did itself since is not held against the branch."""
    tables = Tables(Warehouse())
    block = tables.block(BEFORE)
    base = tables.entry([block], key=True)
    tables.put(t=base)
    tables.warehouse.branch("dev")
    for branch, id in (("main", 1), ("dev", 2)):
        deleted = tables.tombstone(block, {id - 1: (id, BEFORE[id])})
        added = tables.block({id: "new"})
        tables.put(branch, t=tables.entry([block, added], [deleted], parents=[base], key=True))
    with pytest.raises(ConflictError, match="changes 1 row, and max_rows is 0"):
        merged(tables, {"max_rows": 0})
    assert merged(tables, {"max_rows": 1, "expression": "id >= 2"}).how == "merge"


def test_choices_made_for_conflicts_do_not_evade_a_contract() -> None:
    tables = Tables(Warehouse())
    block = tables.block(BEFORE)
    base = tables.entry([block], key=True)
    tables.put(t=base)
    tables.warehouse.branch("dev")
    for branch, name in (("main", "x"), ("dev", "y")):
        deleted = tables.tombstone(block, {0: (1, "a")})
        added = tables.block({1: name})
        tables.put(branch, t=tables.entry([block, added], [deleted], parents=[base], key=True))
    contracts = (Contract(pattern="shop.t", rules={"expression": "name <> 'y'"}),)
    repository = tables.warehouse.repository
    with pytest.raises(ConflictError, match="changed differently"):
        merged(tables, {"expression": "name <> 'y'"})
    head = tables.warehouse.head()
    resolve(repository, "main", str(T), RowChoice(choice=Choice.THEIRS), author="ann")
    with pytest.raises(ConflictError, match="expression name <> 'y' is false"):
        continue_merge(repository, "main", author="ann", contracts=contracts)
    assert tables.warehouse.head() == head


VALUES = st.dictionaries(st.integers(1, 6), st.sampled_from(["a", "b", None]), max_size=6)


@given(before=VALUES, after=VALUES, limit=st.integers(0, 6), ratio=st.sampled_from([0, 0.3, 1.0]))
def test_contracts_count_as_rows_do(
    before: dict[int, str | None], after: dict[int, str | None], limit: int, ratio: float
) -> None:
    removed = before.keys() - after.keys()
    touched = {id for id in before.keys() | after.keys() if before.get(id, 0) != after.get(id, 0)}
    expected = {
        "no_removed": not removed,
        "max_rows": len(touched) <= limit,
        "max_change_ratio": not before or len(touched) <= ratio * len(before),
        "only_columns": before.keys() == after.keys(),
        "expression": all(after[id] != "b" for id in touched & after.keys()),
        "freeze": not touched,
    }
    values: dict[str, Any] = {
        "no_removed": True,
        "max_rows": limit,
        "max_change_ratio": ratio,
        "only_columns": ["name"],
        "expression": "name <> 'b'",
        "freeze": True,
    }
    tables = changed(before, after)
    for rule, is_met in expected.items():
        try:
            merged(tables, {rule: values[rule]}, dry_run=True)
            found = True
        except ConflictError:
            found = False
        # A rebuild that changes no row is a change of the version, and a frozen one may not be.
        assert found == is_met or (rule == "freeze" and not found), rule


def rules_of(folder: Path, text: Any) -> Rules:
    (folder / "vcs.yml").write_text(yaml.safe_dump(text))
    return read_rules(folder)


def test_contracts_are_read_and_hold_on_branches_that_are_guarded(
    tmp_path: Path, warehouse: Warehouse
) -> None:
    rules = rules_of(
        tmp_path,
        {
            "contracts": {"Shop.*": {"freeze": False, "max_rows": 3}},
            "branches": {"release/*": {"protected": True}},
        },
    )
    (contract,) = rules.contracts
    assert (contract.pattern, contract.rules) == ("shop.*", {"max_rows": 3})
    assert contract.fits("shop.t")
    repository = warehouse.repository
    for branch in ("dev", "release/1", "kept"):
        warehouse.branch(branch)
    repository.protect("kept", Protection(), author="ann")
    guarded = [b.name for b in repository.branches() if rules.contracts_on(repository, b.name)]
    assert guarded == ["kept", "main", "release/1"]


@pytest.mark.parametrize(
    "given",
    [
        {"t": {}},
        {"shop.t": {"nix": 1}},
        {"shop.t": {"freeze": "yes"}},
        {"shop.t": {"max_rows": 1.5}},
        {"shop.t": {"max_rows": -1}},
        {"shop.t": {"max_rows": True}},
        {"shop.t": {"max_change_ratio": "10%"}},
        {"shop.t": {"max_change_ratio": float("nan")}},
        {"shop.t": {"only_columns": "name"}},
        {"shop.t": {"schema": "frozen"}},
        {"shop.t": {"expression": "upper(name) = 'A'"}},
        {"shop.t": {"expression": "name ="}},
        {"shop.t": {"expression": 1}},
    ],
    ids=str,
)
def test_a_contract_that_says_nothing_known_is_refused(given: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected|expression"):
        rules_of(tmp_path, {"contracts": given})


def test_a_review_shows_contracts_and_approvals() -> None:
    tables = changed(BEFORE, {**BEFORE, 1: "x"})
    repository = tables.warehouse.repository
    rules = MergeRequest(
        contracts=(Contract(pattern="shop.t", rules={"max_rows": 0, "no_removed": True}),),
        protection=Protection(("approval",)),
    )
    found = verdict_of(repository, "main", "dev", [T], rules)
    assert [(item.contract, item.is_met) for item in found.contracts] == [
        ("max_rows", False),
        ("no_removed", True),
    ]
    assert not found.can_merge
    assert any("max_rows is 0" in reason for reason in found.reasons)
    assert any("requires an approval" in reason for reason in found.reasons)
    approve(repository, "dev", author="bob")
    found = verdict_of(repository, "main", "dev", [T], rules)
    assert [item.author for item in found.approvals] == ["bob"]
    assert [reason for reason in found.reasons if "approv" in reason] == []
    assert verdict_of(repository, "main", "dev", [T], MergeRequest()).can_merge
