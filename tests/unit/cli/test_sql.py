"""What `dbt-vcs sql` shows besides the rows of the last statement."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Any

import pyarrow as pa
import pytest

from .conftest import Call


class Warned:
    """A client whose statements warn."""

    def __enter__(self) -> Warned:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def sql(self, text: str) -> pa.Table:
        warnings.warn(f"Nothing picked by {text}.", stacklevel=4)
        return pa.table({"how": ["nothing_picked"]})


def test_warnings_of_each_statement_are_lines_without_a_place_in_code(
    vcs: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connected(*_: Any, **__: Any) -> Warned:
        return Warned()

    monkeypatch.setattr("dbt.adapters.vcs.cli.reading.sql_command.connect", connected)
    done = vcs("sql", "one; two; one")
    lines = [f"Warning: Nothing picked by {text}.\n" for text in ("one", "two", "one")]
    assert done.stderr == "".join(lines)
    assert "nothing_picked" in done.stdout
