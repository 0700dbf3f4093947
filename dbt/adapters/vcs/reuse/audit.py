"""Audit: what is computed compared with what was remembered for the same key.

Equal keys promise equal results. `vcs_reuse: verify` computes everything and holds it to that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from dbt.adapters.vcs.core.codec import rows_digest
from dbt.adapters.vcs.core.errors import DamagedError, EngineError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Entry, Snapshot, TableEntry
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.reuse.answer_rows import decoded_rows
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.statement_scope import Scope
from dbt.adapters.vcs.workspace.table_version import Version

_SHOWN: Final = 5
# Sums of floating-point numbers depend on the order in which an engine adds them.
_TOLERANCE: Final = 1e-9


class ReuseMismatchError(EngineError):
    """A result that was remembered is not what its statement gives now."""


def check_answer(result: Result | None, text: str) -> None:
    """Check that an answer is the one that was remembered; rows may come in any order.

    Raises:
        ReuseMismatchError: It isn't; the message shows rows of both.
    """
    if result is None or result.rows is None:
        return
    check_rows(result, decoded_rows(result.rows), decoded_rows(text))


def check_table(scope: Scope, result: Result | None, entry: Entry) -> None:
    """Check that a new version of a table has the rows of the one that was remembered.

    Raises:
        ReuseMismatchError: It hasn't; the message shows rows of both.
        EngineError: The engine failed to compare them.
    """
    if result is None or not result.version or not isinstance(entry, TableEntry):
        return
    try:
        old = scope.overlay.snapshot(SnapshotId(result.version))
    except DamagedError:
        # It was collected, so nobody could have taken it.
        return
    new = scope.overlay.snapshot(entry.snapshot)
    if rows_digest(old) == rows_digest(new):
        return
    if _columns(old) != _columns(new):
        raise ReuseMismatchError(_message(result, _columns(old), _columns(new)))
    check_rows(result, _rows(scope, old, new), _rows(scope, new, old))


def check_rows(
    result: Result, old: Sequence[tuple[Any, ...]], new: Sequence[tuple[Any, ...]]
) -> None:
    """Check that two lists have the same rows, each as often.

    Raises:
        ReuseMismatchError: They haven't; the message shows rows of both.
    """
    gone, come = _rest(old, new), _rest(new, old)
    # Only what has no equal is compared number by number: that is square in its size.
    for row in list(gone):
        twin = next((other for other in come if _is_close(row, other)), None)
        if twin is not None:
            gone.remove(row)
            come.remove(twin)
    if gone or come:
        raise ReuseMismatchError(_message(result, gone[:_SHOWN], come[:_SHOWN]))


def _rest(rows: Sequence[tuple[Any, ...]], others: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return the rows that the others lack, each as often as it is missing."""
    left = Counter(map(repr, others))
    found: list[Any] = []
    for row in rows:
        # Rows hold lists and dicts, which can't be counted as they are.
        key = repr(row)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(row)
    return found


def _is_close(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or math.isclose(left, right, rel_tol=_TOLERANCE, abs_tol=1e-12)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_is_close, left, right))
    return bool(left == right)


def _rows(scope: Scope, left: Snapshot, right: Snapshot) -> list[tuple[Any, ...]]:
    """Return rows of one version that another one lacks, up to a thousand."""
    session = scope.session
    places = [
        session.mount_version(Version.of(scope.overlay.repository, item).mount())
        for item in (left, right)
    ]
    # Types that can't be compared are compared as text.
    columns = ", ".join(
        f"to_json(struct({quoted(field.name)}))" if _is_opaque(field.type) else quoted(field.name)
        for field in left.schema.fields
    )
    first, second = (f"select {columns} from {place}" for place in places)
    return session.query(f"{first} except all {second}").fetch(1_000)


def _is_opaque(type_: str) -> bool:
    return "map<" in type_ or "variant" in type_


def _columns(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(field.name, field.type) for field in snapshot.schema.fields]


def _message(result: Result, gone: Sequence[Any], come: Sequence[Any]) -> str:
    where = f" of {result.node}" if result.node else ""
    return (
        f"The remembered result{where} ({result.target or 'an answer'}, computed by "
        f"{result.invocation or 'an earlier statement'}) is not what the same statement gives now "
        f"on the same versions.\n  remembered only: {list(gone) or 'nothing'}\n  computed only: "
        f"{list(come) or 'nothing'}\nSet reuse: false on the node, make its text repeatable (an "
        "order by, no user's function that isn't deterministic), or forget what is remembered: "
        "dbt-vcs reuse drop"
    )
