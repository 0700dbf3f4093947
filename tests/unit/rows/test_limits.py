import pytest

from dbt.adapters.vcs.core.model import Block
from dbt.adapters.vcs.core.plan.pieces import Piece
from dbt.adapters.vcs.rows.limits import Limits, TooLargeError

BLOCK = Block(path="b.parquet", rows=1_000, bytes=4_000)


def test_what_is_as_large_as_allowed_is_read() -> None:
    pieces = [Piece("b.parquet", 1_000, info=BLOCK), Piece("c.parquet", 10, image="t.parquet")]
    Limits(rows=1_010, bytes=4_000).check(pieces)
    assert not Limits(rows=1_009, bytes=4_000).allow(pieces)
    assert not Limits(rows=1_010, bytes=3_999).allow(pieces)


def test_deleted_rows_count_as_their_share_of_the_block() -> None:
    pieces = [Piece("b.parquet", 500, image="t.parquet", info=BLOCK)]
    assert Limits(rows=500, bytes=2_000).allow(pieces)
    with pytest.raises(TooLargeError, match=r"500 rows and 2,000 bytes.*has Spark"):
        Limits(rows=500, bytes=1_999).check(pieces)
