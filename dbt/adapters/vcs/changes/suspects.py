"""Suspects: rows of groups that a graft may have left otherwise than a merge wants them.

Rows are grouped by one column after another. A group that one side alone touched, and of which
the graft has what it should, needs no look at the other columns: so of most rows one or two
columns are read, whatever tells rows apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.files import Files
from dbt.adapters.vcs.changes.grouping import Codes, codes_of, group_ids
from dbt.adapters.vcs.changes.located import Mask
from dbt.adapters.vcs.changes.net import fast_first
from dbt.adapters.vcs.changes.touched import TouchedRows
from dbt.adapters.vcs.core.model import Field


def suspects(files: Files, rows: TouchedRows, by: Sequence[Field]) -> tuple[TouchedRows, Codes]:
    """Return the rows of groups that can be wrong, and a number for each group.

    Args:
        files: Reads columns.
        rows: All rows that a side touched.
        by: The columns that tell rows apart.
    """
    groups = np.zeros(len(rows), np.int64)
    for number, field in enumerate(chain(*fast_first(by))):
        if not len(rows):
            break
        column = rows.located.read(files, [field]).column(field.id)
        groups = group_ids([pa.array(groups), column], len(rows)) if number else codes_of(column)
        wrong = _are_suspect(rows, groups)[groups]
        rows, groups = rows.take(wrong), groups[wrong]
    return rows, groups


def any_in_group(groups: Codes, rows: Mask) -> Mask:
    """Tell for each group whether one of its rows is among some."""
    found = np.zeros(int(groups.max(initial=-1)) + 1, np.bool_)
    found[groups[rows]] = True
    return found


def _are_suspect(rows: TouchedRows, groups: Codes) -> Mask:
    """Tell which groups both sides touched, or the graft has otherwise than it should."""
    base, ours, theirs, grafted = (
        mask.astype(np.int64) for mask in (rows.base, rows.ours, rows.theirs, rows.grafted)
    )
    both = any_in_group(groups, rows.ours != rows.base)
    both &= any_in_group(groups, rows.theirs != rows.base)
    return both | any_in_group(groups, grafted != ours + theirs - base)
