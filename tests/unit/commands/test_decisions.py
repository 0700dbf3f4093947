"""Decisions about conflicts: by rule and cell, taken back, and made by several people at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import find_open_merge, tables_of
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Order, cell_of
from dbt.adapters.vcs.commands.conflicts import list_conflicts
from dbt.adapters.vcs.commands.gc import collect, set_retention
from dbt.adapters.vcs.commands.merge import abort_merge, continue_merge, merge
from dbt.adapters.vcs.commands.resolve import Resolution, resolve, undo_decision
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import DAY
from tests.contract.faulty import Crash, FaultyBlobs, under
from tests.unit.commands.test_resolve_values import (
    BASE,
    OURS,
    THEIRS,
    changed,
    forked,
    rows,
    shown,
    table,
)
from tests.unit.warehouse import Warehouse

__all__ = ["forked"]

MERGE_LOG = "refs/heads/merges"


def decide(
    warehouse: Warehouse,
    relation: str | None = "shop.a",
    choice: Choice | Order | None = None,
    *,
    repository: Repository | None = None,
    author: str = "ann",
    **chosen: Any,
) -> Resolution:
    made = RowChoice(choice=choice, **chosen)
    return resolve(repository or warehouse.repository, "main", relation, made, author=author)


def undo(warehouse: Warehouse, author: str = "ann") -> str:
    return undo_decision(warehouse.repository, "main", author=author).what


def left(warehouse: Warehouse) -> int:
    return list_conflicts(warehouse.repository, "main").left


def beside(warehouse: Warehouse, happens: Callable[[], object], before: int = 1) -> Repository:
    """A repository in which something happens once, right before a move of the merge's branch."""
    moves = 0

    def hook(number: int, path: str) -> None:
        nonlocal moves
        if path.startswith(MERGE_LOG):
            moves += 1
            if moves == before:
                happens()

    blobs = FaultyBlobs(warehouse.blobs, before=hook)
    return Repository.open(blobs, clock=warehouse.clock)


def other(warehouse: Warehouse) -> Repository:
    return Repository.open(warehouse.blobs, clock=warehouse.clock)


def test_the_newest_row_is_taken_and_what_has_no_order_is_left_open(forked: Warehouse) -> None:
    done = decide(forked, "shop.a", Order.LARGER, by="CREDIT")
    # Row 4 is gone in ours; all others have a larger credit in theirs.
    assert (done.choice, done.count, done.left) == ("larger", 4, 11)
    assert "(ours: no row, theirs: 3.00)" in done.why
    assert [shown(forked, id)["resolution"] for id in (1, 2, 3, 7)] == ["theirs"] * 4
    assert shown(forked, 4)["resolution"] is None
    assert decide(forked, "shop.a", Order.SMALLER, by="credit", again=True).count == 4
    assert shown(forked, 7)["resolution"] == "ours"
    with pytest.raises(InputError, match=r"Neither credit .* id=4 .* is larger"):
        decide(forked, "shop.a", Order.SMALLER, by="credit", key={"id": "4"})


def test_cells_come_from_the_sides_that_were_chosen_for_their_columns(forked: Warehouse) -> None:
    done = decide(forked, cells={"credit": Order.LARGER, "NOTE": Choice.OURS})
    # Row 4 is gone in ours, and both sides changed the name of row 7.
    assert (done.choice, done.count) == ("custom", 3)
    assert "id=4" in done.why
    found = [shown(forked, id) for id in (1, 2, 3)]
    assert [(str(row["credit"]), row["note"]) for row in found] == [
        ("3.00", "old"),
        ("3.00", "ours"),
        ("3.00", "old"),
    ]
    assert [row["name"] for row in found] == ["n1", "n2", "ours"]
    decide(forked, "shop.a", Choice.OURS, cells={"credit": Choice.THEIRS}, key={"id": "7"})
    assert shown(forked, 7)["name"] == "ours"
    decide(forked, None, Choice.THEIRS)
    continue_merge(forked.repository, "main", author="ann")
    assert rows(forked)[7] == ("8.00", "same", "ours")


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"choice": Order.LARGER}, "--by COLUMN"),
        ({"choice": Choice.OURS, "by": "credit"}, "only these take one"),
        ({"choice": Order.LARGER, "by": "x"}, "has no column x; it has: id, credit, note, name"),
        ({"choice": Choice.DELETE, "cells": {"credit": Choice.OURS}}, "combined with cells"),
        (
            {"choice": Order.LARGER, "by": "credit", "cells": {"note": Choice.OURS}},
            "combined with cells",
        ),
        ({"cells": {"id": Choice.OURS}}, "in the primary key"),
        ({"cells": {"x": Choice.OURS}}, "isn't there"),
        (
            {"cells": {"note": Choice.BASE}, "key": {"id": "7"}},
            "no row id=7 of shop.a in base, so it has no note",
        ),
        ({"cells": {"note": Order.LARGER}, "key": {"id": "7"}}, "Both sides changed credit, name"),
        (
            {"cells": {"note": Choice.OURS}, "values": {"Note": "x"}, "key": {"id": "1"}},
            "note: give a value or a side, not both",
        ),
        ({}, "Give a choice"),
    ],
)
def test_a_rule_that_decides_nothing_is_refused(
    forked: Warehouse, chosen: dict[str, Any], words: str
) -> None:
    before = forked.head("merges/main")
    with pytest.raises(InputError, match=words):
        decide(forked, **chosen)
    assert forked.head("merges/main") == before


def test_a_cell_is_a_side_or_an_order(forked: Warehouse) -> None:
    assert (cell_of("OURS"), cell_of("larger")) == (Choice.OURS, Order.LARGER)
    with pytest.raises(InputError, match="ours, theirs, base, larger, smaller"):
        cell_of("delete")


def test_rules_for_all_relations_leave_those_open_that_conflict_as_wholes(
    warehouse: Warehouse,
) -> None:
    warehouse.put(a=table(warehouse, BASE), v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", a=table(warehouse, THEIRS), v=warehouse.view("select 2"))
    warehouse.put(a=table(warehouse, OURS), v=warehouse.view("select 3"))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    done = decide(warehouse, None, Order.LARGER, by="credit")
    assert (done.count, done.left) == (4, 2)
    assert done.why.startswith("Neither credit") or "shop.v conflicts as a whole" in done.why
    with pytest.raises(InputError, match=r"shop\.v conflicts as a whole .*; give no key, column"):
        decide(warehouse, "shop.v", Order.LARGER, by="credit")


def test_a_decision_for_all_relations_is_one_and_is_undone_at_once(forked: Warehouse) -> None:
    decide(forked, key={"id": "1"}, choice=Choice.THEIRS)
    decide(forked, None, Choice.OURS)
    assert left(forked) == 0
    assert undo(forked) == "Resolve 14 with ours"
    assert left(forked) == 14
    assert shown(forked, 1)["resolution"] == "theirs"
    done = undo_decision(forked.repository, "main", author="bob")
    assert (done.what, done.author, done.left) == ("Resolve 1 of shop.a with theirs", "ann", 15)
    with pytest.raises(InputError, match="Nothing is decided yet"):
        undo(forked)
    decide(forked, None, Choice.THEIRS)
    continue_merge(forked.repository, "main", author="ann")
    assert rows(forked)[1] == ("3.00", "old", "n1")


def test_decisions_after_one_that_was_taken_back_are_undone_in_their_order(
    forked: Warehouse,
) -> None:
    for id in ("1", "2"):
        decide(forked, key={"id": id}, choice=Choice.OURS)
    undo(forked)
    decide(forked, key={"id": "3"}, choice=Choice.OURS)
    undo(forked)
    undo(forked)
    assert left(forked) == 15
    with pytest.raises(InputError, match="Nothing is decided yet"):
        undo(forked)


def test_what_is_undone_ends_where_the_merge_was_continued_or_begun_again(
    forked: Warehouse,
) -> None:
    decide(forked, None, Choice.OURS)
    forked.put(a=table(forked, changed(OURS, r1=(1, "9.00", "old", "n1"))))
    with pytest.raises(ConflictError, match="1 row changed differently"):
        continue_merge(forked.repository, "main", author="ann")
    with pytest.raises(InputError, match="before the merge was last continued"):
        undo(forked)
    assert left(forked) == 1
    abort_merge(forked.repository, "main", author="ann")
    with pytest.raises(ConflictError):
        merge(forked.repository, "dev", "main", author="ann")
    with pytest.raises(InputError, match="Nothing is decided yet"):
        undo(forked)
    with pytest.raises(NotFoundError, match="No merge into 'dev' is waiting"):
        undo_decision(forked.repository, "dev", author="ann")


def test_two_people_who_decide_at_once_both_do(forked: Warehouse) -> None:
    def bob() -> None:
        decide(forked, key={"id": "2"}, choice=Choice.THEIRS, repository=other(forked))

    ann = beside(forked, bob)
    decide(forked, key={"id": "1"}, choice=Choice.OURS, repository=ann)
    assert [shown(forked, id)["resolution"] for id in (1, 2)] == ["ours", "theirs"]
    # What bob decided is no longer open when ann's choice for what is open comes second.
    bob_again = beside(forked, lambda: decide(forked, key={"id": "3"}, choice=Choice.BASE))
    assert decide(forked, choice=Choice.OURS, repository=bob_again).count == 2
    assert shown(forked, 3)["resolution"] == "base"


def test_a_row_that_somebody_else_decided_meanwhile_is_not_decided_again(
    forked: Warehouse,
) -> None:
    merge_ = find_open_merge(forked.repository, "main")
    seen = tables_of(forked.repository, merge_)[RelationName("shop", "a")]
    marks = {n: seen.mark(n) for n in range(len(seen.rows))}
    place = next(n for n, key in enumerate(seen.keys) if key == (1,))
    assert decide(forked, choice=Choice.OURS, rows={place: marks[place]}).count == 1
    with pytest.raises(ConflictError, match="by somebody else meanwhile"):
        decide(forked, choice=Choice.THEIRS, rows={place: marks[place]})
    with pytest.raises(ConflictError, match="by somebody else meanwhile"):
        decide(forked, choice=Choice.THEIRS, rows={99: marks[0]})
    assert shown(forked, 1)["resolution"] == "ours"
    undo(forked)
    assert decide(forked, choice=Choice.THEIRS, rows={place: marks[place]}).count == 1


def test_only_what_the_caller_saw_is_undone(forked: Warehouse) -> None:
    decide(forked, key={"id": "1"}, choice=Choice.OURS)
    seen = forked.head("merges/main")
    decide(forked, key={"id": "2"}, choice=Choice.OURS, author="bob")
    with pytest.raises(ConflictError, match="Nothing was undone"):
        undo_decision(forked.repository, "main", author="ann", seen=seen)
    racing = beside(
        forked, lambda: decide(forked, key={"id": "3"}, choice=Choice.OURS, author="bob")
    )
    with pytest.raises(ConflictError, match="Nothing was undone"):
        undo_decision(racing, "main", author="ann")
    assert left(forked) == 12


def test_a_decision_is_not_made_for_another_merge_that_was_begun_meanwhile(
    forked: Warehouse,
) -> None:
    def begin_again() -> None:
        forked.put("dev", a=table(forked, changed(THEIRS, r0=(0, "5.00", "old", "n0"))))
        with pytest.raises(ConflictError):
            merge(other(forked), "dev", "main", author="bob")

    with pytest.raises(ConflictError, match="Another merge into 'main' was begun meanwhile"):
        decide(forked, choice=Choice.OURS, repository=beside(forked, begin_again))
    assert left(forked) == 15


def test_a_decision_for_a_merge_that_is_aborted_meanwhile_says_so(forked: Warehouse) -> None:
    racing = beside(forked, lambda: abort_merge(other(forked), "main", author="bob"))
    with pytest.raises(NotFoundError, match="No merge into 'main' is waiting"):
        decide(forked, choice=Choice.OURS, repository=racing)


def begin_another(warehouse: Warehouse) -> None:
    """Begin a merge of what `dev` has next, which clashes also with what was decided."""
    warehouse.put("dev", a=table(warehouse, changed(THEIRS, r1=(1, "9.00", "old", "n1"))))
    with pytest.raises(ConflictError):
        merge(other(warehouse), "dev", "main", author="bob")


def test_a_merge_is_aborted_in_one_step_with_the_look_at_it(forked: Warehouse) -> None:
    seen = forked.head("merges/main")
    racing = beside(
        forked, lambda: decide(forked, key={"id": "1"}, choice=Choice.OURS, author="bob")
    )
    with pytest.raises(ConflictError, match="Nothing was aborted"):
        abort_merge(racing, "main", author="ann", seen=seen)
    assert left(forked) == 14
    # Whoever looked at nothing in particular aborts it as it is by now.
    undo(forked)
    racing = beside(
        forked, lambda: decide(forked, key={"id": "1"}, choice=Choice.OURS, author="bob")
    )
    abort_merge(racing, "main", author="ann")
    assert forked.repository.find_branch("merges/main") is None


def test_a_merge_that_was_begun_meanwhile_is_not_aborted_with_the_one_before(
    forked: Warehouse,
) -> None:
    racing = beside(forked, lambda: begin_another(forked))
    with pytest.raises(ConflictError, match=r"Another merge into 'main' was begun.*aborted"):
        abort_merge(racing, "main", author="ann")
    assert find_open_merge(forked.repository, "main").theirs == forked.head("dev")


def test_what_was_decided_while_the_merge_was_begun_again_is_kept(forked: Warehouse) -> None:
    racing = beside(
        forked, lambda: decide(forked, key={"id": "1"}, choice=Choice.OURS, author="bob")
    )
    with pytest.raises(ConflictError, match="the conflicts are kept"):
        merge(racing, "dev", "main", author="ann")
    assert shown(forked, 1)["resolution"] == "ours"
    assert left(forked) == 14


@pytest.mark.parametrize("before", [1, 2, 3])
def test_of_two_merges_that_are_begun_at_once_the_last_one_waits(
    forked: Warehouse, before: int
) -> None:
    """Between deleting the branch of the one before, creating it anew, and landing conflicts."""
    decide(forked, key={"id": "2"}, choice=Choice.OURS)
    racing = beside(forked, lambda: begin_another(forked), before)
    theirs = forked.head("dev")
    with pytest.raises(ConflictError, match="the conflicts are kept"):
        merge(racing, "dev", "main", author="ann")
    found = find_open_merge(forked.repository, "main")
    assert found.theirs == theirs
    assert left(forked) in (14, 15)
    abort_merge(forked.repository, "main", author="ann")
    assert forked.repository.find_branch("merges/main") is None


def test_a_merge_that_was_begun_as_another_one_landed_stays(forked: Warehouse) -> None:
    decide(forked, None, Choice.OURS)
    racing = beside(forked, lambda: begin_another(forked))
    assert continue_merge(racing, "main", author="ann").how == "merge"
    assert find_open_merge(forked.repository, "main").theirs == forked.head("dev")


def test_a_merge_that_is_aborted_as_it_landed_has_landed(forked: Warehouse) -> None:
    decide(forked, None, Choice.OURS)
    racing = beside(forked, lambda: abort_merge(other(forked), "main", author="bob"))
    report = continue_merge(racing, "main", author="ann")
    assert report.after == forked.head()


def test_a_process_that_dies_while_it_decides_or_undoes_has_done_nothing(
    forked: Warehouse,
) -> None:
    dying = Repository.open(
        FaultyBlobs(forked.blobs, before=under(MERGE_LOG, Crash())), clock=forked.clock
    )
    with pytest.raises(Crash):
        decide(forked, None, Choice.OURS, repository=dying)
    assert left(forked) == 15
    decide(forked, None, Choice.OURS)
    with pytest.raises(Crash):
        undo_decision(dying, "main", author="ann")
    assert left(forked) == 0


def test_the_target_may_move_between_decisions(forked: Warehouse) -> None:
    decide(forked, None, Choice.OURS)
    forked.put(c="1")
    undo(forked)
    decide(forked, None, Choice.THEIRS)
    continue_merge(forked.repository, "main", author="ann")
    assert rows(forked)[1] == ("3.00", "old", "n1")
    assert "shop.c" in forked.shown()


def test_what_was_collected_is_not_gone_back_to(forked: Warehouse) -> None:
    decide(forked, key={"id": "1"}, choice=Choice.OURS)
    decide(forked, key={"id": "2"}, choice=Choice.OURS)
    forked.clock.now += 30 * DAY
    set_retention(forked.repository, 1, author="ann")
    collect(forked.repository, author="ann")
    head = forked.head("merges/main")
    with pytest.raises(NotFoundError, match="collected"):
        undo(forked)
    assert forked.head("merges/main") == head
    assert left(forked) == 13
