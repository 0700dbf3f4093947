"""Statements about versions: snapshots, restore, diff, merge, pick, optimize; `snapshot_diff`."""

from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.row_change import Delete, Update
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.lexer import edited
from dbt.adapters.vcs.sql.syntax.parser import Query, SparkCommand, parse, renames
from tests.unit.statements.statement_shapes import field, of, parsed, told


def version(value: str) -> Any:
    return of("At", kind="version", value=value)


def timestamp(value: str) -> Any:
    return of("At", kind="timestamp", value=value)


VERSIONING: dict[str, tuple[str, Any]] = {
    "create snapshot": (
        "create snapshot sn1 for table s.t",
        of("CreateSnapshot", name="sn1", table=("s.t", None)),
    ),
    "create snapshot of a revision": (
        "create snapshot if not exists `sn 1` for table t as of 'main~2'",
        of("CreateSnapshot", name="sn 1", table=("t", version("main~2")), if_not_exists=True),
    ),
    "create snapshot of a time": (
        "create snapshot 'sn-1' for table t{timestamp = '2026-01-01'}",
        of("CreateSnapshot", name="sn-1", table=("t", timestamp("2026-01-01"))),
    ),
    "create snapshot as of a time": (
        "create snapshot sn1 for table t as of timestamp '2026-01-01'",
        of("CreateSnapshot", name="sn1", table=("t", timestamp("2026-01-01"))),
    ),
    "create snapshot of a snapshot, as Spark says it": (
        "create snapshot sn1 for table t version as of 'x'",
        of("CreateSnapshot", name="sn1", table=("t", version("x"))),
    ),
    "drop snapshot": (
        "drop snapshot sn1 for table s.t",
        of("DropSnapshot", name="sn1", target="s.t"),
    ),
    "drop snapshot if exists": (
        "drop snapshot if exists sn1 on table t",
        of("DropSnapshot", name="sn1", target="t", if_exists=True),
    ),
    "show snapshots": ("show snapshots", of("ShowSnapshots")),
    "show snapshots of a table": (
        "show snapshots for table s.t",
        of("ShowSnapshots", target="s.t"),
    ),
    "show snapshots in a table": ("show snapshots in table t", of("ShowSnapshots", target="t")),
    "show snapshots in a schema": ("show snapshots in s", of("ShowSnapshots", schema="s")),
    "show snapshots in schema": ("show snapshots in schema s", of("ShowSnapshots", schema="s")),
    "restore": (
        "restore table s.t from snapshot s.t{snapshot = 'sn1'}",
        of("RestoreTable", target="s.t", source=("s.t", version("sn1"))),
    ),
    "restore from a clone": (
        "restore table t from snapshot c timestamp as of '2026-01-01'",
        of("RestoreTable", target="t", source=("c", timestamp("2026-01-01"))),
    ),
    "restore to a version": (
        "restore table s.t to version as of 'v1'",
        of("RestoreTable", target="s.t", source=("s.t", version("v1"))),
    ),
    "restore to a time": (
        "restore table t to timestamp as of timestamp '2026-01-01'",
        of("RestoreTable", target="t", source=("t", timestamp("2026-01-01"))),
    ),
    "undrop": ("undrop table s.t", of("UndropTable", target="s.t")),
    "diff": (
        "snapshot diff s.a{snapshot='x'} and s.b",
        of("SnapshotDiff", before=("s.a", version("x")), after=("s.b", None)),
    ),
    "diff with everything": (
        "snapshot diff a{snapshot='x'} and b timestamp as of '2026-01-01' limit 10 "
        "columns (id, `b c`) output summary as wide "
        "where case when as then limit end > columns and output in (select 1 limit 2)",
        of(
            "SnapshotDiff",
            before=("a", version("x")),
            after=("b", timestamp("2026-01-01")),
            columns=("id", "b c"),
            where="case when as then limit end > columns and output in (select 1 limit 2)",
            shape="wide",
            output="summary",
            limit=10,
        ),
    ),
    "diff with clauses behind the condition": (
        "snapshot diff a version as of 3 and a where x > 1 and y as changes output count",
        of(
            "SnapshotDiff",
            before=("a", version("3")),
            after=("a", None),
            where="x > 1 and y",
            shape="changes",
            output="count",
        ),
    ),
    "merge": (
        "snapshot merge table s.t from c",
        of("SnapshotMerge", target="s.t", source=("c", None)),
    ),
    "merge with everything": (
        "snapshot merge table t from c{snapshot='x'} based on b{snapshot='y'} "
        "when conflict skip dry run",
        of(
            "SnapshotMerge",
            target="t",
            source=("c", version("x")),
            base=("b", version("y")),
            mode="skip",
            dry_run=True,
        ),
    ),
    "merge with clauses turned around": (
        "snapshot merge table t from c dry run when conflict cell",
        of("SnapshotMerge", target="t", source=("c", None), mode="cell", dry_run=True),
    ),
    "pick by a condition": (
        "snapshot pick table t from c{timestamp='2026-01-01'} where id in (1, 2) and a = 'x' "
        "when conflict accept",
        of(
            "SnapshotPick",
            target="t",
            source=("c", timestamp("2026-01-01")),
            where="id in (1, 2) and a = 'x'",
            mode="accept",
        ),
    ),
    "pick by keys": (
        "snapshot pick table t from c based on b keys (1, 'a,b'), (f(2, 3), null) dry run",
        of(
            "SnapshotPick",
            target="t",
            source=("c", None),
            base=("b", None),
            keys=(("1", "'a,b'"), ("f(2, 3)", "null")),
            dry_run=True,
        ),
    ),
    "pick by a query": (
        "snapshot pick table t from c keys ( with w as (select 1) select * from w ) dry run",
        of(
            "SnapshotPick",
            target="t",
            source=("c", None),
            query="with w as (select 1) select * from w",
            dry_run=True,
        ),
    ),
    "pick by computed keys": (
        "snapshot pick table t from c keys ((select 1), map(1, 2)), (3, map())",
        of(
            "SnapshotPick",
            target="t",
            source=("c", None),
            keys=(("(select 1)", "map(1, 2)"), ("3", "map()")),
        ),
    ),
    "pick between snapshots": (
        "snapshot pick table t from s.c between snapshot `a b` and 'main~2' when conflict skip",
        of(
            "SnapshotPick",
            target="t",
            source=("s.c", version("main~2")),
            base=("s.c", version("a b")),
            mode="skip",
        ),
    ),
    "pick between snapshots by a condition": (
        "snapshot pick table t from c where x between snapshot and 3 or y between 1 and 2 "
        "between snapshot a and b",
        of(
            "SnapshotPick",
            target="t",
            source=("c", version("b")),
            base=("c", version("a")),
            where="x between snapshot and 3 or y between 1 and 2",
        ),
    ),
    "optimize": ("optimize s.t", of("Optimize", target="s.t")),
    "optimize a table": ("optimize table t", of("Optimize", target="t")),
    "optimize with everything": (
        "optimize table t cluster by (a, b)",
        of("Optimize", target="t", cluster_by=("a", "b")),
    ),
}


@pytest.mark.parametrize("case", VERSIONING)
def test_what_a_statement_means(case: str) -> None:
    text, expected = VERSIONING[case]
    assert parsed(text) == expected
    assert parsed(text + " ;") == expected


@pytest.mark.parametrize(
    "text",
    [
        "undrop table other.s.t",
        "restore table other.s.t to version as of 1",
        "snapshot diff other.s.a and b",
        "optimize other.s.t",
    ],
)
def test_what_is_in_another_catalog_goes_to_spark(text: str) -> None:
    assert isinstance(parse(text), SparkCommand)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("create snapshot for table t", InputError, "`for table`"),
        ("create snapshot sn1", InputError, "`for table`"),
        ("create snapshot sn1 for t", InputError, "`for table`"),
        ("create snapshot sn1 for table t as of now", InputError, "a string in quotes"),
        ("create snapshot sn1 for table t{snapshot='x'} as of 'y'", InputError, "found 'as'"),
        ("create snapshot sn1 for table t{snap='x'}", InputError, "{snapshot = '...'}"),
        ("drop snapshot sn1", InputError, "`for table`"),
        ("drop snapshot sn1 for table t{snapshot='x'}", InputError, "found '{'"),
        ("show snapshots t", InputError, "the statement's end"),
        ("show snapshots for s", InputError, "`table` and a table"),
        ("restore t", InputError, "`table`"),
        ("restore table t", InputError, "`from snapshot`"),
        ("restore table t from snapshot t", InputError, "{snapshot = '...'}"),
        ("restore table t to 'v1'", InputError, "`version as of`"),
        ("restore table t to version as of current", InputError, "as a literal"),
        ("restore table t to timestamp as of current_date()", UnsupportedError, "as text"),
        ("undrop t", InputError, "`table`"),
        ("undrop table t x", InputError, "found 'x'"),
        ("snapshot", InputError, "`diff`, `merge` or `pick`"),
        ("snapshot t", InputError, "`diff`, `merge` or `pick`"),
        ("snapshot diff a", InputError, "`and`"),
        ("snapshot diff a and", InputError, "the relation to read"),
        ("snapshot diff a and b c", InputError, "a clause of the statement"),
        ("snapshot diff a and b as tall", InputError, "wide, signed, changes or three_way"),
        ("snapshot diff a and b output all", InputError, "rows, count, summary or schema"),
        ("snapshot diff a and b limit -1", InputError, "a whole number"),
        ("snapshot diff a and b limit -1", InputError, "a whole number"),
        ("snapshot diff a and b limit 1 as wide limit 2", InputError, "one clause `limit ...`"),
        ("snapshot diff a and b columns (a.b)", UnsupportedError, "field inside"),
        ("snapshot diff a and b columns ()", InputError, "a column's name"),
        ("snapshot diff a and b where", InputError, "an expression"),
        ("snapshot diff a and b when conflict skip", InputError, "a clause of the statement"),
        ("snapshot merge t from c", InputError, "`table`"),
        ("snapshot merge table t", InputError, "`from`"),
        ("snapshot merge table t{snapshot='x'} from c", InputError, "`from`"),
        (
            "snapshot merge table t from c when conflict",
            InputError,
            "cell_skip or cell_accept",
        ),
        ("snapshot merge table t from c where a", InputError, "a clause of the statement"),
        ("snapshot merge table t from c dry run dry run", InputError, "one clause `dry ...`"),
        ("snapshot pick table t from c", InputError, "found neither"),
        ("snapshot pick table t from c where a keys (1)", InputError, "found both"),
        ("snapshot pick table t from c keys (1), (1, 2)", InputError, "different lengths"),
        ("snapshot pick table t from c keys ()", InputError, "an expression"),
        ("snapshot pick table t from c keys 1", InputError, "'('"),
        ("snapshot pick table t from c keys (select 1), (2)", InputError, "one query"),
        ("snapshot pick table t from c between snapshot a", InputError, "`and`"),
        ("snapshot pick table t from c between a and b", InputError, "`between snapshot`"),
        (
            "snapshot pick table t from c{snapshot='a'} between snapshot a and b",
            InputError,
            "leave its version out",
        ),
        (
            "snapshot pick table t from c based on b between snapshot a and b",
            InputError,
            "leave `based on` out",
        ),
        ("optimize", InputError, "a name"),
        ("optimize t full", InputError, "found 'full'"),
        ("optimize t cluster by a", InputError, "'('"),
        ("optimize t zorder by (a)", UnsupportedError, "cluster by"),
        ("optimize t where a > 1 cluster by (a)", UnsupportedError, "Leave the condition out"),
        (
            "create or replace table if not exists c clone t",
            InputError,
            "exclude each other",
        ),
    ],
)
def test_what_is_refused_says_the_next_step(text: str, error: type, words: str) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert type(caught.value) is error
    assert words in str(caught.value)


def said(diff: DiffReference) -> str:
    """Return a difference in short."""
    tables = [f"{name}@{at.value}" if at else str(name) for name, at in (diff.before, diff.after)]
    more = [",".join(diff.columns)] * bool(diff.columns) + [diff.where] * bool(diff.where)  # type: ignore[list-item]
    return " ".join([*tables, diff.shape, *more])


DIFFS: dict[str, tuple[str, list[str], list[str]]] = {
    "two tables": ("select * from snapshot_diff('s.a', 't')", ["s.a t wide"], []),
    "two versions": (
        "select d.x from t join snapshot_diff('s.t@main~1', \"s.t@main@{2026-11-20 12:00}\") d",
        ["s.t@main~1 s.t@main@{2026-11-20 12:00} wide"],
        ["t"],
    ),
    "options": (
        "select * from (select * from Snapshot_Diff(r'`a@b`.c@x', '`d.e`', shape => 'Signed', "
        "columns => 'a, `b c`', where => 'a > \\'x\\'')), u",
        ["a@b.c@x d.e signed a,b c a > 'x'"],
        ["u"],
    ),
    "in a subquery and a common table expression": (
        "with c as (from snapshot_diff('a', 'b', shape=>'changes')) select * from c "
        "where exists (select 1 from u, snapshot_diff('c', 'd') x)",
        ["a b changes", "c d wide"],
        ["u"],
    ),
    "another function of that name": (
        "select snapshot_diff(a, b), `snapshot_diff`.x from x.snapshot_diff(a), snapshot_diff",
        [],
        ["snapshot_diff"],
    ),
}


@pytest.mark.parametrize("case", DIFFS)
def test_which_differences_a_query_reads(case: str) -> None:
    text, expected, reads = DIFFS[case]
    query = parse(text)
    assert isinstance(query, Query)
    assert [said(diff) for diff in query.diffs] == expected
    assert [told(read).removesuffix("!") for read in query.reads] == reads
    for diff in query.diffs:
        written = text[diff.start : diff.end].lower()
        assert written.startswith("snapshot_diff(") and written.endswith(")")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "found ')', which is not one string literal"),
        ("'a'", "found 1 table"),
        ("'a', 'b', 'c'", "found the further table 'c'"),
        ("''", "found 1 table"),
        ("'a', ''", "found '', which names no table"),
        ("'', 'a', shape => 'three_way'", "a table without rows, which has no base"),
        ("'a', 'b', reader => 't'", "found reader => 't', which has no schema"),
        ("'a', b", "found 'b', which is not one string literal"),
        ("'a', concat('b', 'c')", "not one string literal"),
        ("'a', 'b' 'c'", "not one string literal"),
        ("table(a), 'b'", "not one string literal"),
        ("'a', 'b', shape => wide", "found 'wide', which is not one string literal"),
        ("'a', 'b', shape => 'tall'", "found shape => 'tall'"),
        ("'a', 'b', form => 'wide'", "found `form =>`"),
        ("'a', 'b', shape => 'wide', shape => 'wide'", "found `shape =>` twice"),
        ("'a', shape => 'wide', 'b'", "found the further table 'b'"),
        ("'a@', 'b'", "no revision after the @"),
        ("'a b', 'b'", "names no table"),
        ("'x.y.z', 'b'", "names no table"),
        ("'a', 'b', columns => 'a.b'", "a column of several parts"),
    ],
)
def test_a_difference_of_something_else_is_refused(arguments: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(f"select * from snapshot_diff({arguments}) d")
    assert words in str(caught.value)
    assert "snapshot_diff('schema.table@revision'" in str(caught.value)


def test_a_difference_is_replaced_with_and_without_alias() -> None:
    query = parse("select * from snapshot_diff('a', 'b') join snapshot_diff('c', 'd') as x, t")
    assert isinstance(query, Query)
    places = dict(zip([*query.diffs, *query.reads], ["x.a", "(select 1)", "x.t"], strict=True))
    assert query.rewritten(places) == "select * from x.a join (select 1) as x, x.t as `t`"


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (
            "with c as (from snapshot_diff('a', 'b')) insert into t select * from c",
            Insert,
            "with c as (from X) insert into L select * from c",
        ),
        (
            "update t set n = (select count(*) from snapshot_diff('a', 'b'))",
            Update,
            "(select count(*) from X)",
        ),
        ("delete from t where n in (from snapshot_diff('a', 'b') d)", Delete, "n in (from X d)"),
        (
            "merge into t using (from snapshot_diff('a', 'b')) s on true when matched then delete",
            Merge,
            "from (from X)",
        ),
    ],
)
def test_statements_read_differences_too(text: str, kind: type, expected: str) -> None:
    statement: Any = parse(text)
    assert type(statement) is kind
    (diff,) = statement.diffs
    assert text[diff.start : diff.end] == "snapshot_diff('a', 'b')"
    statement = parse(edited(text, renames({diff: "X"}, text)))
    arguments = {} if kind is Insert else {"columns": [field("n")]}
    assert expected in statement.staged("L", **arguments)
    statement = parse(text)
    if kind is Insert:
        (inner,) = statement.query.diffs
        assert statement.query.text[inner.start : inner.end] == "snapshot_diff('a', 'b')"


def test_other_statements_read_differences() -> None:
    created: Any = parse("create table t as select * from snapshot_diff('a', 'b')")
    assert created.query.rewritten({created.query.diffs[0]: "X"}) == "select * from X"
    explained = parse("explain select * from snapshot_diff('a', 'b')")
    assert isinstance(explained, SparkCommand)
    assert (
        edited(explained.text, renames({explained.diffs[0]: "X"}, explained.text))
        == "explain select * from X"
    )
