"""Random values to bytes and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.codec import (
    decode,
    decode_record,
    encode,
    encode_record,
    pack,
    unpack,
)
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import (
    Block,
    ColumnStats,
    Commit,
    Derivation,
    Field,
    NodeRun,
    RefMove,
    Run,
    Schema,
    SchemaRef,
    SchemaTree,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
    Tombstone,
    Tree,
    View,
    ViewColumn,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.tree import Value

text = st.text(max_size=20)
ids = st.text(alphabet="0123456789abcdef", min_size=64, max_size=64)
counts = st.integers(0, 2**53)
facts = st.dictionaries(text, text, max_size=3)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    text,
)


def many(values: st.SearchStrategy, max_size: int = 3) -> st.SearchStrategy:
    return st.lists(values, max_size=max_size).map(tuple)


blocks = st.builds(
    Block,
    path=text,
    rows=counts,
    bytes=counts,
    partition=st.dictionaries(text, st.none() | text, max_size=2),
    stats=st.dictionaries(text, st.builds(ColumnStats, scalars, scalars, counts), max_size=2),
)
tombstones = st.builds(
    Tombstone, path=text, bytes=counts, targets=st.dictionaries(text, counts, max_size=3)
)
derivations = st.builds(
    Derivation, outputs=many(text), inputs=many(text), tombstones=many(tombstones)
)
fields = st.builds(
    Field,
    id=text,
    name=text,
    type=text,
    nullable=st.booleans(),
    comment=st.none() | text,
    default=st.none() | text,
)
values = st.one_of(
    st.builds(
        Commit,
        tree=ids,
        parents=many(ids),
        author=text,
        committed_at=counts,
        message=text,
        run=st.none()
        | st.builds(
            Run,
            invocation=text,
            command=text,
            head=st.none() | ids,
            nodes=many(st.builds(NodeRun, id=text, status=text, rows=st.none() | counts)),
        ),
        metadata=facts,
    ),
    st.builds(
        SchemaTree,
        relations=st.dictionaries(
            text, st.builds(TableEntry, snapshot=ids) | st.builds(ViewEntry, view=ids), max_size=3
        ),
    ),
    st.builds(
        Tree,
        schemas=st.dictionaries(
            text,
            st.builds(SchemaRef, id=ids, comment=st.none() | text, properties=facts),
            max_size=3,
        ),
    ),
    st.builds(
        Segment,
        blocks=many(blocks),
        tombstones=many(tombstones),
        derivations=many(derivations),
    ),
    st.builds(
        Snapshot,
        table=text,
        schema=st.builds(Schema, fields=many(fields), retired=many(text)),
        segments=many(
            st.builds(SegmentRef, id=ids, blocks=counts, rows=counts, deleted=counts, bytes=counts)
        ),
        created_at=counts,
        operation=text,
        parents=many(ids),
        primary_key=many(text),
        comment=st.none() | text,
        properties=facts,
    ),
    st.builds(
        View,
        text=text,
        columns=many(st.builds(ViewColumn, name=text, type=text, comment=st.none() | text)),
        reads=many(text),
    ),
)


@given(values)
def test_a_value_comes_back(value: Value) -> None:
    id, data = encode(value)
    assert decode(type(value), id, pack(data)) == value


@given(values, values)
def test_equal_values_and_no_others_share_an_id(one: Value, other: Value) -> None:
    if type(one) is type(other):
        assert (one == other) == (encode(one)[0] == encode(other)[0])
    assert encode(one) == encode(decode(type(one), *encode(one)))


@given(values, st.data())
def test_a_changed_byte_is_noticed(value: Value, data: st.DataObject) -> None:
    id, stored = encode(value)
    spot = data.draw(st.integers(0, len(stored) - 1))
    bit = data.draw(st.integers(0, 7))
    broken = bytearray(stored)
    broken[spot] ^= 1 << bit
    with pytest.raises(DamagedError):
        decode(type(value), id, bytes(broken))


@given(st.binary(max_size=20_000), st.integers(0, 3))
def test_packing_is_undone(data: bytes, times: int) -> None:
    whole = b"{" + data * times
    assert unpack(pack(whole), "x") == whole


@given(
    st.builds(
        RefMove,
        name=text,
        commit=st.none() | ids,
        at=counts,
        by=text,
        action=text,
        note=text,
        state=facts,
    )
)
def test_a_ref_move_comes_back(move: RefMove) -> None:
    assert decode_record(RefMove, encode_record(move), "x") == move
