"""What clients can't do that know too much: of a table that their token doesn't show them."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from starlette.testclient import TestClient

from dbt.adapters.vcs.iceberg import client_manifests
from dbt.adapters.vcs.iceberg.serve.access import Bearer, Grant, TokenList
from dbt.adapters.vcs.iceberg.serve.catalog_api import rest_app
from dbt.adapters.vcs.iceberg.serve.documents import Documents, IcebergDocuments
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.hand_writer import Record, Writer
from tests.unit.serve.test_writing import COLUMNS, client_of, digest, refusal

TOKENS = TokenList(
    (
        (digest("all"), Bearer("all", (Grant("writer"),))),
        (digest("dev"), Bearer("dev", (Grant("writer", ("dev",)),))),
    )
)


class Hidden:
    """A repository with the branches dev and secret, and whoever may write to dev."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.writer = Writer(lake)
        for name in ("dev", "secret"):
            lake.repository.create_branch(name, lake.repository.branch("main").head, author="x")
        self.all, self.dev = (client_of(lake, TOKENS, token) for token in ("all", "dev"))

    def load(self, branch: str, name: str) -> Record:
        found: Record = self.all.get(f"/v1/{branch}/namespaces/s/tables/{name}").json()["metadata"]
        return found

    def put(self, branch: str, name: str) -> str:
        """Append a row as a client of a branch, and return the URI of the file."""
        base = self.load(branch, name)
        file = self.writer.write(base, [(7, "hidden")])
        self.sent(self.all, branch, name, self.writer.snapshot(base, [file]))
        return file

    def sent(self, client: Any, branch: str, name: str, request: Record) -> None:
        found = client.post(f"/v1/{branch}/namespaces/s/tables/{name}", json=request)
        assert found.status_code == 200, found.text


@pytest.fixture
def hidden(tmp_path: Path) -> Hidden:
    return Hidden(Lake(tmp_path / "lake"))


@pytest.mark.parametrize("has_uuid", [False, True])
def test_nobody_creates_a_table_with_the_identity_of_another_one(
    hidden: Hidden, has_uuid: bool
) -> None:
    made = {"name": "hidden", "schema": COLUMNS}
    assert hidden.all.post("/v1/secret/namespaces/s/tables", json=made).is_success
    there = hidden.load("secret", "hidden")
    updates: list[Record] = [
        {"action": "add-schema", "schema": COLUMNS},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "set-location", "location": there["location"]},
    ]
    if has_uuid:
        updates.append({"action": "assign-uuid", "uuid": there["table-uuid"]})
    body = {"requirements": [{"type": "assert-create"}], "updates": updates}
    for name in ("stolen", "hidden"):
        found = hidden.dev.post(f"/v1/dev/namespaces/s/tables/{name}", json=body)
        status, _, message = refusal(found)
        assert (status, "handed out for" in message) == (400, True)


def test_a_staged_table_is_created_where_it_was_asked_for(hidden: Hidden) -> None:
    asked = {"name": "mine", "schema": COLUMNS, "stage-create": True}
    staged = hidden.dev.post("/v1/dev/namespaces/s/tables", json=asked).json()["metadata"]
    body = {
        "requirements": [{"type": "assert-create"}],
        "updates": [
            {"action": "add-schema", "schema": COLUMNS},
            {"action": "set-location", "location": staged["location"]},
        ],
    }
    other = hidden.dev.post("/v1/dev/namespaces/s/tables/other", json=body)
    assert refusal(other)[0] == 400
    hidden.sent(hidden.dev, "dev", "mine", body)
    assert hidden.load("dev", "mine")["location"] == staged["location"]


def test_files_of_one_branch_s_clients_are_no_rows_of_another_branch(hidden: Hidden) -> None:
    # Both branches have the table as it was made on main.
    file = hidden.put("secret", "t")
    base = hidden.load("dev", "t")
    found = hidden.dev.post(
        "/v1/dev/namespaces/s/tables/t", json=hidden.writer.snapshot(base, [file])
    )
    status, _, message = refusal(found)
    assert (status, "outside of the folder" in message) == (400, True)
    listing = hidden.load("secret", "t")["snapshots"][-1]["manifest-list"]
    request = hidden.writer.snapshot(base, [])
    request["updates"][0]["snapshot"]["manifest-list"] = listing
    assert not hidden.dev.post("/v1/dev/namespaces/s/tables/t", json=request).is_success
    # What a branch shows stays, whoever wrote it.
    merged = hidden.lake.repository.branch("secret")
    hidden.lake.repository.create_branch("later", merged.head, author="x")
    base = hidden.load("later", "t")
    more = hidden.writer.write(base, [(8, "own")])
    hidden.sent(hidden.all, "later", "t", hidden.writer.snapshot(base, [file, more]))


def test_a_token_for_some_branches_learns_no_names_of_tags(hidden: Hidden) -> None:
    repository = hidden.lake.repository
    hidden.put("dev", "t")
    repository.create_tag("merger", repository.branch("dev").head, author="x")
    path = "/v1/dev/namespaces/s/tables/t"
    # New servers, since one serves the tags that it knows for some seconds.
    one, every = (client_of(hidden.lake, TOKENS, token) for token in ("dev", "all"))
    assert every.get(path).json()["metadata"]["refs"].keys() == {"main", "merger"}
    loaded = one.get(path).json()["metadata"]
    assert loaded["refs"].keys() == {"main"}
    change = {
        "requirements": [],
        "updates": [{"action": "set-properties", "updates": {"a": "1"}}],
    }
    changed = one.post(path, json=change)
    assert changed.is_success
    assert b"merger" not in changed.content
    assert b"merger" in every.get(path).content


def test_a_body_is_read_only_of_who_may_write_and_only_up_to_its_bound(
    hidden: Hidden,
) -> None:
    documents = Documents(IcebergDocuments(hidden.lake.repository), {})
    app = rest_app(hidden.lake.repository, documents, tokens=TOKENS, max_body=1_000)
    read = 0

    def body(parts: int) -> Iterator[bytes]:
        nonlocal read
        for _ in range(parts):
            read += 100
            yield b" " * 100

    for token, branch, parts, expected in (
        ("dev", "secret", 50, 403),
        ("dev", "dev", 50, 413),
        ("dev", "dev", 5, 400),
    ):
        client = TestClient(app, headers={"Authorization": f"Bearer {token}"})
        path = f"/v1/{branch}/namespaces/s/tables"
        found = client.post(path, content=body(parts))
        assert (found.status_code, refusal(found)[0]) == (expected, expected)
        told = client.post(path, content=b"{}", headers={"Content-Length": "9999"})
        assert told.status_code == (403 if branch == "secret" else 413)
    closed = client.post(path, content=body(50))
    assert (closed.status_code, closed.headers["Connection"]) == (413, "close")


def avro(schema: Record, records: list[Record], codec: str = "deflate") -> bytes:
    out = io.BytesIO()
    fastavro.writer(
        out, fastavro.parse_schema(schema), records, codec=codec, sync_interval=1 << 24
    )
    return out.getvalue()


def listing(*more: Record) -> Record:
    fields = [{"name": "manifest_path", "type": "string"}, {"name": "content", "type": "int"}]
    return {"type": "record", "name": "manifest_file", "fields": [*fields, *more]}


LISTED: Record = {"manifest_path": "x", "content": 0}
ITEMS: Record = {"name": "items", "type": {"type": "array", "items": "null"}}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            avro(listing({"name": "x", "type": "bytes"}), [LISTED | {"x": bytes(30 << 20)}]),
            "a block of more than 16 MiB",
        ),
        (avro(listing(), [LISTED], "bzip2"), "write.avro.compression-codec"),
        # 10^9 items that take no bytes.
        (
            avro(listing(ITEMS), [LISTED | {"items": []}], "null").replace(
                b"\x02x\x00\x00", b"\x02x\x00\x80\xa8\xd6\xb9\x07\x00"
            ),
            "items",
        ),
        (b"Obj\x01" + b"\xff" * 100, "not a file of Avro records"),
        (b"", "not a file of Avro records"),
    ],
    ids=["block", "codec", "nothings", "damaged", "empty"],
)
def test_a_list_that_would_expand_too_far_is_refused(
    hidden: Hidden, data: bytes, said: str
) -> None:
    base = hidden.load("main", "t")
    request = hidden.writer.snapshot(base, [])
    uri = request["updates"][0]["snapshot"]["manifest-list"]
    Path(uri.removeprefix("file://")).write_bytes(data)
    start = time.monotonic()
    status, _, message = refusal(hidden.writer.send(request))
    assert (status, said in message) == (400, True), message
    assert time.monotonic() - start < 20


def test_the_entries_of_a_commit_are_bounded(
    hidden: Hidden, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = hidden.load("main", "t")
    files = [hidden.writer.write(base, [(key, "a")]) for key in range(3)]
    request = hidden.writer.snapshot(base, files)
    monkeypatch.setattr(client_manifests, "_UNPACKED", 1_000)
    status, _, message = refusal(hidden.writer.send(request))
    assert (status, "commit fewer files at once" in message) == (400, True)
    monkeypatch.setattr(client_manifests, "_UNPACKED", 2_000)
    assert hidden.writer.send(request).is_success


ODD: tuple[Any, ...] = (None, 1, "x", [None], {"x": None})
"""What is put in place of each value of a request, one after the other."""


def variants(value: Any) -> Iterator[Any]:
    """Yield a value with each of its parts replaced by something odd, or left out."""
    yield from ODD
    if isinstance(value, dict):
        for key, part in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: other} for other in variants(part))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            for other in variants(part):
                yield [*value[:number], other, *value[number + 1 :]]


def requests_of(base: Record, more: list[Record]) -> Iterator[tuple[str, Record]]:
    """Yield a request of each kind that changes something, with all that it can have."""
    fields: list[Record] = [
        {"id": 1, "name": "id", "required": True, "type": "long", "doc": "d"},
        {"id": 2, "name": "l", "type": {"type": "list", "element-id": 4, "element": "int"}},
        {"id": 3, "name": "m", "type": {"type": "map", "key": "int", "value": "int"}},
        {
            "id": 5,
            "name": "s",
            "type": {"type": "struct", "fields": [{"name": "a", "type": "int"}]},
        },
    ]
    schema: Record = {"type": "struct", "fields": fields, "identifier-field-ids": [1]}
    spec = {"fields": [{"source-id": 1, "name": "p", "transform": "identity"}]}
    order: Record = {"order-id": 0, "fields": []}
    names = {"namespace": ["s"], "name": "nix"}
    changes: Record = {
        "requirements": [
            {"type": "assert-table-uuid", "uuid": base["table-uuid"]},
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
        ],
        "updates": more,
    }
    view = {
        "version-id": 1,
        "schema-id": 0,
        "default-namespace": ["s"],
        "representations": [{"type": "sql", "sql": "select 1 a", "dialect": "spark"}],
        "summary": {},
    }
    yield "/namespaces", {"namespace": ["s"], "properties": {"a": "b"}}
    yield "/namespaces/s/properties", {"removals": ["b"], "updates": {"a": "b"}}
    yield (
        "/namespaces/s/tables",
        {
            "name": "t",
            "schema": schema,
            "partition-spec": spec,
            "write-order": order,
            "properties": {"a": "b"},
        },
    )
    yield "/namespaces/s/tables/t", changes
    yield (
        "/namespaces/s/tables/new",
        {
            "requirements": [{"type": "assert-create"}],
            "updates": [
                {"action": "add-schema", "schema": schema},
                {"action": "add-spec", "spec": spec},
                {"action": "set-location", "location": "x"},
            ],
        },
    )
    yield (
        "/transactions/commit",
        {"table-changes": [{"identifier": names, "requirements": [], "updates": []}]},
    )
    yield "/tables/rename", {"source": names, "destination": names}
    yield (
        "/namespaces/s/views",
        {"name": "t", "schema": schema, "view-version": view, "properties": {"a": "b"}},
    )
    yield (
        "/namespaces/s/views/v",
        {
            "requirements": [{"type": "assert-view-uuid", "uuid": "x"}],
            "updates": [
                {"action": "add-view-version", "view-version": view},
                {"action": "set-properties", "updates": {"a": "b"}},
            ],
        },
    )


def test_no_odd_request_fails_unexpectedly(writer_of_all: Writer) -> None:
    base = writer_of_all.load()
    one = writer_of_all.snapshot(base, [writer_of_all.write(base, [(1, "a")])])["updates"]
    updates: list[Record] = [
        {"action": "set-properties", "updates": {"a": "b"}},
        {"action": "remove-properties", "removals": ["a"]},
        {"action": "add-schema", "schema": base["schemas"][0]},
        {"action": "set-current-schema", "schema-id": 0},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
        {"action": "set-default-spec", "spec-id": 0},
        {"action": "upgrade-format-version", "format-version": 2},
        *one,
    ]
    failed: dict[str, str] = {}
    sent = 0
    for path, body in requests_of(base, updates):
        for odd in variants(body):
            found = writer_of_all.http.post(f"/v1/main{path}", json=odd)
            sent += 1
            if found.status_code >= 500:
                failed.setdefault(found.text, f"{path} {json.dumps(odd)[:3000]}")
    assert not failed, "\n".join(failed)
    assert sent > 1_000


@pytest.fixture
def writer_of_all(tmp_path: Path) -> Writer:
    return Writer(Lake(tmp_path / "lake"))


@pytest.mark.parametrize("depth", [150, 100_000])
def test_a_body_that_nests_too_deep_is_refused(writer_of_all: Writer, depth: int) -> None:
    for data in (
        b'{"namespace":' + b"[" * depth + b"]" * depth + b"}",
        b'{"namespace":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}",
    ):
        status, _, message = refusal(writer_of_all.http.post("/v1/main/namespaces", content=data))
        assert (status, "levels" in message) == (400, True)
