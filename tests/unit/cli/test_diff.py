"""`dbt-vcs diff`: exit codes, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.shelf import Shelf

from .conftest import Call


@pytest.fixture
def vcs(call: Call, folder: Path) -> Call:
    """`dev` left `main` before row 2 came."""
    shelf = Shelf(open_blobs(str(folder / "warehouse"), {"fsync": "false"}))
    shelf.run("create table s.t (id bigint, name string) tblproperties ('primary_key' = 'id')")
    shelf.append("t", id=[1], name=["a"])
    shelf.repository.create_branch("dev", shelf.repository.resolve("main"), author="ann")
    shelf.append("t", id=[2], name=["b"])
    return lambda *arguments, code=0: call("-r", "warehouse", *arguments, code=code)


def test_exit_codes_tell_whether_anything_differs(vcs: Call) -> None:
    assert "are equal" in vcs("diff", "main...dev").stdout
    assert "s.t  +1 -0 ~0" in vcs("diff", "dev..main", code=1).stdout
    assert "s.t" in vcs("diff", "dev", "main", "--stat", "s.t", code=1).stdout
    assert "No columns differ" in vcs("diff", "dev..main", "--schema").stdout
    assert vcs("diff", "dev..main", "--summary", code=1).stdout == "1 relation, +1 -0 ~0 rows\n"
    for wrong in ("nope..main", "dev..main s.nope", "dev..main s.t --columns size"):
        assert "Error:" in vcs("diff", *wrong.split(), code=2).stderr
    vcs("diff", "--shape", "tall", code=2)


def test_rows_of_a_table(vcs: Call) -> None:
    printed = vcs("diff", "dev..main", "s.t", code=1).stdout.splitlines()
    assert printed[1:] == ["_change_type  id  name", "insert        2   b"]
    found = json.loads(vcs("diff", "dev..main", "s.t", "--shape", "wide", "--json", code=1).stdout)
    assert found["rows"] == [
        {"diff_type": "added", "from_id": None, "to_id": 2, "from_name": None, "to_name": "b"}
    ]
    assert found["relations"][0]["rows_added"] == 1
    assert not found["is_equal"]
