"""Whatever a program writes from Python, a branch shows what a dictionary would hold."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.table.types import arrow_type
from tests.unit.iceberg.lake import Lake
from tests.unit.type_values import VALUES

_KEYS = st.integers(0, 12)
_PLAIN = sorted(set(VALUES) - {"float", "double"})


def no_engine(branch: str) -> NoReturn:
    pytest.fail("Writing from Python starts no engine.")


@given(data=st.data())
def test_a_branch_shows_what_a_dictionary_would(data: st.DataObject) -> None:
    types = {name: data.draw(st.sampled_from(_PLAIN)) for name in ("a", "b")}
    by = data.draw(st.sampled_from(["", " partitioned by (p)"]))
    values = {name: st.none() | VALUES[type_] for name, type_ in types.items()}
    values["p"] = st.none() | st.sampled_from(["x", "y/z"])
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        columns = ", ".join(f"{name} {type_}" for name, type_ in types.items())
        lake.run(
            f"create table s.t (k bigint not null, {columns}, p string){by} "
            "tblproperties ('primary_key' = 'k')"
        )
        client = Client.on(lake.repository, "main", no_engine, schema="s", author="ann")
        expected: dict[int, dict[str, Any]] = {}
        for _ in range(data.draw(st.integers(1, 6))):
            mode = data.draw(st.sampled_from(["append", "merge", "merge", "overwrite"]))
            names = ["a", "b", "p"]
            if mode == "merge":
                names = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
            rows = data.draw(
                st.dictionaries(
                    _KEYS,
                    st.fixed_dictionaries({name: values[name] for name in names}),
                    max_size=6,
                )
            )
            clashes = mode == "append" and not rows.keys().isdisjoint(expected)
            arrays = {"k": pa.array(list(rows), pa.int64())}
            for name in names:
                type_ = arrow_type({**types, "p": "string"}[name])
                arrays[name] = pa.array([found[name] for found in rows.values()], type_)
            if clashes:
                with pytest.raises(InputError):
                    client.write("t", pa.table(arrays), mode)
                continue
            client.write("t", pa.table(arrays), mode)
            if mode == "overwrite":
                expected = {}
            for key, given_values in rows.items():
                kept = expected.get(key, dict.fromkeys(["a", "b", "p"]))
                expected[key] = {**kept, **given_values}
        found = client.table("t").to_arrow().to_pylist()
        assert {row.pop("k"): row for row in found} == expected
        assert len(found) == len(expected)
        assert check_repository(lake.repository).problems == ()
