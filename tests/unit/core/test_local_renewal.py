"""Renewing files on a local disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.store.local import LocalBlobs


def test_a_file_of_another_user_is_renewed_by_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = LocalBlobs(tmp_path)
    blobs.create("a/b", b"one")
    os.utime(tmp_path / "a/b", (1, 1))

    def refused(path: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refused)
    blobs.create_all({"a/b": b"one", "a/c": b"new"})
    renewed = blobs.modified_at("a/b")
    assert renewed is not None
    assert renewed > 1_000_000
    assert blobs.get("a/b") == b"one"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b", "c"]
