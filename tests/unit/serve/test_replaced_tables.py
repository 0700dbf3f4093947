"""Tables that clients build again under their name: `create or replace table ... as select`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.commands.fsck import check_repository
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import pyiceberg_rows
from tests.unit.serve.hand_writer import Record, Writer
from tests.unit.serve.test_writing import head, refusal


@pytest.fixture
def writer(lake: Lake) -> Writer:
    made = Writer(lake)
    base = made.load()
    assert made.send(made.snapshot(base, [made.write(base, [(1, "a"), (2, "b")])])).is_success
    return made


@pytest.fixture
def lake(tmp_path: Any) -> Lake:
    return Lake(tmp_path / "lake")


def fields_of(base: Record) -> list[Record]:
    (found,) = (s for s in base["schemas"] if s["schema-id"] == base["current-schema-id"])
    fields: list[Record] = found["fields"]
    return fields


def replacement(
    base: Record,
    fields: list[Record],
    added: Record | None = None,
    parts: list[Record] | None = None,
    **properties: str,
) -> Record:
    """Return a request as Iceberg's Java clients send it."""
    schema = {"type": "struct", "schema-id": 7, "fields": fields}
    updates: list[Record] = [
        {"action": "remove-snapshot-ref", "ref-name": "main"},
        {"action": "add-schema", "schema": schema},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 3, "fields": parts or []}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "set-properties", "updates": properties},
    ]
    for item in added["updates"] if added else ():
        updates.append({**item})
        if "snapshot" in item:
            updates[-1]["snapshot"] = {**item["snapshot"], "parent-snapshot-id": None}
    return {
        "requirements": [{"type": "assert-table-uuid", "uuid": base["table-uuid"]}],
        "updates": updates,
    }


def test_a_replaced_table_has_its_new_rows_and_keeps_its_history(
    writer: Writer, lake: Lake
) -> None:
    base = writer.load()
    before = head(lake)
    added = writer.snapshot(base, [writer.write(base, [(7, "z")])])
    fields = [{**field, "required": False} for field in fields_of(base)]
    request = replacement(base, fields, added, owner="ben")
    answer = writer.send(request)
    assert answer.status_code == 200, answer.text
    shown = answer.json()["metadata"]
    assert shown["table-uuid"] == base["table-uuid"]
    assert shown["properties"]["owner"] == "ben"
    assert writer.rows() == [(7, "z")]
    assert lake.snapshot("t").primary_key == ()
    assert lake.repository.objects.commit(head(lake)).message == (
        "PyIceberg replace s.t through the catalog"
    )
    # The answer was lost, and the client asks again.
    assert writer.send(request).is_success
    assert writer.rows() == [(7, "z")]
    lake.run(f"restore table s.t to version as of '{before}'")
    assert writer.rows() == [(1, "a"), (2, "b")]
    assert check_repository(lake.repository).problems == ()


def test_a_replaced_table_may_be_partitioned_otherwise(writer: Writer, lake: Lake) -> None:
    base = writer.load()
    name = fields_of(base)[1]
    parts = [{"source-id": name["id"], "name": "name", "transform": "identity"}]
    files = [writer.write(base, [(1, "a")]), writer.write(base, [(2, None)])]
    request = replacement(base, fields_of(base), writer.snapshot(base, files), parts)
    assert writer.send(request).is_success
    assert lake.snapshot("t").partition_by == ("name",)
    assert {block.partition["name"] for block in lake.blocks("t")} == {"a", None}
    found = writer.load()
    (spec,) = (s for s in found["partition-specs"] if s["spec-id"] == found["default-spec-id"])
    assert [field["name"] for field in spec["fields"]] == ["name"]


def test_rows_with_new_columns_get_the_numbers_of_the_catalog(writer: Writer, lake: Lake) -> None:
    base = writer.load()
    id, name, _ = fields_of(base)
    new = {"id": base["last-column-id"] + 1, "name": "day", "required": False, "type": "string"}
    file = Path(writer.write(base, []).removeprefix("file://"))
    rows = {"id": [1, 2], "day": ["x", None], "name": ["a", "b"]}
    numbers = {"id": id["id"], "day": new["id"], "name": name["id"]}
    types = {"id": pa.int64(), "day": pa.string(), "name": pa.string()}
    schema = pa.schema(
        pa.field(key, types[key], metadata={"PARQUET:field_id": str(numbers[key])}) for key in rows
    )
    pq.write_table(pa.table(rows, schema=schema), file)
    fields = [id, new, name]
    added = writer.snapshot(base, [f"file://{file}"])
    assert writer.send(replacement(base, fields, added)).is_success
    assert [field.name for field in lake.snapshot("t").schema.fields] == ["id", "day", "name"]
    wanted = [(1, "x", "a"), (2, None, "b")]
    assert sorted(lake.rows("t")) == wanted
    found = pyiceberg_rows(lake.document("t").location).to_pydict()
    assert sorted(zip(*found.values(), strict=True)) == wanted
    assert check_repository(lake.repository).problems == ()


def test_other_refs_stay(writer: Writer, lake: Lake) -> None:
    before = head(lake)
    removal = {"action": "remove-snapshot-ref", "ref-name": "v1"}
    code, _, message = refusal(writer.send({"requirements": [], "updates": [removal]}))
    assert code == 400
    assert "dbt-vcs tag" in message
    assert head(lake) == before
