"""`make verify`: everything is computed, and compared with what was remembered of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.project.reuse_modes import ReuseModes
from dbt.adapters.vcs.reuse import attempt
from dbt.adapters.vcs.reuse.reuser import ReuseMode

COMPARED: Final = Counter[str]()
"""Number of tables and of answers that there was something to compare with."""


@contextmanager
def verifying() -> Iterator[None]:
    """Let every node that may reuse results verify them, and count what is compared."""
    decided, check_table, check_answer = (
        ReuseModes._mode,
        attempt.check_table,
        attempt.check_answer,
    )

    def mode_of(self: ReuseModes, node: Any, name: str) -> tuple[ReuseMode, str | None]:
        mode, refusal = decided(self, node, name)
        return ("verify", "verifying") if mode == "auto" else (mode, refusal)

    def checked_table(scope: Any, result: Result | None, entry: Any) -> None:
        COMPARED["tables"] += bool(result and result.version and isinstance(entry, TableEntry))
        check_table(scope, result, entry)

    def checked_answer(result: Result | None, text: str) -> None:
        COMPARED["answers"] += result is not None and result.rows is not None
        check_answer(result, text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReuseModes, "_mode", mode_of)
        patch.setattr(attempt, "check_table", checked_table)
        patch.setattr(attempt, "check_answer", checked_answer)
        yield
