import pytest

from dbt.adapters.vcs.core.model import Block, ColumnStats, Field
from dbt.adapters.vcs.core.plan.delta import Bounds, Piece
from dbt.adapters.vcs.core.plan.states import Touched, can_meet, hull, meeting


def field(type_: str, id: str = "k") -> Field:
    return Field(id=id, name=id, type=type_)


def bounds(low: object, high: object, nulls: int = 0) -> Bounds:
    return {"k": ColumnStats(low, high, nulls)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("type_", "left", "right", "meets"),
    [
        ("bigint", bounds(1, 5), bounds(6, 9), False),
        ("bigint", bounds(1, 5), bounds(5, 9), True),
        ("bigint", bounds(6, 9), bounds(1, 5), False),
        ("bigint", bounds(1, 5), {}, True),
        ("bigint", bounds(None, None), bounds(1, 5), True),
        ("bigint", bounds(1, None), bounds(-5, -1), True),
        ("bigint", bounds(1, 5, 1), bounds(6, 9, 2), True),
        ("bigint", bounds(1, 5, 1), bounds(6, 9, 0), False),
        ("bigint", bounds(1, 5, -1), bounds(6, 9, -1), True),
        ("bigint", bounds(None, None, 3), bounds(6, 9, 0), True),
        ("string", bounds("a", "b"), bounds("c", "d"), False),
        ("string", bounds("a", "\uffff"), bounds("\U00010000", "\U00010001"), False),
        ("decimal(10,2)", bounds("9.00", "9.50"), bounds("10.00", "11.00"), False),
        ("decimal(10,2)", bounds("9.00", "10.00"), bounds("10.0", "11.0"), True),
        ("double", bounds(1.0, 2.0), bounds(3.0, 4.0), True),
        ("float", bounds(1.0, 2.0), bounds(3.0, 4.0), True),
        ("date", bounds(-1, 0), bounds(1, 2), False),
        ("boolean", bounds(False, False), bounds(True, True), False),
        ("bigint", bounds(1, 5), bounds("6", "9"), True),
    ],
)
def test_ranges_meet_unless_bounds_prove_otherwise(
    type_: str, left: Bounds, right: Bounds, meets: bool
) -> None:
    assert can_meet(left, right, [field(type_)]) == meets
    assert can_meet(right, left, [field(type_)]) == meets


def test_one_column_that_differs_is_enough() -> None:
    left = {"a": ColumnStats(1, 5, 0), "b": ColumnStats(1, 1, 0)}
    right = {"a": ColumnStats(1, 5, 0), "b": ColumnStats(2, 2, 0)}
    assert not can_meet(left, right, [field("int", "a"), field("int", "b")])
    assert can_meet(left, right, [field("int", "a")])


def test_a_hull_holds_for_every_part() -> None:
    parts = [bounds(1, 5), bounds(-3, 2, 1)]
    assert hull(parts, [field("int")]) == {"k": ColumnStats(-3, 5, 1)}
    assert hull([*parts, {}], [field("int")]) == {}


def touched(side: str, low: int, high: int) -> Touched:
    block = Block(path=f"{side}{low}", rows=1, bytes=1, stats=dict(bounds(low, high)))
    return Touched(Piece(block.path, 1, info=block), side == "ours", side == "theirs")


def test_pieces_that_meet_nothing_of_the_other_side_stay_unread() -> None:
    ours = [touched("ours", n, n) for n in range(0, 10, 2)]
    theirs = [touched("theirs", n, n) for n in range(1, 10, 2)] + [touched("theirs", 4, 5)]
    assert [piece.block for piece in meeting([*ours, *theirs], [field("int")])] == [
        "ours4",
        "theirs4",
    ]


def test_very_many_pieces_are_compared_with_the_whole_of_the_other_side() -> None:
    ours = [touched("ours", n, n) for n in range(1_000)]
    theirs = [touched("theirs", n, n) for n in range(2_000, 3_000)]
    assert meeting([*ours, *theirs], [field("int")]) == ()
    near = touched("theirs", 10, 2_500)
    found = {piece.block for piece in meeting([*ours, *theirs, near], [field("int")])}
    assert {"theirs10", "ours10", "ours999"} <= found
    assert "ours9" not in found


def test_a_piece_that_both_changed_is_always_read() -> None:
    both = touched("ours", 1, 1)._replace(theirs=True)
    assert meeting([both], [field("int")]) == (both.piece,)
