"""`dbt-vcs review`: what is said of a branch, and the commands that it prints."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from dbt.adapters.vcs.changes.diffs.row_facts import ColumnPatterns
from dbt.adapters.vcs.commands.review import ReviewRequest, review
from dbt.adapters.vcs.commands.review_markdown import LIMIT, markdown
from dbt.adapters.vcs.commands.review_report import RelationReview, Review
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Input, NodeRun, RelationName, Run, TableEntry
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli.conftest import Call
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

HOSTILE = "</script>|`x`@team\u202e#1\n"


@pytest.fixture
def tables(warehouse: Warehouse) -> Tables:
    """`revenue` was made from `orders`; `dev` changes a row of orders and builds revenue again."""
    made = Tables(warehouse)
    rows = made.block({1: "a", 2: "b", 3: None})
    orders = made.entry([rows], key=True, node="model.p.orders")
    revenue = made.entry([rows], key=True, inputs={"shop.orders": orders}, node="model.p.revenue")
    warehouse.put(orders=orders, revenue=revenue, same="1", v=warehouse.view("select 1 as a"))
    warehouse.branch("dev")
    gone, come = made.tombstone(rows, {1: (2, "b")}), made.block({2: HOSTILE, 4: "d"})
    new = made.entry([rows, come], [gone], parents=[orders], key=True)
    again = made.entry(
        [rows, come],
        [gone],
        parents=[revenue],
        key=True,
        inputs={"shop.orders": new},
        node="model.p.revenue",
    )
    # The rows of `same` are written again in another file.
    copy = warehouse.table("1", rows=10)
    assert isinstance(copy, TableEntry)
    snapshot = warehouse.repository.objects.snapshot(copy.snapshot)
    same = msgspec.structs.replace(snapshot, operation="rebuild", parents=(copy.snapshot,))
    entry = TableEntry(snapshot=SnapshotId(warehouse.repository.objects.put(same)))
    warehouse.put("dev", orders=new, revenue=again, same=entry, v=warehouse.view("select 2 as a"))
    return made


def relation(found: Review, name: str) -> RelationReview:
    [item] = [item for item in found.relations if item.name == f"shop.{name}"]
    return item


def test_a_branch_is_reviewed(warehouse: Warehouse, tables: Tables) -> None:
    found = review(warehouse.repository, "main", "dev")
    assert found.verdict.can_merge
    assert found.verdict.how == "fast_forward"
    assert {item.name: item.cause for item in found.relations} == {
        "shop.orders": "data",
        "shop.revenue": "inputs",
        "shop.v": "sql",
    }
    assert found.rewritten == 1
    orders = relation(found, "orders")
    assert (orders.rows_before, orders.rows_after) == (3, 4)
    assert (orders.added, orders.removed, orders.modified, orders.share) == (1, 0, 1, 0.5)
    assert "-select 1 as a\n+select 2 as a" in relation(found, "v").text_diff
    states = {node.name: node.state for node in found.lineage.nodes}
    assert states == {"shop.orders": "changed", "shop.revenue": "affected", "shop.v": "changed"}
    assert found.lineage.paths == (("shop.orders", "shop.revenue"),)


def test_every_printed_command_works_as_it_is_typed(vcs: Call, tables: Tables) -> None:
    found = json.loads(vcs("review", "main...dev", "--format", "json").output)
    for item in found["relations"]:
        typed(vcs, item["command"], code=1)
    typed(vcs, found["reproduce"]["diff"], code=1)
    typed(vcs, found["reproduce"]["merge"])
    typed(vcs, found["reproduce"]["revert"])
    assert vcs("diff", found["before"], "main").exit_code == 0


def typed(vcs: Call, command: str, *, code: int = 0) -> None:
    program, *words = shlex.split(command)
    assert program == "dbt-vcs"
    # The fixture gives the repository, as the command did.
    if "--repository" in words:
        place = words.index("--repository")
        del words[place : place + 2]
    vcs(*words, code=code)


def test_commands_in_reasons_have_the_options_of_the_call(
    call: Call, warehouse: Warehouse, tables: Tables
) -> None:
    call("-r", warehouse.blobs.uri, "branch", "protect", "main", "--require", "approval")
    words = ("-r", warehouse.blobs.uri, "review", "main...dev", "-o", "-", "--format")
    (reason,) = json.loads(call(*words, "json").output)["verdict"]["reasons"]
    steps = re.findall(r"dbt-vcs .*?(?=\. |$)", reason)
    assert [step.split()[3] for step in steps] == ["review", "approve"]
    for step in steps:
        call(*shlex.split(step)[1:])
    assert json.loads(call(*words, "json").output)["verdict"]["reasons"] == []


@pytest.mark.parametrize("how", ["hide", "mask"])
def test_a_conflict_of_a_column_that_stays_out_says_no_value(
    call: Call, warehouse: Warehouse, folder: Path, how: str
) -> None:
    tables = Tables(warehouse)
    old = tables.entry([tables.block({1: "x"})], key=True)
    warehouse.put(a=old, b=old)
    warehouse.branch("dev")
    for branch, value in (("main", "'s3cret-ours'"), ("dev", "'s3cret-theirs'")):
        new = with_default(warehouse, old, value)
        warehouse.put(branch, a=new, b=with_default(warehouse, old, f"'{branch} open'"))
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    output = f"{{type: vcs, schema: shop, repository: {warehouse.blobs.uri}, branch: main}}"
    (folder / "profiles.yml").write_text(f"shop: {{target: t, outputs: {{t: {output}}}}}\n")
    (folder / "vcs.yml").write_text(f"review: {{{how}: [shop.a.name]}}\n")
    for form in ("json", "markdown", "html"):
        said = call("review", "main...dev", "--format", form, "-o", "-").output
        assert "s3cret" not in said
        # Of other tables, conflicts are told as before.
        assert "dev open" in said
    verdict = json.loads(call("review", "main...dev", "--format", "json").output)
    texts = [item["text"] for item in verdict["verdict"]["conflicts"]]
    assert "shop.a: both sides declared columns differently, some of which stay out" in texts[0]


@pytest.mark.parametrize("how", ["hide", "mask"])
def test_a_broken_contract_names_no_row_by_a_key_that_stays_out(
    call: Call, warehouse: Warehouse, folder: Path, how: str
) -> None:
    tables = Tables(warehouse)
    rows = tables.block({71077345: "x"})
    old = tables.entry([rows], key=True)
    warehouse.put(a=old)
    warehouse.branch("dev")
    gone = tables.tombstone(rows, {0: (71077345, "x")})
    warehouse.put("dev", a=tables.entry([rows], [gone], parents=[old], key=True))
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    output = f"{{type: vcs, schema: shop, repository: {warehouse.blobs.uri}, branch: main}}"
    (folder / "profiles.yml").write_text(f"shop: {{target: t, outputs: {{t: {output}}}}}\n")
    rules = "contracts: {shop.a: {no_removed: true}}\n"
    (folder / "vcs.yml").write_text(rules)
    assert "71077345" in call("review", "main...dev", "--format", "json").output
    (folder / "vcs.yml").write_text(f"{rules}review: {{{how}: [shop.a.id]}}\n")
    for form in ("json", "markdown", "html"):
        said = call("review", "main...dev", "--format", form, "-o", "-").output
        assert "71077345" not in said
        assert "breaks no" in said


@pytest.mark.parametrize(
    ("contract", "hidden"),
    [
        ("shop.a: {no_removed: true}", "shop.b.id"),
        ("shop.b: {expression: id < 9}", "shop.a.id"),
    ],
)
def test_a_broken_contract_of_a_renamed_table_is_looked_up_by_either_name(
    call: Call, warehouse: Warehouse, folder: Path, contract: str, hidden: str
) -> None:
    tables = Tables(warehouse)
    entry = tables.entry([tables.block({71077345: "x"})], key=True)
    warehouse.put(a=entry)
    warehouse.branch("dev")
    warehouse.put("dev", a=None, b=entry)
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    output = f"{{type: vcs, schema: shop, repository: {warehouse.blobs.uri}, branch: main}}"
    (folder / "profiles.yml").write_text(f"shop: {{target: t, outputs: {{t: {output}}}}}\n")
    rules = f"contracts: {{{contract}}}\n"
    (folder / "vcs.yml").write_text(rules)
    assert "id = 71077345" in call("review", "main...dev", "--format", "json").output
    (folder / "vcs.yml").write_text(f"{rules}review: {{hide: [{hidden}]}}\n")
    said = call("review", "main...dev", "--format", "json").output
    assert "71077345" not in said and "breaks " in said


def with_default(warehouse: Warehouse, entry: TableEntry, value: str) -> TableEntry:
    objects = warehouse.repository.objects
    snapshot = objects.snapshot(entry.snapshot)
    fields = [
        msgspec.structs.replace(field, default=value) if field.name == "name" else field
        for field in snapshot.schema.fields
    ]
    schema = msgspec.structs.replace(snapshot.schema, fields=tuple(fields))
    new = msgspec.structs.replace(snapshot, schema=schema, parents=(entry.snapshot,))
    return TableEntry(snapshot=SnapshotId(objects.put(new)))


def test_a_merge_with_new_commits_on_both_sides_is_reverted(
    warehouse: Warehouse, vcs: Call, tables: Tables
) -> None:
    warehouse.put(other="2")
    before = warehouse.shown()
    found = review(warehouse.repository, "main", "dev")
    assert found.verdict.how == "merge"
    # Compared with where dev left main: `other` is no change of dev.
    assert "shop.other" not in {item.name for item in found.relations}
    typed(vcs, found.reproduce.merge)
    assert warehouse.shown() != before
    typed(vcs, found.reproduce.revert)
    assert warehouse.shown()["shop.v"] == before["shop.v"]


def test_conflicts_are_foretold_and_nothing_is_changed(
    warehouse: Warehouse, tables: Tables
) -> None:
    rows = tables.block({1: "a", 3: None})
    old = tables.shown(name_of("orders"))
    warehouse.put(orders=tables.entry([rows, tables.block({2: "ours"})], parents=[old], key=True))
    head = warehouse.head()
    verdict = review(warehouse.repository, "main", "dev").verdict
    assert not verdict.can_merge
    assert [(item.relation, item.kind, item.rows) for item in verdict.conflicts] == [
        ("shop.orders", "rows", 1)
    ]
    assert "Both sides changed the same" in verdict.reasons[0]
    assert warehouse.head() == head


def name_of(name: str) -> RelationName:
    return RelationName("shop", name)


def test_tests_on_exactly_these_versions_count(warehouse: Warehouse, tables: Tables) -> None:
    orders = tables.shown(name_of("orders"), "dev")
    seen = Input(relation="shop.orders", snapshot=orders.snapshot)
    older = Input(relation="shop.revenue", snapshot="0" * 64)
    nodes = (
        NodeRun(id="test.p.bad", status="fail", inputs=(seen,)),
        NodeRun(id="test.p.good", status="pass", inputs=(seen,)),
        NodeRun(id="test.p.old", status="pass", inputs=(older,)),
    )
    warehouse.put("dev", run=Run(invocation="i", command="test", nodes=nodes), more="1")
    warehouse.repository.protect("main", Protection(("tests",)), author="ann")
    found = review(warehouse.repository, "main", "dev")
    assert {item.name: item.state for item in found.verdict.tests} == {
        "test.p.bad": "failed",
        "test.p.old": "not_run",
        "test.p.good": "passed",
    }
    assert "shop.orders" not in found.verdict.untested
    assert "shop.revenue" in found.verdict.untested
    assert not found.verdict.can_merge
    assert "failed: test.p.bad" in found.verdict.reasons[0]
    assert found.verdict.requires == ("tests",)
    assert found.reproduce.merge.startswith("dbt-vcs promote ")


def test_an_approved_branch_is_promoted_as_the_review_says(
    warehouse: Warehouse, vcs: Call, tables: Tables
) -> None:
    warehouse.repository.protect("main", Protection(("approval",)), author="ann")
    reason = review(warehouse.repository, "main", "dev").verdict.reasons[0]
    approving = reason.partition("Then approve it: ")[2]
    typed(vcs, approving)
    found = review(warehouse.repository, "main", "dev")
    assert found.verdict.can_merge
    typed(vcs, found.reproduce.merge)
    assert warehouse.head() == warehouse.head("dev")


def test_a_run_that_failed_is_named_with_a_command_that_shows_it(
    warehouse: Warehouse, vcs: Call, tables: Tables
) -> None:
    warehouse.run("r1", Status.FAILED, target="dev", note="model.p.x failed", a="1")
    verdict = review(warehouse.repository, "main", "dev").verdict
    [run] = verdict.runs
    assert (run.invocation, run.status, run.note) == ("r1", "failed", "model.p.x failed")
    assert "r1" in verdict.warnings[0]
    typed(vcs, run.command)


def test_why_a_run_was_not_published_names_no_row_where_columns_stay_out(
    warehouse: Warehouse, tables: Tables
) -> None:
    note = "it could not be published: shop.a loses 1 row (id = 71077345)"
    run = warehouse.run("r1", Status.FAILED, target="dev", note=note, a="1").name
    for head in ("dev", run):
        assert "71077345" in str(review(warehouse.repository, "main", head).verdict)
        for patterns in (ColumnPatterns(hide=("a.b.c",)), ColumnPatterns(mask=("a.b.c",))):
            request = ReviewRequest(patterns=patterns)
            said = str(review(warehouse.repository, "main", head, request).verdict)
            assert "71077345" not in said and "it could not be published" in said


def test_what_is_no_branch_can_not_be_merged_into(warehouse: Warehouse, tables: Tables) -> None:
    warehouse.repository.create_tag("v1", warehouse.head(), author="ann")
    found = review(warehouse.repository, "v1", "dev")
    assert (found.verdict.can_merge, found.verdict.how) == (False, "unknown")
    assert found.reproduce.merge == ""


def test_a_table_that_was_renamed_is_one_relation(warehouse: Warehouse) -> None:
    warehouse.put(old="1")
    warehouse.branch("dev")
    entry = warehouse.shown("dev")["shop.old"]
    warehouse.put("dev", old=None, new=entry)
    [item] = review(warehouse.repository, "main", "dev").relations
    assert (item.change, item.old_name, item.name) == ("renamed", "shop.old", "shop.new")
    assert (item.added, item.removed) == (0, 0)


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_sql_of_a_model_is_shown_where_it_is_remembered(
    warehouse: Warehouse, is_kept: bool
) -> None:
    entries = []
    for number in (1, 2):
        entry = warehouse.table(str(number))
        assert isinstance(entry, TableEntry)
        snapshot = warehouse.repository.objects.snapshot(entry.snapshot)
        origin = msgspec.structs.replace(
            snapshot.origin,
            node="model.p.a",
            sql_sha256=str(number) * 64,
            derivation=str(number) * 64,
        )
        made = msgspec.structs.replace(snapshot, origin=origin)
        entries.append(TableEntry(snapshot=SnapshotId(warehouse.repository.objects.put(made))))
        if is_kept:
            result = Result(kind="table", statement=f"select {number}")
            Results(warehouse.blobs).put(str(number) * 64, result)
    warehouse.put(a=entries[0])
    warehouse.branch("dev")
    warehouse.put("dev", a=entries[1])
    [item] = review(warehouse.repository, "main", "dev").relations
    assert item.cause == "sql"
    assert ("-select 1\n+select 2" in item.text_diff) == is_kept
    assert ("checksum" in item.text_note) != is_kept


def test_a_damaged_version_hides_no_other(warehouse: Warehouse, tables: Tables) -> None:
    entry = tables.shown(name_of("orders"), "dev")
    warehouse.blobs.delete(f"objects/snapshot/{entry.snapshot[:2]}/{entry.snapshot}")
    # Opened again, since a repository keeps what it has read.
    found = review(Repository.open(warehouse.blobs), "main", "dev")
    assert relation(found, "orders").note
    assert relation(found, "orders").cause == "unknown"
    assert relation(found, "v").text_diff
    assert any("shop.orders" in text for text in found.verdict.warnings)


def test_nothing_in_markdown_comes_from_a_value(warehouse: Warehouse, tables: Tables) -> None:
    warehouse.put("dev", v=warehouse.view("select '```' as a, '@team'"))
    text = markdown(review(warehouse.repository, "main", "dev"))
    assert "</script" not in text
    assert "\u202e" not in text
    prose, *fenced = text.split("````diff")
    assert "@team" not in prose
    assert len(fenced) == 1
    cells = [line for line in text.splitlines() if line.startswith("| modified |")]
    assert cells
    assert all(line.count("|") == 4 for line in cells)


def test_a_comment_is_bounded_and_says_what_it_leaves_out(
    warehouse: Warehouse, tables: Tables
) -> None:
    found = review(warehouse.repository, "main", "dev")
    many = [replace(relation(found, "orders"), name=f"shop.t{number}") for number in range(150)]
    text = markdown(replace(found, relations=tuple(many)))
    assert len(text) <= LIMIT
    assert "50 more relations differ" in text
    assert "more are left out" in text
    assert text.rstrip().splitlines()[-1].startswith("- head: ")


def test_a_comment_is_bounded_whatever_names_are_in_it(
    warehouse: Warehouse, tables: Tables
) -> None:
    found = review(warehouse.repository, "main", "dev")
    long = [replace(relation(found, "v"), name=f"shop.{'`<|' * 90}{n}") for n in range(100)]
    verdict = replace(found.verdict, warnings=("<" * 5_000,) * 100)
    text = markdown(replace(found, relations=tuple(long), verdict=verdict))
    assert len(text) <= LIMIT
    assert text.count("More is left out") == 2
    assert "### Reproduce" in text


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "dbt_project.yml").write_text("{name: shop, profile: shop}")
    output = "{type: vcs, method: session, repository: ./warehouse, schema: shop}"
    (folder / "profiles.yml").write_text(f"shop: {{target: dev, outputs: {{dev: {output}}}}}")
    return folder


def test_a_project_keeps_columns_out(
    call: Call, warehouse: Warehouse, tables: Tables, project: Path
) -> None:
    (project / "vcs.yml").write_text('review: {hide: ["shop.orders.name"]}')
    (project / "target").mkdir()
    node = {
        "name": "revenue",
        "alias": "revenue",
        "schema": "shop",
        "columns": {"name": {"meta": {"vcs": {"review": "mask"}}}, "id": {"meta": {}}},
    }
    manifest = {"nodes": {"model.p.revenue": node}, "sources": {}}
    (project / "target" / "manifest.json").write_text(json.dumps(manifest))
    text = call("review", "main...dev", "--format", "json").output
    assert "script" not in text
    found = {item["name"]: item for item in json.loads(text)["relations"]}
    assert found["shop.orders"]["hidden"] == ["name"]
    assert found["shop.orders"]["facts"]["heads"] == ["id"]
    assert found["shop.revenue"]["masked"] == ["name"]
    said = call("review", "main...dev", "--format", "markdown").output
    assert "Hidden by the project" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("review: {hide: email}", "expected a list of patterns"),
        ("review: {hide: [email]}", "expected a list of patterns"),
        ("review: {hid: []}", "hid"),
    ],
)
def test_a_rule_that_would_hide_nothing_is_refused(
    call: Call, warehouse: Warehouse, tables: Tables, project: Path, text: str, said: str
) -> None:
    (project / "vcs.yml").write_text(text)
    assert said in call("review", "main...dev", code=2).output


def test_a_review_is_written_as_a_whole(
    vcs: Call, warehouse: Warehouse, tables: Tables, folder: Path
) -> None:
    said = vcs("review", "main...dev", "--output", "out.md").output
    assert "dev changes 3 relations and can be merged" in said
    assert (folder / "out.md").read_text(encoding="utf-8").startswith("## Review of")
    assert "Can't write" in vcs("review", "main...dev", "-o", "no/such/out.md", code=2).output
    assert sorted(path.name for path in folder.iterdir()) == ["out.md", "warehouse"]


@pytest.mark.parametrize("words", ["dev", "shop.orders@main"])
def test_a_range_is_expected(vcs: Call, warehouse: Warehouse, tables: Tables, words: str) -> None:
    assert "review main...BRANCH" in vcs("review", words, code=2).output


def test_rows_can_be_limited(vcs: Call, warehouse: Warehouse, tables: Tables) -> None:
    found = json.loads(vcs("review", "main..dev", "--format", "json", "--limit", "1").output)
    facts = found["relations"][0]["facts"]
    assert (len(facts["rows"]), facts["is_complete"]) == (1, False)
