"""What clients can't do that know too much: of a table that their token doesn't show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.serve.bearer import Bearer, Grant
from dbt.adapters.vcs.serve.token_file import TokenList
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
