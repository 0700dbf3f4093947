"""docs/format.md against the code: what is written there is what is stored."""

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from chaos.shop import Shop, look
from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.core.codec import (
    COMPRESS_ABOVE,
    decode,
    decode_record,
    encode,
    encode_record,
    pack,
)
from dbt.adapters.vcs.core.errors import FormatError
from dbt.adapters.vcs.core.ids import Micros, TableId, TreeId
from dbt.adapters.vcs.core.model import (
    Commit,
    Entry,
    Function,
    RefMove,
    RelationName,
    Schema,
    SchemaTree,
    Segment,
    Snapshot,
    Tree,
    View,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.snapshot import MAX_BLOCKS
from dbt.adapters.vcs.core.model.tree import TreePiece, Value
from dbt.adapters.vcs.core.origins.results import MAX_ANSWER, Result
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.branch_names import MAX_LENGTH, MAX_QUOTED, quote
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.store.objects import Condemned, CondemnedLists, ObjectStore, object_path
from dbt.adapters.vcs.core.store.opening import (
    ADDED,
    CONDEMNED,
    FORMAT_VERSION,
    Header,
    upgrade_header,
)
from dbt.adapters.vcs.core.store.ref_packs import PackedMoves
from dbt.adapters.vcs.core.store.relations import BITS, WHOLE
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges, TreeEntries

PAGE = (Path(__file__).parents[3] / "docs" / "format.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"```(?:json|text) ([^\n]+)\n(.*?)\n```", PAGE, re.DOTALL))
OBJECTS = {
    "commit": Commit,
    "tree": Tree,
    "schema": SchemaTree,
    "snapshot": Snapshot,
    "segment": Segment,
    "view": View,
    "function": Function,
}
TITLES = [title for title in EXAMPLES if title.partition(" ")[2] and "names" not in title]


def test_every_kind_has_an_example() -> None:
    assert {title.partition(" ")[0] for title in TITLES} == {*OBJECTS, "empty"}


@pytest.mark.parametrize("title", [title for title in TITLES if not title.startswith("empty")])
def test_an_object_is_stored_as_written_there(title: str) -> None:
    word, _, id = title.partition(" ")
    text = EXAMPLES[title].encode()
    value = decode(OBJECTS[word], id, text)
    assert encode(value) == (id, text)
    kind = "tree" if word == "schema" else word
    assert hashlib.sha256(f"vcs1 {kind}\n".encode() + text).hexdigest() == id


def test_the_empty_tree_has_its_id() -> None:
    assert encode(Tree())[0] == EXAMPLES["empty tree"]


def test_records_are_stored_as_written_there() -> None:
    for title, type_ in (
        ("vcs.json", Header),
        ("refmove", RefMove),
        ("condemned", CondemnedLists),
        ("packed", PackedMoves),
        ("result", Result),
    ):
        text = EXAMPLES[title].encode()
        assert encode_record(decode_record(type_, text, title)) == text


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_a_repository_of_each_format_is_read_written_and_upgraded(
    version: int, tmp_path: Path
) -> None:
    with zipfile.ZipFile(Path(__file__).parent / "formats" / f"{version}.zip") as stored:
        stored.extractall(tmp_path)
    repository = opened(tmp_path)
    assert repository.header.format == version
    assert check_repository(repository, data=DataCheck()).problems == ()
    shop = Shop(repository, "main", "ann")
    assert shop.signs() == ["open"]
    assert [branch.name for branch in repository.branches()] == ["feature", "main"]
    shop.insert("new")
    shown = {
        branch.name: look(repository, branch.head).batches for branch in repository.branches()
    }
    assert shown == {"main": {"two", "new"}, "feature": {"two", "three"}}
    if version < FORMAT_VERSION:
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        if version < CONDEMNED:
            with pytest.raises(FormatError, match="run: dbt-vcs upgrade"):
                collect(repository, author="gc")
        told = CliRunner().invoke(main, ["-r", str(tmp_path), "upgrade", "--dry-run"]).output
        assert before == {path: path.read_bytes() for path in before}
        done = CliRunner().invoke(main, ["-r", str(tmp_path), "upgrade"]).output
        assert done == told.replace("would get", "has got")
        words = " ".join(done.split())
        for number, texts in ADDED.items():
            assert all((text in words) == (number > version) for text in texts)
        assert [p.name for p in before if p.read_bytes() != before[p]] == ["vcs.json"]
        repository = opened(tmp_path)
    assert repository.header.format == FORMAT_VERSION
    collect(repository, author="gc")
    assert check_repository(repository, data=DataCheck()).problems == ()
    again = CliRunner().invoke(main, ["-r", str(tmp_path), "upgrade"]).output
    assert again == f"{tmp_path} has the newest format, {FORMAT_VERSION}.\n"


def test_a_repository_of_an_older_format_keeps_a_schema_in_one_object(tmp_path: Path) -> None:
    with zipfile.ZipFile(Path(__file__).parent / "formats" / "2.zip") as stored:
        stored.extractall(tmp_path)
    assert wide_schema(opened(tmp_path)).level == 0
    CliRunner().invoke(main, ["-r", str(tmp_path), "upgrade"], catch_exceptions=False)
    assert wide_schema(opened(tmp_path)).level == 1


def test_writers_from_before_and_after_an_upgrade_lose_nothing_of_each_other(
    tmp_path: Path,
) -> None:
    with zipfile.ZipFile(Path(__file__).parent / "formats" / "2.zip") as stored:
        stored.extractall(tmp_path)
    old = opened(tmp_path)
    upgrade_header(old.blobs, old.header)
    new = opened(tmp_path)
    views = {RelationName("wide", f"v_{n}"): view_of(new) for n in range(1_100)}
    land_views(new, views)
    for writer, name in ((old, "by_old"), (new, "by_new"), (old, "by_old_again")):
        views[RelationName("wide", name)] = view_of(new)
        land_views(writer, {RelationName("wide", name): view_of(new)})
    seen = opened(tmp_path)
    shown = seen.tree(seen.branch("main").head).relations("wide")
    assert dict(shown.items()) == {name.identifier: view for name, view in views.items()}
    assert check_repository(seen, data=DataCheck()).problems == ()


def view_of(repository: Repository) -> ViewEntry:
    """Return a view that `main` shows."""
    tree = repository.tree(repository.branch("main").head)
    return next(view for view in TreeEntries(tree).values() if isinstance(view, ViewEntry))


def land_views(repository: Repository, views: Mapping[RelationName, Entry]) -> None:
    head = repository.branch("main").head
    changes = TreeChanges(schemas={"wide": SchemaInfo()}, relations=views)
    tree = repository.edit(repository.tree(head).id, changes)
    repository.land(Proposal(branch="main", base=head, tree=tree, author="ann", message="Views"))


def wide_schema(repository: Repository) -> SchemaTree:
    """Return the top of a schema of many views, made on `main` now."""
    before, view = repository.tree(repository.branch("main").head), view_of(repository)
    views = {RelationName("wide", f"v_{n}"): view for n in range(1_100)}
    tree = repository.edit(before.id, TreeChanges(schemas={"wide": SchemaInfo()}, relations=views))
    top = repository.objects.schema_tree(repository.objects.tree(tree).schemas["wide"].id)
    assert dict(
        repository.objects.relations(repository.objects.tree(tree).schemas["wide"].id)
    ) == {name.identifier: entry for name, entry in views.items()}
    return top


class SchemaBefore(Value, frozen=True, kw_only=True):
    """What a schema's tree was before pieces."""

    relations: dict[str, Entry]


def test_a_reader_from_before_pieces_stops_at_them() -> None:
    piece = TreePiece(first="a", id=TreeId("1" * 64), relations=1)
    _, data = encode(SchemaTree(relations=(piece,), level=1))
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(data, type=SchemaBefore)


def opened(folder: Path) -> Repository:
    return Repository.open(LocalBlobs(folder, fsync=False))


def test_names_are_condemned_as_written_there() -> None:
    blobs, id = MemoryBlobs(), EXAMPLES["empty tree"]
    first = object_path("tree", id)
    Condemned(blobs).condemn([first, f"{first}.1"], Micros(1795132800000000))
    (info,) = blobs.walk("condemned")
    (written,) = decode_record(CondemnedLists, blobs.get(info.path), info.path).lists
    (shown,) = decode_record(CondemnedLists, EXAMPLES["condemned"].encode(), "example").lists
    assert (written.names, written.at) == (shown.names, shown.at)
    store = ObjectStore(blobs)
    assert (store.put(Tree()), store.flush()) == (id, None)
    assert [info.path for info in blobs.walk("objects")] == [first, f"{first}.2"]
    store._blobs.delete(first)
    assert ObjectStore(blobs).tree(TreeId(id)) == Tree()


def test_names_are_quoted_as_written_there() -> None:
    for line in EXAMPLES["quoted names"].splitlines():
        name, folder = line.split()
        assert quote(name) == folder


def test_the_numbers_on_the_page_are_those_in_the_code() -> None:
    for number in (COMPRESS_ABOVE, MAX_ANSWER, MAX_BLOCKS, WHOLE):
        assert f"{number:,}" in PAGE
    for number in (MAX_LENGTH, MAX_QUOTED):
        assert str(number) in PAGE
    assert f"begins with {BITS} zero bits" in PAGE
    assert f"Version {FORMAT_VERSION}." in PAGE


def test_unknown_keys_are_ignored_and_missing_ones_are_defaults() -> None:
    data = b'{"name":"main","commit":null,"at":1,"by":"a","action":"x","from_the_future":[1]}'
    assert decode_record(RefMove, data, "x") == RefMove(
        name="main", commit=None, at=Micros(1), by="a", action="x"
    )


def test_a_value_at_its_defaults_is_short() -> None:
    snapshot = Snapshot(
        table=TableId("t"),
        schema=Schema(fields=()),
        segments=(),
        created_at=Micros(1),
        operation="create",
    )
    assert json.loads(encode(snapshot)[1]) == {
        "created_at": 1,
        "operation": "create",
        "schema": {"fields": []},
        "segments": [],
        "table": "t",
    }


def test_compression_starts_above_its_limit() -> None:
    assert pack(b"x" * COMPRESS_ABOVE) == b"x" * COMPRESS_ABOVE
    assert pack(b"x" * (COMPRESS_ABOVE + 1)).startswith(b"\x28\xb5\x2f\xfd")


def test_a_new_repository_holds_what_is_written_there() -> None:
    blobs = MemoryBlobs()
    repository = Repository.create(blobs, author="ann")
    header = json.loads(blobs.get("vcs.json"))
    assert header.keys() == {"format", "id", "default_branch"}
    head = repository.branch("main").head
    empty = EXAMPLES["empty tree"]
    assert sorted(info.path for info in blobs.walk("objects")) == [
        f"objects/commit/{head[:2]}/{head}",
        f"objects/tree/{empty[:2]}/{empty}",
    ]
    assert [info.path for info in blobs.walk("refs")] == [f"refs/heads/main/{1:020d}"]
