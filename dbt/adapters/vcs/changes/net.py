"""Net changes: signed rows with everything cancelled that is equal and of opposite sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.files import Positions
from dbt.adapters.vcs.changes.grouping import Codes, equal_pairs, group_ids
from dbt.adapters.vcs.core.model import Field

_NONE: Final = np.empty(0, np.int64)


class Counts(NamedTuple):
    """How many rows a change adds, removes and modifies; without a key none is modified."""

    added: int
    removed: int
    modified: int


@dataclass(frozen=True, slots=True)
class NetChanges:
    """What is left of signed rows, and which of them are one row before and after.

    Attributes:
        rows: Numbers of the rows that are left, among those given.
        sign: Their signs.
        value: A number for each, the same for rows that are equal.
        before: For each change the place in `rows` of what goes; -1 if it is an added row.
        after: The same of what comes; -1 if it is a removed row.
    """

    rows: Positions
    sign: Positions
    value: Codes
    before: Positions
    after: Positions

    @property
    def counts(self) -> Counts:
        """How many changes there are of each kind."""
        added, removed = int((self.before < 0).sum()), int((self.after < 0).sum())
        return Counts(added, removed, len(self.before) - added - removed)


def net_changes(
    table: pa.Table, sign: Positions, compared: Sequence[Field], key: Sequence[Field]
) -> NetChanges:
    """Cancel signed rows, and pair what is left.

    | rows left of one key | changes                                                 |
    |----------------------|---------------------------------------------------------|
    | one that goes        | a removed row                                           |
    | one that comes       | an added row                                            |
    | one of each          | a modified row                                          |
    | more                 | removed and added rows: the key tells nothing apart     |

    Args:
        table: The rows, columns named by field id.
        sign: 1 or -1 for each.
        compared: Columns that make two rows different.
        key: Columns that pair two rows; without any, none are paired.
    """
    if key:
        keys = group_ids([table.column(field.id) for field in key], table.num_rows)
        rows, value = _left_of_keys(table, sign, compared, keys)
    else:
        rows, value = _left(table, sign, compared)
    signs = sign[rows]
    goes, comes = np.flatnonzero(signs < 0), np.flatnonzero(signs > 0)
    pairs = _pairs(keys[rows], goes, comes) if key else (_NONE, _NONE)
    old = np.setdiff1d(goes, pairs[0], assume_unique=True)
    new = np.setdiff1d(comes, pairs[1], assume_unique=True)
    before = np.concatenate([pairs[0], old, np.full(len(new), -1)])
    after = np.concatenate([pairs[1], np.full(len(old), -1), new])
    order = np.lexsort((after, np.where(before < 0, len(rows), before)))
    return NetChanges(rows, signs, value, before[order], after[order])


def _left(table: pa.Table, sign: Positions, compared: Sequence[Field]) -> tuple[Positions, Codes]:
    """Return the numbers of the rows that nothing cancels, and for each one of its value."""
    value = group_ids([table.column(field.id) for field in compared], table.num_rows)
    net = sums(value, sign)
    wanted = (np.sign(net)[value] == sign) & (ranks(value * 2 + (sign > 0)) < np.abs(net)[value])
    rows = np.flatnonzero(wanted)
    return rows, value[rows]


def _left_of_keys(
    table: pa.Table, sign: Positions, compared: Sequence[Field], keys: Codes
) -> tuple[Positions, Codes]:
    """Do the same where rows of different keys differ, looking at few values of most rows.

    A key has one row that goes and one that comes, mostly: these two are compared, column by
    column, until they differ. Only where a key has more rows are all their values looked at.
    """
    pairs = _pairs(keys, np.flatnonzero(sign < 0), np.flatnonzero(sign > 0))
    equal = equal_pairs([table.column(field.id) for field in compared], *pairs)
    alone = np.bincount(keys)[keys] == 1
    crowded = ~alone
    crowded[pairs[0]] = crowded[pairs[1]] = False
    left = ~crowded
    left[pairs[0][equal]] = left[pairs[1][equal]] = False
    # Rows that differ have different numbers, and those of a crowd have theirs above the others.
    value = np.arange(len(keys))
    several = np.flatnonzero(crowded)
    rows, values = _left(table.take(pa.array(several)), sign[several], compared)
    left[several[rows]] = True
    value[several[rows]] = len(keys) + values
    found = np.flatnonzero(left)
    return found, value[found]


def sums(groups: Codes, numbers: Positions) -> Positions:
    """Return the sum of whole numbers in each group."""
    return np.bincount(groups, weights=numbers).astype(np.int64)


def ranks(groups: Codes) -> Positions:
    """Return each element's place, from 0, among those of its group."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.concatenate([starts, [len(groups)]]))
    found = np.empty(len(groups), np.int64)
    found[order] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return found


def _pairs(keys: Codes, goes: Positions, comes: Positions) -> tuple[Positions, Positions]:
    """Return the places of rows whose key has one row that goes and one that comes."""
    size = int(keys.max(initial=-1)) + 1
    old, new = (np.bincount(keys[side], minlength=size) for side in (goes, comes))
    single = (old == 1) & (new == 1)
    left, right = goes[single[keys[goes]]], comes[single[keys[comes]]]
    return left[np.argsort(keys[left])], right[np.argsort(keys[right])]
