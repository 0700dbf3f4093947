"""The operation `vcs_diff`: what `dbt-vcs diff` does, with arguments by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_args

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.layout.styled import Block
from dbt.adapters.vcs.operations.arguments import number, word, words
from dbt.adapters.vcs.operations.caller import Caller
from dbt.adapters.vcs.statements.syntax.diff_call import DiffShape
from dbt.adapters.vcs.text import diff_schema_text, diff_summary_text, diff_text
from dbt.adapters.vcs.verbs.reading.diff import read_diff

_OUTPUTS: Final = {
    "rows": diff_text,
    "stat": diff_text,
    "summary": diff_summary_text,
    "schema": diff_schema_text,
}


def diff_operation(
    caller: Caller,
    *,
    revisions: Any = None,
    relation: Any = None,
    output: Any = "rows",
    columns: Any = None,
    shape: Any = "changes",
    limit: Any = 50,
) -> Iterable[Block]:
    """Tell how two commits differ, or two versions of a table."""
    text_of = _OUTPUTS.get(output)
    if text_of is None:
        raise InputError(f"diff has no output {output!r}; expected one of {', '.join(_OUTPUTS)}.")
    if shape not in get_args(DiffShape):
        known = ", ".join(get_args(DiffShape))
        raise InputError(f"diff has no shape {shape!r}; expected one of {known}.")
    points = [] if revisions is None else word("revisions", revisions).split()
    if relation is not None:
        points.append(word("relation", relation))
    report = read_diff(
        caller.repository,
        points,
        branch=caller.branch,
        columns=words("columns", columns),
        shape=shape,
        limit=number("limit", limit) or None,
        with_rows=output == "rows",
    )
    return text_of(report)
