"""The Python entry: which Spark a connection uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs import api
from tests.unit.fake_engine import FakeEngine


@pytest.mark.parametrize(
    ("spark", "settings", "is_given"),
    [
        (None, None, False),
        ({"spark.master": "local[1]"}, {"spark.master": "local[1]"}, False),
        (object(), None, True),
    ],
    ids=["none", "settings", "session"],
)
def test_connect_takes_a_session_or_the_settings_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any, settings: Any, is_given: bool
) -> None:
    made: list[dict[str, Any]] = []

    def make(blobs: Any, **options: Any) -> FakeEngine:
        made.append(options)
        return FakeEngine(blobs)

    monkeypatch.setattr(api, "make_engine", make)
    with api.connect(str(tmp_path / "w"), create=True, spark=spark) as client:
        # Only the owner of a session needs to see its branch before the first statement.
        assert bool(made) is is_given
        client.open()
    (options,) = made
    assert options["settings"] == settings
    assert options["given"] is (spark if is_given else None)


def test_a_user_without_a_name_can_connect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nameless() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", nameless)
    monkeypatch.delenv("DBT_VCS_AUTHOR", raising=False)
    client = api.connect(str(tmp_path / "w"), create=True)
    client.sql("create schema s")
    assert client.log()[0].author == "unknown"
