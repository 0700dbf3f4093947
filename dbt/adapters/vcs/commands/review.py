"""`dbt-vcs review`: what a branch changes, as something to read before it is merged."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import msgspec

from dbt.adapters.vcs.changes.diffs.row_facts import ColumnPatterns
from dbt.adapters.vcs.changes.diffs.summaries import how_changed
from dbt.adapters.vcs.commands.diff import read_ends, resolved
from dbt.adapters.vcs.commands.layout import Block, counted, line, size
from dbt.adapters.vcs.commands.options import chosen_options, with_words
from dbt.adapters.vcs.commands.output import json_lines, print_lines, whole_file
from dbt.adapters.vcs.commands.review_report import (
    RelationReview,
    Reproduction,
    Review,
    ReviewedSide,
    ReviewVerdict,
)
from dbt.adapters.vcs.commands.reviewed_relations import (
    ALL_BYTES,
    BYTES,
    RelationPair,
    RelationReader,
    lineage_of,
    paired,
    whole_tables,
)
from dbt.adapters.vcs.commands.revisions import named_branch
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, rows_limit, verb
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.resolver import parse_range
from dbt.adapters.vcs.workspace.run_branch import run_of

if TYPE_CHECKING:
    from dbt.adapters.vcs.commands.merge import MergeRequest

SAMPLE: Final = 20
"""Rows of a relation's sample."""

_MOST_COMMITS: Final = 100
"""Newest commits that are looked through for the project's commit of git."""

_DIGITS: Final = 16
"""Digits of a commit in commands, so that none is ever taken for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    """What a review is made of, besides the two sides.

    Attributes:
        rules: What the project says of merges; None if it says nothing.
        limit: Rows of each relation, at most; None for as many as fit.
        options: What commands take to find the repository, each option after a space.
    """

    rules: MergeRequest | None = None
    patterns: ColumnPatterns = field(default_factory=ColumnPatterns)
    limit: int | None = None
    options: str = ""


def review(
    repository: Repository,
    base: str,
    head: str,
    request: ReviewRequest | None = None,
    *,
    from_merge_base: bool = True,
) -> Review:
    """Return the review of what a revision changes; starts no Java.

    It costs as much as the change: manifests and the rows that differ are read. Small tables are
    also read as a whole, for figures of all their rows.

    Args:
        base: The revision that the changes would go to.
        head: The revision with the changes.
        request: What else to know; None for the defaults.
        from_merge_base: Compare with where the head left the base (`A...B`), not with the base.

    Raises:
        NotFoundError: There is no such revision, or no common history.
        InputError: A text is no revision.
        DamagedError: A tree is damaged.
    """
    # Merges take pyarrow, which takes longer to load than `--help` may take in all.
    from dbt.adapters.vcs.commands.merge import MergeRequest
    from dbt.adapters.vcs.commands.review_verdict import verdict_of

    request = request or ReviewRequest()
    rules = request.rules or MergeRequest()
    ours, theirs = repository.resolve(base), repository.resolve(head)
    merge_base = repository.merge_base(ours, theirs)
    before = ours
    if from_merge_base:
        before, _ = resolved(repository, read_ends(repository, (f"{base}...{head}",), base))
    found = repository.diff(before, theirs)
    items = paired(repository, found.relations)
    commits = f"{before[:_DIGITS]}..{theirs[:_DIGITS]}"
    diff = f"dbt-vcs diff {commits}"
    relations = _relations(repository, items, diff, request)
    changed = [item.name for item in found.relations]
    verdict = verdict_of(repository, base, head, changed, rules, request.options, request.patterns)
    damaged = tuple(f"{item.name}: {item.note}" for item in relations if item.cause == "unknown")
    own = request.options.strip()
    verdict = replace(
        verdict,
        reasons=tuple(with_words(text, own) for text in verdict.reasons),
        warnings=tuple(with_words(text, own) for text in (*verdict.warnings, *damaged)),
    )
    touched = {item.name for item in relations}
    return Review(
        repository=repository.uri,
        base=_side(repository, base, ours),
        head=_side(repository, head, theirs),
        before=before,
        merge_base=merge_base,
        created_at=datetime_of(repository.clock()).isoformat(),
        verdict=verdict,
        relations=tuple(sorted(relations, key=_by_change)),
        rewritten=sum(str(item.name) not in touched for item in items),
        schemas=tuple(
            f"{how_changed(change.old, change.new)} {change.name}" for change in found.schemas
        ),
        lineage=lineage_of(
            repository,
            (repository.tree(before), repository.tree(theirs)),
            relations,
            verdict.stale,
        ),
        reproduce=_commands(
            repository, (base, head), diff, verdict, rules.protection, request.options
        ),
    )


def _by_change(item: RelationReview) -> tuple[int, str]:
    return -(item.added + item.removed + item.modified), item.name


def _relations(
    repository: Repository, items: list[RelationPair], diff: str, request: ReviewRequest
) -> list[RelationReview]:
    if not items:
        return []
    # Whoever asks for help waits neither for pyarrow nor for DuckDB.
    from dbt.adapters.vcs.changes.diffs.row_measures import Wishes
    from dbt.adapters.vcs.engines.local_session import LocalSession

    whole = whole_tables(repository, items)
    wishes = Wishes(sample=SAMPLE, bytes=min(BYTES, ALL_BYTES // len(items)), rows=request.limit)
    with LocalSession(repository.blobs) as session:
        reader = RelationReader(
            repository=repository,
            session=session,
            patterns=request.patterns,
            wishes=wishes,
            diff=diff,
            options=request.options,
        )
        found = (reader.review(item, whole=item.name in whole) for item in items)
        return [item for item in found if item is not None]


def _side(repository: Repository, revision: str, commit: CommitId) -> ReviewedSide:
    recent = (item for _, item in islice(repository.log(commit), _MOST_COMMITS))
    built = (item.run.git_sha for item in recent if item.run and item.run.git_sha)
    return ReviewedSide(
        revision=revision,
        commit=commit,
        git_sha=next(built, None),
        summary=repository.objects.commit(commit).summary,
    )


def _commands(
    repository: Repository,
    sides: tuple[str, str],
    diff: str,
    verdict: ReviewVerdict,
    protection: Protection | None,
    options: str,
) -> Reproduction:
    base, head = sides
    branch = named_branch(repository, base)
    if branch is None or verdict.how in ("up_to_date", "unknown"):
        return Reproduction(diff=f"{diff}{options}")
    target = shlex.quote(branch.name)
    source = named_branch(repository, head)
    is_run = source is not None and run_of(source) is not None
    # What was reviewed is merged, even if the branch has moved on. A run is published by its name,
    # and an approval is for a branch: it is over if the branch moves.
    is_named = is_run or "approval" in verdict.requires
    what = shlex.quote(head) if is_named else repository.resolve(head)[:_DIGITS]
    if branch.assuming(protection).protection is not None:
        # Such a branch takes only promotions, and no revert.
        return Reproduction(
            diff=f"{diff}{options}", merge=f"dbt-vcs promote {what} {target}{options}"
        )
    undo = f"revert {target}"
    if verdict.how == "fast_forward" and not is_run:
        # The branch just moves: there is no commit of the merge to revert.
        undo = f"restore --all --to {branch.head[:_DIGITS]}"
    return Reproduction(
        diff=f"{diff}{options}",
        merge=f"dbt-vcs merge {what} {target}{options}",
        revert=f"dbt-vcs {undo} --branch {target}{options}",
    )


Format: TypeAlias = Literal["html", "markdown", "json"]

PAGE: Final = "review.html"
_SUFFIXES: Final[dict[str, Format]] = {".md": "markdown", ".json": "json"}


@verb(prints_json=False)
def review_command(
    session: CommandSession,
    revisions: Annotated[str, Option(metavar="BASE...HEAD")],
    *,
    format: Annotated[
        Format | None, Option("The form of the review; by default what FILE ends in, else html.")
    ] = None,
    output: Annotated[
        str | None,
        Option(
            "The file to write; - for standard output. By default review.html for a page, and "
            "standard output for the other forms.",
            "-o",
            metavar="FILE",
        ),
    ] = None,
    limit: Annotated[int, rows_limit("Rows of each relation")] = 0,
) -> None:
    """Review what a branch changes before it is merged.

    Shows whether HEAD can be merged into BASE, and how each relation differs and why: rows,
    columns, the rows that changed most surprisingly, SQL, lineage. BASE...HEAD compares HEAD with
    the point where it forked from BASE; BASE..HEAD with BASE itself. No Java is started. Columns
    that vcs.yml or the columns' meta keep out of reviews are left out.
    """
    found = review_of(session, revisions, limit)
    form = format or _SUFFIXES.get(Path(output or PAGE).suffix.lower(), "html")
    text = _rendered(found, form)
    output = output or (PAGE if form == "html" else "-")
    if output == "-":
        session.progress.end()
        # Not `splitlines`, which also parts a line at characters that a value may have.
        print_lines(text.removesuffix("\n").split("\n"))
        return
    write_review(output, text)
    session.say(written_text(found, output))


def review_of(session: CommandSession, revisions: str, limit: int = 0) -> Review:
    """Return the review of `BASE...HEAD` by the rules of the session's project.

    Raises what `review` raises, and:
        InputError: The text is no such range.
    """
    repository = session.repository
    ends = read_ends(repository, (revisions,), session.branch)
    is_range = not repository.is_known(revisions) and parse_range(revisions) is not None
    if ends.tables or not is_range:
        raise InputError(
            f"Expected BASE...HEAD, found {revisions!r}. For what a branch changes: "
            "dbt-vcs review main...BRANCH"
        )
    base = ends.without_merge_base().before
    request = replace(review_request(session, base), limit=limit or None)
    return review(repository, base, ends.after, request, from_merge_base=ends.before != base)


def review_request(session: CommandSession, base: str) -> ReviewRequest:
    """Return what a project says of merges into a branch, and of columns that stay out.

    Raises:
        InputError: A file of the project can't be read, or says something else.
    """
    from dbt.adapters.vcs.commands.merge import merge_request

    options = chosen_options(session.settings)
    return ReviewRequest(
        rules=merge_request(session, base),
        patterns=column_patterns(session),
        options=f" {options}" if options else "",
    )


def _rendered(found: Review, form: Format) -> str:
    if form == "json":
        return "\n".join(json_lines(found))
    if form == "html":
        return page_of(found)
    from dbt.adapters.vcs.commands.review_markdown import markdown

    return markdown(found)


def page_of(found: Review) -> str:
    """Return the page of a review."""
    from dbt.adapters.vcs.commands.review_page import page

    return page(found)


def write_review(output: str, text: str) -> None:
    """Write a review's text, by `whole_file`."""
    with whole_file(output) as file:
        file.write(text.encode())


def written_text(found: Review, output: str) -> Iterator[Block]:
    """Yield what a review found, in short, and where it was written."""
    verdict = "can be merged" if found.verdict.can_merge else "can't be merged as things are"
    count = len(found.relations)
    yield line(
        f"{found.head.revision} changes {counted(count, 'relation')} and {verdict}; the review is "
        f"in {output} ({size(Path(output).stat().st_size)})."
    )
    for reason in found.verdict.reasons:
        yield line(f"  {reason}")


def column_patterns(session: CommandSession) -> ColumnPatterns:
    """Return what the project's rules and its columns' meta keep out of reviews.

    Nothing if only the repository was given.

    Raises:
        InputError: A file of the project can't be read, or says something else.
    """
    from dbt.adapters.vcs.commands.profile import target_folder

    said = session.rules.review
    if session.target is None:
        return said
    hide, mask = meta_patterns(target_folder(session.settings, session.target) / "manifest.json")
    return ColumnPatterns(hide=(*said.hide, *hide), mask=(*said.mask, *mask))


def meta_patterns(manifest: Path) -> tuple[list[str], list[str]]:
    """Return the columns to hide and to mask by `meta: {vcs: {review: hide}}` in dbt's manifest.

    Nothing if dbt has written none yet.

    Raises:
        InputError: It can't be read, or a column's meta says something else.
    """
    try:
        found = msgspec.json.decode(manifest.read_bytes(), type=_Manifest)
    except FileNotFoundError:
        return [], []
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            f"Can't read {manifest}, which says what stays out of reviews: {error}. Write it "
            "again: dbt parse"
        ) from error
    patterns: dict[str, list[str]] = {"hide": [], "mask": []}
    for node in (*found.nodes.values(), *found.sources.values()):
        table = node.alias or node.identifier or node.name
        for name, column in node.columns.items():
            meta = {**column.meta, **(column.config or {}).get("meta", {})}
            said = meta.get("vcs")
            if not isinstance(said, dict) or "review" not in said:
                continue
            if said["review"] not in patterns:
                raise InputError(
                    f"Found review: {said['review']!r} in the meta of {table}.{name}; expected "
                    "hide or mask."
                )
            exact = (glob.escape(part) for part in (node.schema or "", table, name))
            patterns[said["review"]].append(".".join(exact))
    return patterns["hide"], patterns["mask"]


class _Column(msgspec.Struct):
    meta: dict[str, Any] = {}
    config: dict[str, Any] | None = None


class _Node(msgspec.Struct):
    name: str = ""
    alias: str | None = None
    identifier: str | None = None
    schema: str | None = None
    columns: dict[str, _Column] = {}


class _Manifest(msgspec.Struct):
    nodes: dict[str, _Node] = {}
    sources: dict[str, _Node] = {}
