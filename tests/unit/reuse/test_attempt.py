"""Statements whose result is taken, or carried out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.reuse.attempt import Reusing, SessionState
from dbt.adapters.vcs.sql.syntax.parser import read


def test_a_temporary_view_whose_result_goes_after_it_was_taken_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A purge or `reuse drop` of another process may come between."""
    monkeypatch.setattr(Reusing, "_key", lambda *_: SimpleNamespace(id="k"))
    monkeypatch.setattr(Reusing, "_compute", lambda *_: "computed")
    reuse: Any = SimpleNamespace(take=lambda *_: "taken", find=lambda _: None)
    state = SessionState()
    none: Any = None
    attempt = Reusing(reuse=reuse, state=state, context=none, has_session=lambda: False)
    statement = read("create temporary view v as select 1 a").statement
    found: Any = attempt.carried_out(none, statement, none)
    assert found == "computed"
    assert not state.deferred.views
