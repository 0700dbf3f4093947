"""Candidates: rows that a graft may get wrong.

Rows are grouped by one column after another. If only one side changed a group, its other columns
need not be read: the result takes that side's rows, whatever they hold. For most rows one or two
columns are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.rowwise.touched import TouchedRows
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.table.compare.located import Mask
from dbt.adapters.vcs.table.compare.net import fast_first
from dbt.adapters.vcs.table.equality import Codes, codes_of, group_ids
from dbt.adapters.vcs.table.files.block_reader import Files


def suspects(files: Files, rows: TouchedRows, by: Sequence[Field]) -> tuple[TouchedRows, Codes]:
    """Return the rows that may be wrong, and for each the number of its group.

    They include all rows of a group that both sides touched. Of other groups they include the rows
    that the graft holds differently from `ours + theirs - base`, each as a group of its own.

    Args:
        files: Reads columns.
        rows: All rows that a side touched.
        by: The columns that identify a row.
    """
    left, numbers = rows, np.arange(len(rows))
    groups = np.zeros(len(rows), np.int64)
    alone = [numbers[:0]]
    for place, field in enumerate(chain(*fast_first(by))):
        if not len(left):
            break
        column = left.located.read(files, [field]).column(field.id)
        groups = group_ids([pa.array(groups), column], len(left)) if place else codes_of(column)
        both = _touched_by_both(left, groups)
        alone.append(numbers[~both & _is_wrong(left)])
        left, numbers, groups = left.take(both), numbers[both], groups[both]
    single = np.concatenate(alone)
    found = np.full(len(rows), -1)
    found[numbers] = groups
    found[single] = int(groups.max(initial=-1)) + 1 + np.arange(len(single))
    kept = found >= 0
    return rows.take(kept), found[kept]


def any_in_group(groups: Codes, rows: Mask) -> Mask:
    """Return a mask of the groups that contain any of the marked rows."""
    found = np.zeros(int(groups.max(initial=-1)) + 1, np.bool_)
    found[groups[rows]] = True
    return found


def _touched_by_both(rows: TouchedRows, groups: Codes) -> Mask:
    both = any_in_group(groups, rows.ours != rows.base)
    both &= any_in_group(groups, rows.theirs != rows.base)
    found: Mask = both[groups]
    return found


def _is_wrong(rows: TouchedRows) -> Mask:
    """Return a mask of rows that the graft gets wrong, assuming only one side touched them."""
    base, ours, theirs, grafted = (
        mask.astype(np.int8) for mask in (rows.base, rows.ours, rows.theirs, rows.grafted)
    )
    wrong: Mask = grafted != ours + theirs - base
    return wrong
