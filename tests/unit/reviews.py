"""Reviews made by hand: a usual one, a large one, and one whose every text is hostile."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from dbt.adapters.vcs.changes.diffs.row_facts import (
    ChangedRow,
    ColumnFacts,
    ColumnFigures,
    MovedGroup,
    RowFacts,
)
from dbt.adapters.vcs.changes.merges.approvals import Approval
from dbt.adapters.vcs.changes.merges.contracts import ContractOutcome
from dbt.adapters.vcs.commands.diff_report import ColumnDiff
from dbt.adapters.vcs.commands.review_report import (
    BlockingRun,
    ForetoldConflict,
    GraphEdge,
    GraphNode,
    RelationReview,
    Reproduction,
    Review,
    ReviewedLineage,
    ReviewedSide,
    ReviewVerdict,
    TestOutcome,
)
from dbt.adapters.vcs.core.ids import CommitId

BASE, HEAD = CommitId("3fa91c" + "7" * 58), CommitId("c07de2" + "1" * 58)


def figures(
    rows: int, values: Sequence[float], nulls: int = 0, sum: str | None = None
) -> ColumnFigures:
    return ColumnFigures(
        rows=rows,
        nulls=nulls,
        sum=sum,
        quantiles=tuple(values),
        quantile_texts=tuple(f"{value:g}" for value in values),
    )


def review(**changes: Any) -> Review:
    """Return a review with nothing in it but what is given."""
    given: dict[str, Any] = {
        "repository": "s3://lake/warehouse",
        "base": ReviewedSide(revision="main", commit=BASE, git_sha="91b2c4d", summary="dbt build"),
        "head": ReviewedSide(
            revision="feature/tax",
            commit=HEAD,
            git_sha="d4e5f60",
            summary="Charge the reduced tax rate on books",
        ),
        "before": BASE,
        "merge_base": BASE,
        "created_at": "2026-11-27T09:30:00+00:00",
        "verdict": ReviewVerdict(can_merge=True, how="fast_forward"),
        "reproduce": Reproduction(
            diff="dbt-vcs diff 3fa91c777777...c07de2111111",
            merge="dbt-vcs merge feature/tax main",
            revert="dbt-vcs revert c07de2111111 --branch main",
        ),
    }
    return Review(**(given | changes))


def usual() -> Review:
    """Return a review as people have them."""
    chance = random.Random(7)
    categories = ("books", "music", "garden", "toys", None)
    rows = []
    for number in range(412):
        key, old = str(10_000 + 7 * number), chance.uniform(5, 90)
        category = categories[min(chance.randrange(9), 4) if number % 3 else 0]
        new = old * 1.07 / 1.19
        if number % 40 == 13:
            cells = (key, "2026-11-24", category, f"{old:.2f}", f"{new * 0.07:.2f}", None)
            rows.append(ChangedRow(how="added", before=None, after=cells))
        elif number % 57 == 5:
            cells = (key, "2026-10-02", category, f"{old:.2f}", f"{old * 0.19:.2f}", "late")
            rows.append(ChangedRow(how="removed", before=cells, after=None))
        else:
            noted = number % 90 == 3
            before = (key, "2026-11-20", category, f"{old:.2f}", f"{old * 0.19:.2f}", None)
            after = (
                *(key, "2026-11-20", category, f"{new:.2f}", f"{new * 0.07:.2f}"),
                "tax corrected" if noted else None,
            )
            changed = (3, 4, 5) if noted else (3, 4)
            rows.append(ChangedRow(how="modified", before=before, after=after, changed=changed))
    orders = RowFacts(
        columns=(
            ColumnFacts(
                name="order_id",
                type="bigint",
                kind="number",
                is_key=True,
                cells_changed=0,
                before=figures(60_120, (1, 6000, 15_000, 30_100, 45_000, 54_000, 60_120), 0),
                after=figures(60_122, (1, 6000, 15_000, 30_100, 45_000, 54_000, 60_122), 0),
            ),
            ColumnFacts(
                name="ordered_at", type="date", kind="time", is_key=False, cells_changed=0
            ),
            ColumnFacts(
                name="category",
                type="string",
                kind="text",
                is_key=False,
                cells_changed=0,
                before=ColumnFigures(rows=60_120, nulls=1_204),
                after=ColumnFigures(rows=60_122, nulls=1_206),
            ),
            ColumnFacts(
                name="gross_amount",
                type="decimal(12,2)",
                kind="number",
                is_key=False,
                cells_changed=394,
                before=figures(60_120, (0.5, 9, 21, 44, 67, 84, 120), 0, "2671034.18"),
                after=figures(60_122, (0.5, 8, 19, 41, 63, 80, 118), 0, "2652871.90"),
            ),
            ColumnFacts(
                name="tax",
                type="decimal(12,2)",
                kind="number",
                is_key=False,
                cells_changed=394,
                before=figures(60_120, (0.1, 1.7, 4, 8.4, 12.7, 16, 22.8), 0, "507496.49"),
                after=figures(60_122, (0.03, 0.6, 1.3, 2.9, 9.4, 13, 21), 0, "402214.07"),
            ),
            ColumnFacts(
                name="note",
                type="string",
                kind="text",
                is_key=False,
                cells_changed=5,
                before=ColumnFigures(rows=60_120, nulls=60_113),
                after=ColumnFigures(rows=60_122, nulls=60_108),
            ),
        ),
        heads=("order_id", "ordered_at", "category", "gross_amount", "tax", "note"),
        key=1,
        groups=(
            MovedGroup(
                column="category", value="books", added=6, removed=4, modified=171, share=0.44
            ),
            MovedGroup(
                column="ordered_at",
                value="2026-11-20",
                added=0,
                removed=0,
                modified=394,
                share=0.956,
            ),
            MovedGroup(
                column="category", value=None, added=2, removed=1, modified=118, share=0.294
            ),
        ),
        sample=(rows[3], rows[13], rows[5], *rows[14:20], rows[93]),
        rows=tuple(rows),
    )
    sql = (
        "--- main\n+++ feature/tax\n@@ -4,9 +4,9 @@\n select\n     order_id,\n     ordered_at,\n"
        "     category,\n-    net_amount * 1.19 as gross_amount,\n-    net_amount * 0.19 as tax\n"
        "+    net_amount * (1 + rate) as gross_amount,\n+    net_amount * rate as tax,\n"
        "+    note\n from {{ ref('stg_orders') }}\n+join {{ ref('tax_rates') }} using (category)\n"
    )
    relations = (
        RelationReview(
            name="analytics.orders",
            kind="table",
            change="modified",
            cause="sql",
            node="model.shop.orders",
            rows_before=60_120,
            rows_after=60_122,
            added=10,
            removed=8,
            modified=394,
            share=0.00685,
            schema=(ColumnDiff(kind="added", column="note", before=None, after="string"),),
            facts=orders,
            text_diff=sql,
            command="dbt-vcs diff main...feature/tax analytics.orders --limit 0",
        ),
        RelationReview(
            name="analytics.daily_revenue",
            kind="table",
            change="modified",
            cause="inputs",
            node="model.shop.daily_revenue",
            rows_before=730,
            rows_after=730,
            modified=31,
            share=31 / 730,
            facts=RowFacts(
                columns=(
                    ColumnFacts(
                        name="day", type="date", kind="time", is_key=True, cells_changed=0
                    ),
                    ColumnFacts(
                        name="revenue",
                        type="decimal(18,2)",
                        kind="number",
                        is_key=False,
                        cells_changed=31,
                        before=figures(
                            730, (90, 800, 2100, 3500, 4600, 5300, 7100), 0, "2671034.18"
                        ),
                        after=figures(
                            730, (90, 800, 2050, 3480, 4580, 5290, 7100), 0, "2652871.90"
                        ),
                    ),
                ),
                heads=("day", "revenue"),
                key=1,
                sample=tuple(
                    ChangedRow(
                        how="modified",
                        before=(f"2026-11-{day:02}", f"{3500 + 91 * day}.00"),
                        after=(f"2026-11-{day:02}", f"{3480 + 87 * day}.50"),
                        changed=(1,),
                    )
                    for day in range(1, 6)
                ),
            ),
            command="dbt-vcs diff main...feature/tax analytics.daily_revenue --limit 0",
        ),
        RelationReview(
            name="seeds.tax_rates",
            kind="seed",
            change="added",
            cause="data",
            node="seed.shop.tax_rates",
            rows_after=4,
            added=4,
            share=1.0,
            facts=RowFacts(
                columns=(
                    ColumnFacts(
                        name="category", type="string", kind="text", is_key=False, cells_changed=0
                    ),
                ),
                heads=("category", "rate"),
                sample=tuple(
                    ChangedRow(how="added", before=None, after=(name, rate))
                    for name, rate in (("books", "0.07"), ("music", "0.19"), ("garden", "0.19"))
                ),
            ),
            command="dbt-vcs diff main...feature/tax seeds.tax_rates --limit 0",
        ),
        RelationReview(
            name="analytics.open_orders",
            kind="view",
            change="modified",
            cause="sql",
            node="model.shop.open_orders",
            text_diff="@@ -1,2 +1,2 @@\n select * from analytics.orders\n-where paid is null\n"
            "+where paid_at is null\n",
            command="dbt-vcs show feature/tax analytics.open_orders",
        ),
    )
    names = {
        "raw.orders": "reused",
        "raw.customers": "reused",
        "analytics.stg_orders": "reused",
        "seeds.tax_rates": "changed",
        "analytics.orders": "changed",
        "analytics.open_orders": "changed",
        "analytics.daily_revenue": "affected",
        "marts.revenue_by_region": "affected",
    }
    edges = (
        ("raw.orders", "analytics.stg_orders"),
        ("analytics.stg_orders", "analytics.orders"),
        ("seeds.tax_rates", "analytics.orders"),
        ("analytics.orders", "analytics.open_orders"),
        ("analytics.orders", "analytics.daily_revenue"),
        ("analytics.daily_revenue", "marts.revenue_by_region"),
        ("raw.customers", "marts.revenue_by_region"),
    )
    return review(
        verdict=ReviewVerdict(
            can_merge=False,
            how="merge",
            reasons=("main asks for an approval, and no approval names these versions.",),
            warnings=("The files of the project differed from the git commit.",),
            tests=(
                TestOutcome(
                    name="test.shop.unique_orders_order_id.fed79b3a6e",
                    state="passed",
                    relations=("analytics.orders",),
                ),
                TestOutcome(
                    name="test.shop.not_null_daily_revenue_revenue.27d3",
                    state="not_run",
                    relations=("analytics.daily_revenue",),
                ),
            ),
            untested=("seeds.tax_rates",),
            contracts=(
                ContractOutcome(
                    relation="analytics.orders",
                    contract="no_removed",
                    is_met=False,
                    limit="0 rows",
                    found="8 rows",
                    text="8 rows were removed, order_id 10035 to 10434.",
                ),
                ContractOutcome(
                    relation="analytics.orders", contract="max_change_ratio", is_met=True
                ),
            ),
            requires=("tests", "approval"),
            stale=("marts.revenue_by_region",),
        ),
        relations=relations,
        rewritten=3,
        schemas=("added seeds",),
        lineage=ReviewedLineage(
            nodes=tuple(
                GraphNode(name=name, kind="table", state=state)  # type: ignore[arg-type]
                for name, state in names.items()
            ),
            edges=tuple(GraphEdge(source=a, target=b) for a, b in edges),
            paths=(
                ("seeds.tax_rates", "analytics.orders"),
                ("analytics.orders", "analytics.daily_revenue"),
                ("analytics.orders", "analytics.daily_revenue", "marts.revenue_by_region"),
            ),
        ),
    )


def large(tables: int, columns: int, rows: int) -> Review:
    """Return a review of that many tables with that many columns and changed rows in all."""
    chance = random.Random(11)
    wide, tall = max(2, columns // tables), max(1, rows // tables)
    heads = ("id", *(f"column_{number}" for number in range(1, wide)))
    relations = []
    for number in range(tables):
        count = max(1, round(tall * math.exp(chance.gauss(0, 0.6))))
        facts = RowFacts(
            columns=tuple(
                ColumnFacts(
                    name=name,
                    type="bigint",
                    kind="number",
                    is_key=name == "id",
                    cells_changed=0 if name == "id" else chance.randrange(count + 1),
                    before=figures(
                        10 * count, sorted(chance.uniform(0, 100) for _ in range(7)), 0, "1234567"
                    ),
                    after=figures(
                        10 * count, sorted(chance.uniform(0, 110) for _ in range(7)), 9, "1239999"
                    ),
                )
                for name in heads
            ),
            heads=heads,
            key=1,
            rows=tuple(
                ChangedRow(
                    how="modified",
                    before=(str(key), *(str(key + place) for place in range(1, wide))),
                    after=(str(key), *(str(key - place) for place in range(1, wide))),
                    changed=tuple(range(1, wide)),
                )
                for key in range(tall)
            ),
        )
        facts = dataclasses.replace(facts, sample=facts.rows[:20])
        relations.append(
            RelationReview(
                name=f"area_{number % 12}.model_{number:03}",
                kind="table",
                change="modified",
                cause=("sql", "inputs", "data")[number % 3],  # type: ignore[arg-type]
                rows_before=10 * count,
                rows_after=10 * count,
                modified=count,
                share=min(1.0, 0.1 * chance.random() ** 3),
                facts=facts,
                text_diff="@@ -1 +1 @@\n-select 1\n+select 2\n" if number % 3 == 0 else "",
                command=f"dbt-vcs diff main...dev area_{number % 12}.model_{number:03} --limit 0",
            )
        )
    names = [relation.name for relation in relations]
    edges = []
    for number, name in enumerate(names[20:], 20):
        edges += [(names[max(0, chance.randrange(number // 3, number - 8))], name)]
        if number % 9 == 0:
            edges.append((f"raw.source_{number % 40:02}", name))
    sources = sorted({a for a, _ in edges} - set(names))
    return review(
        relations=tuple(relations),
        lineage=ReviewedLineage(
            nodes=(
                *(GraphNode(name=name, kind="table", state="reused") for name in sources),
                *(
                    GraphNode(
                        name=relation.name,
                        kind="table",
                        state="affected" if relation.cause == "inputs" else "changed",
                    )
                    for relation in relations
                ),
            ),
            edges=tuple(GraphEdge(source=a, target=b) for a, b in sorted(set(edges))),
        ),
    )


def hostile(text: str) -> Review:
    """Return a review with a text in the place of every text that a user may choose."""
    full = _with_everything(usual())
    return _replaced(full, text)  # type: ignore[no-any-return]


_AT = datetime(2026, 11, 27, tzinfo=timezone.utc)


def _with_everything(found: Review) -> Review:
    verdict = dataclasses.replace(
        found.verdict,
        conflicts=(ForetoldConflict(relation="x", kind="rows", rows=3, text="x"),),
        approvals=(
            Approval(author="x", at=datetime(2026, 11, 27, tzinfo=timezone.utc), note="x"),
        ),
        runs=(BlockingRun(invocation="x", status="failed", target="x", note="x", command="x"),),
    )
    first, *others = found.relations
    facts = dataclasses.replace(first.facts, is_complete=False, rows=first.facts.rows[:20])
    columns = tuple(
        dataclasses.replace(column, note="x", masked=False) for column in facts.columns
    )
    first = dataclasses.replace(
        first,
        change="renamed",
        old_name="x",
        settings=("x",),
        text_note="x",
        note="x",
        hidden=("x",),
        masked=("x",),
        facts=dataclasses.replace(facts, columns=columns),
    )
    return dataclasses.replace(found, verdict=verdict, relations=(first, *others))


# What only the program writes: words that the value's type lists.
_FIXED = {"kind", "change", "cause", "state", "how", "status", "contract", "requires"}


def _replaced(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return text
    if isinstance(value, tuple):
        return tuple(_replaced(item, text) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return type(value)(
            **{
                name: item if name in _FIXED else _replaced(item, text)
                for name, item in fields.items()
            }
        )
    return value
