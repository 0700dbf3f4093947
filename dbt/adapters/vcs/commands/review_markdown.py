"""A review as Markdown: a comment that a host of pull requests shows.

Names and values of rows come from anywhere, so none of them may become markup, a link or a
mention of somebody: they are in `<code>`, with everything but letters and digits as entities.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from dbt.adapters.vcs.changes.diffs.row_facts import ChangedRow, ColumnFacts, ColumnFigures
from dbt.adapters.vcs.commands.review_report import NodeState, RelationReview, Review

LIMIT: Final = 65_000
"""Characters of the text, at most: hosts of pull requests take 65,536."""

# What is left for the parts that every review has.
_DETAILS: Final = 40_000
_PART: Final = 14_000
_LISTED: Final = 100
_NODES: Final = 60
_ROWS: Final = 20
_CELLS: Final = 8
_CELL: Final = 80
_TEXT_DIFF: Final = 8_000

_MARKS: Final = {True: "✅", False: "❌"}
_STATES: Final[dict[NodeState, str]] = {
    "changed": "fill:#ffe8cc,stroke:#d9480f,color:#212529",
    "affected": "fill:#e7f5ff,stroke:#1971c2,color:#212529",
    "reused": "fill:#f1f3f5,stroke:#868e96,color:#212529",
}


def markdown(review: Review, limit: int = LIMIT) -> str:
    """Return a review as Markdown, of so many characters at most, and not less than 45,000.

    What doesn't fit is left out from the end of the relations, and the text says how many.
    """
    head = "\n".join((*_bounded(_head(review), _PART), *_bounded(_relations(review), _PART)))
    graph = "\n".join(_lineage(review))
    if len(graph) > _PART:
        graph = "### Lineage\n\n_The graph is too large for a comment._\n"
    foot = "\n".join((graph, *_bounded(_reproduction(review), _PART)))
    left = min(_DETAILS, limit - len(head) - len(foot) - 500)
    details: list[str] = []
    for number, item in enumerate(review.relations):
        text = "\n".join(_details(item))
        left -= len(text) + 1
        if left < 0:
            more = len(review.relations) - number
            details.append(
                f"\n_Details of {more} more are left out, since a comment holds no more. The "
                "whole review: the same command with `--format json`._\n"
            )
            break
        details.append(text)
    return "\n".join([head, *details, foot]).strip() + "\n"


def _head(review: Review) -> Iterator[str]:
    verdict = review.verdict
    yield f"## Review of {as_code(review.head.revision)} for {as_code(review.base.revision)}\n"
    if verdict.can_merge:
        how = {"up_to_date": "there is nothing to merge", "fast_forward": "a fast-forward"}
        yield f"{_MARKS[True]} **Can be merged**: {how.get(verdict.how, 'a merge')}.\n"
    else:
        yield f"{_MARKS[False]} **Can't be merged** as things are.\n"
    for text in verdict.reasons:
        yield f"- {_sentence(text)}"
    for item in verdict.conflicts[:_LISTED]:
        yield f"- Conflict: {_sentence(item.text)}"
    for text in verdict.warnings:
        yield f"- ⚠️ {_sentence(text)}"
    for contract in verdict.contracts[:_LISTED]:
        if not contract.is_met:
            yield (
                f"- Contract {as_code(contract.contract)} of {as_code(contract.relation)} is "
                f"broken: {_sentence(contract.text)}"
            )
    yield from _tests(review)
    for approval in verdict.approvals:
        yield f"- Approved by {as_code(approval.author)} at {approval.at:%Y-%m-%d %H:%M} UTC"
    yield ""


def _bounded(lines: Iterable[str], most: int) -> Iterator[str]:
    """Yield lines as far as they fit, and say so if there are more."""
    for text in lines:
        most -= len(text) + 1
        if most < 0:
            yield "\n_More is left out, since a comment holds no more._\n"
            return
        yield text


def _tests(review: Review) -> Iterator[str]:
    tests = review.verdict.tests
    if tests:
        counts = dict.fromkeys(("passed", "failed", "not_run"), 0)
        for item in tests:
            counts[item.state] += 1
        yield (
            f"- Tests on exactly these versions: {counts['passed']} passed, {counts['failed']} "
            f"failed, {counts['not_run']} not run"
        )
    untested = review.verdict.untested
    if untested:
        yield f"- No test has seen {_listed(untested)}"


def _relations(review: Review) -> Iterator[str]:
    if not review.relations:
        yield "No rows and no definitions differ.\n"
        return
    yield "| relation | change | cause | rows | added | removed | modified | share |"
    yield "|---|---|---|--:|--:|--:|--:|--:|"
    for item in review.relations[:_LISTED]:
        most = "" if item.is_exact else "≤ "
        numbers = (
            [f"{most}{number:,}" for number in (item.added, item.removed, item.modified)]
            if item.rows_before is not None or item.rows_after is not None
            else ["", "", ""]
        )
        share = "" if item.share is None else f"{most}{_percent(item.share)}"
        yield (
            f"| {_name(item)} | {item.change} {item.kind} | {item.cause} | {_rows(item)} | "
            f"{' | '.join(numbers)} | {share} |"
        )
    more = len(review.relations) - _LISTED
    if more > 0:
        yield f"\n_{more} more relations differ._"
    yield ""


def _name(item: RelationReview) -> str:
    if item.old_name is None:
        return as_code(item.name)
    return f"{as_code(item.old_name)} → {as_code(item.name)}"


def _rows(item: RelationReview) -> str:
    before, after = item.rows_before, item.rows_after
    if before is None or after is None:
        found = after if before is None else before
        return "" if found is None else f"{found:,}"
    return f"{after:,}" if before == after else f"{before:,} → {after:,}"


def _percent(share: float) -> str:
    return f"{share:.2%}" if 0 < share < 0.1 else f"{share:.0%}"


def _details(item: RelationReview) -> Iterator[str]:
    parts = [
        *_columns(item),
        *_groups(item),
        *_sample(item),
        *_text_diff(item),
        *((_sentence(item.note) + "\n",) if item.note else ()),
        *_secrets(item),
    ]
    if not parts:
        return
    yield f"<details><summary>{_name(item)}</summary>\n"
    yield from parts
    yield f"All rows: {as_code(item.command)}\n"
    yield "</details>\n"


def _columns(item: RelationReview) -> Iterator[str]:
    for column in item.schema:
        values = " → ".join(
            "nothing" if value is None else as_code(value)
            for value in (column.before, column.after)
        )
        yield f"- {as_code(column.column)} {column.kind}: {values}"
    for setting in item.settings:
        yield f"- {as_code(setting)} changed"
    if item.schema or item.settings:
        yield ""
    facts = item.facts.columns
    changed = [f for f in facts if f.cells_changed or f.change_before != f.change_after]
    if changed:
        yield "| column | cells changed | NULLs | sum |"
        yield "|---|--:|--:|--:|"
        yield from map(_column, changed)
        yield ""


def _column(fact: ColumnFacts) -> str:
    start = f"| {as_code(fact.name)} | {fact.cells_changed:,} |"
    if fact.masked:
        return f"{start} masked | masked |"
    nulls = _figure(fact, lambda side: None if side.nulls is None else f"{side.nulls:,}")
    return f"{start} {nulls} | {_figure(fact, lambda side: side.sum)} |"


def _figure(fact: ColumnFacts, read: Callable[[ColumnFigures], str | None]) -> str:
    """Return a figure before and after: of the whole table, else of the rows that changed."""

    def texts(*sides: ColumnFigures | None) -> list[str | None]:
        return [None if side is None else read(side) for side in sides]

    whole = texts(fact.before, fact.after)
    # A column that one version lacks has figures on the other side only, and no note.
    if all(text is not None for text in whole) or not fact.note:
        return _change(whole)
    changed = _change(texts(fact.change_before, fact.change_after))
    return f"{changed} in changed rows" if changed else ""


def _change(texts: Sequence[str | None]) -> str:
    before, after = (text or "none" for text in texts)
    if not any(texts):
        return ""
    return after if before == after else f"{before} → {after}"


def _groups(item: RelationReview) -> Iterator[str]:
    for group in item.facts.groups:
        yield (
            f"- {as_code(group.column)} = {_cell(group.value)}: {_percent(group.share)} of the "
            f"change (+{group.added:,} -{group.removed:,} ~{group.modified:,})"
        )
    if item.facts.groups:
        yield ""


def _sample(item: RelationReview) -> Iterator[str]:
    facts = item.facts
    if not facts.sample:
        return
    heads = [as_code(name) for name in facts.heads[: facts.key]]
    yield f"| | {' | '.join([*heads, 'values'])} |"
    yield f"|---|{'---|' * (facts.key + 1)}"
    for row in facts.sample[:_ROWS]:
        key = [_key_cell(row, place) for place in range(facts.key)]
        yield f"| {row.how} | {' | '.join([*key, _values(row, facts.heads, facts.key)])} |"
    yield ""


def _key_cell(row: ChangedRow, place: int) -> str:
    before, after = row.before, row.after
    if before is not None and after is not None and place in row.changed:
        return f"{_cell(before[place])} → {_cell(after[place])}"
    shown = before if after is None else after
    assert shown is not None
    return _cell(shown[place])


def _values(row: ChangedRow, heads: Sequence[str], key: int) -> str:
    """Return the cells that changed; of a row that is only on one side, the first ones."""
    if row.before is not None and row.after is not None:
        places = [place for place in row.changed if place >= key]
        texts = [
            f"{as_code(heads[place])} {_cell(row.before[place])} → {_cell(row.after[place])}"
            for place in places[:_CELLS]
        ]
    else:
        shown = row.before if row.after is None else row.after
        assert shown is not None
        places = list(range(key, len(heads)))
        texts = [f"{as_code(heads[place])} {_cell(shown[place])}" for place in places[:_CELLS]]
    more = len(places) - len(texts)
    return "<br>".join([*texts, *([f"and {more} more"] if more else [])])


def _text_diff(item: RelationReview) -> Iterator[str]:
    if item.text_note:
        yield f"{_sentence(item.text_note)}\n"
    if not item.text_diff:
        return
    text = item.text_diff
    cut = len(text) > _TEXT_DIFF
    yield fenced("diff", text[:_TEXT_DIFF].splitlines())
    if cut:
        yield "_The rest is left out._\n"


def _secrets(item: RelationReview) -> Iterator[str]:
    for what, names in (("Hidden", item.hidden), ("Masked", item.masked)):
        if names:
            yield f"{what} by the project: {_listed(names)}. SQL texts are shown as they are.\n"


def _lineage(review: Review) -> Iterator[str]:
    graph = review.lineage
    if not graph.edges:
        return
    yield "### Lineage\n"
    if len(graph.nodes) > _NODES:
        yield f"_The graph has {len(graph.nodes)} relations, which is too many for a comment._\n"
        return
    numbers = {node.name: f"n{place}" for place, node in enumerate(graph.nodes)}
    lines = ["graph LR"]
    for node in graph.nodes:
        lines.append(f'  {numbers[node.name]}["{_mermaid(node.name)}"]:::{node.state}')
    for edge in graph.edges:
        lines.append(f"  {numbers[edge.source]} --> {numbers[edge.target]}")
    lines += [f"  classDef {state} {style}" for state, style in _STATES.items()]
    yield fenced("mermaid", lines)


def _reproduction(review: Review) -> Iterator[str]:
    yield "### Reproduce\n"
    commands = (review.reproduce.diff, review.reproduce.merge, review.reproduce.revert)
    yield fenced("sh", [command for command in commands if command])
    for what, side in (("base", review.base), ("head", review.head)):
        git = f", git {as_code(side.git_sha)}" if side.git_sha else ""
        yield f"- {what}: {as_code(side.commit)}{git}"


_PLAIN: Final = re.compile(r"[A-Za-z0-9 ,-]")
_LABEL: Final = re.compile(r"[^A-Za-z0-9_. ]")


def visible(text: str) -> str:
    """Return a text without characters that are invisible or turn the direction of others."""
    return "".join(
        char if unicodedata.category(char)[0] not in "CZ" or char == " " else f"\\u{ord(char):04x}"
        for char in text
    )


def as_code(text: str, most: int = 300) -> str:
    """Return a name as code; none of its characters means anything in Markdown or HTML."""
    shown = visible(text[:most]) + ("…" if len(text) > most else "")
    return f"<code>{_entities(shown)}</code>"


def _entities(text: str) -> str:
    return "".join(
        char if _PLAIN.match(char) or ord(char) > 127 else f"&#{ord(char)};" for char in text
    )


def _cell(value: str | None) -> str:
    return "NULL" if value is None else as_code(value, _CELL)


def _sentence(text: str) -> str:
    """Return a message: names in it come from people, too."""
    # A host links `@name` and `#1` in prose, whatever they are written as.
    if "@" in text or "#" in text:
        return as_code(text, 1_000)
    return _entities(visible(text[:1_000]))


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - 10} more" if len(found) > 10 else ""
    return ", ".join(map(as_code, found[:10])) + more


def _mermaid(text: str) -> str:
    return _LABEL.sub(lambda found: f"#{ord(found[0])};", visible(text[:100]))


def fenced(language: str, lines: Iterable[str]) -> str:
    """Return lines as a block of code, which nothing in them ends."""
    shown = [visible(line.replace("\t", "    ")) for line in lines]
    # A fence ends only at one as long as itself.
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *shown, fence, ""])
