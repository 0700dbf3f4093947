"""Net changes: what is left of signed rows when equal rows of opposite sign cancel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.equality import Codes, equal_pairs, group_ids, group_in_steps
from dbt.adapters.vcs.table.files.block_reader import Positions
from dbt.adapters.vcs.table.types import arrow_type

Columns = Callable[[Sequence[Field]], Iterable[pa.ChunkedArray]]
"""Gives columns of the rows; they are read only when they are asked for."""

_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class NetChanges:
    """The signed rows left over, and which of them pair up as one row before and after.

    Attributes:
        rows: Numbers of the rows that are left, as given.
        sign: Their signs.
        value: A number for each, the same for equal rows.
        before: For each change the index in `rows` of the old row; -1 for an added row.
        after: The same for the new row; -1 for a removed row.
    """

    rows: Positions
    sign: Positions
    value: Codes
    before: Positions
    after: Positions

    @property
    def counts(self) -> Counts:
        """The number of changes of each kind."""
        added, removed = int((self.before < 0).sum()), int((self.after < 0).sum())
        return Counts(added, removed, len(self.before) - added - removed)


def net_changes(
    columns: Columns,
    sign: Positions,
    compared: Sequence[Field],
    key: Sequence[Field],
    *,
    likely: Collection[str] = (),
) -> NetChanges:
    """Cancel signed rows, and pair what is left.

    | rows left of one key | changes                                                 |
    |----------------------|---------------------------------------------------------|
    | an old one           | a removed row                                           |
    | a new one            | an added row                                            |
    | one of each          | a modified row                                          |
    | more                 | removed and added rows: the key is ambiguous            |

    Args:
        columns: Gives the rows' columns.
        sign: 1 or -1 for each row.
        compared: The columns whose values are compared.
        key: The columns that pair two rows; without any, none are paired.
        likely: Field ids of columns in which two rows of one key probably differ.
    """
    if key:
        # What an update set is read first: most pairs differ there, and nothing else is read.
        keys = group_ids(columns(key), len(sign))
        others = [field for field in compared if field not in key]
        first = [field for field in others if field.id in likely]
        others = [field for field in others if field.id not in likely]
        steps = (*fast_first(first), *fast_first(others))
        rows, value = _left_of_keys(columns, sign, steps, keys)
    else:
        rows, value = _left(_read(columns, fast_first(compared)), sign)
    signs = sign[rows]
    goes, comes = np.flatnonzero(signs < 0), np.flatnonzero(signs > 0)
    pairs = _pairs(keys[rows], goes, comes) if key else (_NONE, _NONE)
    old = np.setdiff1d(goes, pairs[0], assume_unique=True)
    new = np.setdiff1d(comes, pairs[1], assume_unique=True)
    before = np.concatenate([pairs[0], old, np.full(len(new), -1)])
    after = np.concatenate([pairs[1], np.full(len(old), -1), new])
    # In the order of the old rows, with the added ones at the end.
    order = np.lexsort((after, np.where(before < 0, len(rows), before)))
    return NetChanges(rows, signs, value, before[order], after[order])


def table_columns(table: pa.Table) -> Columns:
    """Return a reader of the columns of a table named by field id."""
    return lambda fields: [table.column(field.id) for field in fields]


def fast_first(fields: Sequence[Field]) -> tuple[list[Field], list[Field]]:
    """Split columns into fast ones (numbers and times) and all others."""
    types = [arrow_type(field.type) for field in fields]
    fast = [pa.types.is_primitive(item) or pa.types.is_decimal(item) for item in types]
    found = [field for field, is_fast in zip(fields, fast, strict=True) if is_fast]
    return found, [field for field in fields if field not in found]


def _read(
    columns: Columns, steps: Iterable[Sequence[Field]]
) -> Iterator[Iterable[pa.ChunkedArray]]:
    return (columns(step) for step in steps if step)


def _left(steps: Iterable[Iterable[pa.ChunkedArray]], sign: Positions) -> tuple[Positions, Codes]:
    """Return the numbers of the rows that are left, and a number for each one's value."""
    value = group_in_steps(steps, len(sign))
    # Of n equal rows of one sign and m of the other, n - m are left, the first ones.
    net = sums(value, sign)
    wanted = (np.sign(net)[value] == sign) & (ranks(value * 2 + (sign > 0)) < np.abs(net)[value])
    rows = np.flatnonzero(wanted)
    return rows, value[rows]


def _left_of_keys(
    columns: Columns, sign: Positions, compared: Sequence[Sequence[Field]], keys: Codes
) -> tuple[Positions, Codes]:
    """Do the same for keyed rows, reading only a few values of most rows.

    Most keys have one old row and one new row. These two are compared column by column until they
    differ. Only for keys with more rows are all values compared.

    Args:
        columns: Gives the rows' columns.
        sign: 1 or -1 for each row.
        compared: The columns whose values are compared within a key, in steps.
        keys: A number for each row, the same for rows of one key.
    """
    pairs = _pairs(keys, np.flatnonzero(sign < 0), np.flatnonzero(sign > 0))
    equal = equal_pairs(_read(columns, compared), *pairs)
    alone = np.bincount(keys)[keys] == 1
    crowded = ~alone
    crowded[pairs[0]] = crowded[pairs[1]] = False
    left = ~crowded
    left[pairs[0][equal]] = left[pairs[1][equal]] = False
    # Different rows get different numbers; those in a crowded group get the highest ones.
    value = np.arange(len(keys))
    several = np.flatnonzero(crowded)
    if len(several):
        chosen = pa.array(several)
        steps = ([part.take(chosen) for part in step] for step in _read(columns, compared))
        rows, values = _left(chain([[pa.array(keys[several])]], steps), sign[several])
        left[several[rows]] = True
        value[several[rows]] = len(keys) + values
    found = np.flatnonzero(left)
    return found, value[found]


def sums(groups: Codes, numbers: Positions) -> Positions:
    """Return the sum of whole numbers in each group."""
    # Added up as floats, which are exact up to 2**53.
    return np.bincount(groups, weights=numbers).astype(np.int64)


def ranks(groups: Codes) -> Positions:
    """Return each element's rank within its group, from 0."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.concatenate([starts, [len(groups)]]))
    found = np.empty(len(groups), np.int64)
    found[order] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return found


def _pairs(keys: Codes, goes: Positions, comes: Positions) -> tuple[Positions, Positions]:
    """Return the indexes of rows whose key has exactly one old and one new row."""
    size = int(keys.max(initial=-1)) + 1
    old, new = (np.bincount(keys[side], minlength=size) for side in (goes, comes))
    single = (old == 1) & (new == 1)
    left, right = goes[single[keys[goes]]], comes[single[keys[comes]]]
    return left[np.argsort(keys[left])], right[np.argsort(keys[right])]
