"""The laws of three-way merge on random tables and histories, against an oracle on plain dicts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.merges.rowwise.decide import CHOICES
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided
from dbt.adapters.vcs.table.compare.comparison import merge_base
from tests.property.histories import shapes
from tests.property.merging import MODES, Fork, check, conflicts_of, drawn_mode, merge, policy_of
from tests.property.oracle import value_of

keyed_or_not = pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])


def drawn_fork(data: st.DataObject, keyed: bool) -> Fork:
    return Fork(data.draw(shapes(keyed=keyed)), data.draw)


@keyed_or_not
@given(data=st.data())
def test_merge_is_the_oracles(keyed: bool, data: st.DataObject) -> None:
    fork = drawn_fork(data, keyed)
    check(fork, fork.base, fork.ours, fork.theirs, *drawn_mode(data))


@keyed_or_not
@given(data=st.data())
def test_merge_of_what_only_one_side_changed_is_that_side(
    keyed: bool, data: st.DataObject
) -> None:
    fork = drawn_fork(data, keyed)
    mode, cells = drawn_mode(data)
    base, ours = fork.base, fork.ours
    assert fork.counts(fork.merge(base, ours, base, mode, cells)) == fork.counts(ours)
    assert fork.counts(fork.merge(base, base, ours, mode, cells)) == fork.counts(ours)


@keyed_or_not
@given(data=st.data())
def test_accept_is_skip_with_the_sides_swapped(keyed: bool, data: st.DataObject) -> None:
    fork = drawn_fork(data, keyed)
    cells = data.draw(st.booleans())
    accepted = fork.merge(fork.base, fork.ours, fork.theirs, "accept", cells)
    skipped = fork.merge(fork.base, fork.theirs, fork.ours, "skip", cells)
    assert fork.counts(accepted) == fork.counts(skipped)


@keyed_or_not
@given(data=st.data())
def test_merging_the_same_source_again_changes_nothing(keyed: bool, data: st.DataObject) -> None:
    fork = drawn_fork(data, keyed)
    objects, id = fork.world.repository.objects, fork.world.id
    mode, cells = data.draw(st.sampled_from([item for item in MODES if item[0] != "fail"]))
    once = fork.merge(fork.base, fork.ours, fork.theirs, mode, cells)
    base = merge_base(objects, id(once), id(fork.theirs))
    assert base is not None
    again = merge(
        fork.world.repository,
        objects.snapshot(base),
        once,
        fork.theirs,
        policy=policy_of(mode="fail"),
    )
    assert again.how == "up_to_date"
    # The other way round, what was merged before is taken over as it is.
    back = fork.merge(objects.snapshot(base), fork.theirs, once, "fail")
    assert fork.counts(back) == fork.counts(once)


@keyed_or_not
@given(data=st.data())
def test_histories_that_cross_merge_as_the_oracle_says(keyed: bool, data: st.DataObject) -> None:
    fork = drawn_fork(data, keyed)
    objects, id = fork.world.repository.objects, fork.world.id
    left = fork.writer.steps(fork.merge(fork.base, fork.ours, fork.theirs, "skip"), 1)
    right = fork.writer.steps(fork.merge(fork.base, fork.theirs, fork.ours, "skip"), 1)
    base = merge_base(objects, id(left), id(right))
    assert base is not None
    check(fork, objects.snapshot(base), left, right, *drawn_mode(data))


@keyed_or_not
@given(data=st.data())
def test_compaction_changes_no_merge(keyed: bool, data: st.DataObject) -> None:
    fork = drawn_fork(data, keyed)
    mode, cells = drawn_mode(data)
    plain = merge(
        fork.world.repository,
        fork.base,
        fork.ours,
        fork.theirs,
        policy=policy_of(mode=mode, cells=cells),
    )
    ours, theirs = fork.ours, fork.theirs
    if data.draw(st.booleans()):
        ours = fork.writer.compacted(ours)
    if data.draw(st.booleans()):
        theirs = fork.writer.compacted(theirs)
    compacted = check(fork, fork.base, ours, theirs, mode, cells)
    assert conflicts_of(fork.shape, compacted) == conflicts_of(fork.shape, plain)


@keyed_or_not
@given(data=st.data())
def test_conflicts_can_be_decided_one_by_one(keyed: bool, data: st.DataObject) -> None:
    fork = drawn_fork(data, keyed)
    first = merge(
        fork.world.repository, fork.base, fork.ours, fork.theirs, policy=policy_of(mode="fail")
    )
    keys = sorted(conflicts_of(fork.shape, first), key=repr)
    by = fork.shape.key or fork.shape.columns
    rows = [row for side in (fork.base, fork.ours, fork.theirs) for row in fork.world.rows(side)]
    plain = {value_of(row, by): tuple(row[id] for id in by) for row in rows}
    choices = [item for item in sorted(CHOICES) if keyed or item not in ("delete", "custom")]
    decisions = []
    for key in keys:
        if not data.draw(st.booleans()):
            continue
        choice = data.draw(st.sampled_from(choices))
        given_row = None
        if choice == "custom":
            donor = data.draw(st.sampled_from(rows))
            given_row = {id: donor[id] for id in fork.shape.columns if id not in by}
        decisions.append(Decided(plain[key], choice, given_row or None))
    check(fork, fork.base, fork.ours, fork.theirs, *drawn_mode(data), decisions=decisions)


@given(data=st.data())
def test_tables_without_a_base_merge_as_from_nothing(data: st.DataObject) -> None:
    shape = data.draw(shapes(keyed=True))
    fork = Fork(shape, data.draw)
    other = fork.writer.base()
    check(fork, None, fork.ours, other, *drawn_mode(data))
    check(fork, None, fork.ours, fork.theirs, *drawn_mode(data))
