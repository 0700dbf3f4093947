"""`dbt-vcs tag`: list, create, rename, delete and protect tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from dbt.adapters.vcs.commands.layout import Block, Grid, Span, age, line, short
from dbt.adapters.vcs.commands.revisions import check_free, renamed_line
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Note, Option, verb, verbs
from dbt.adapters.vcs.core.branches import Tag, is_protected
from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import hold_commit
from dbt.adapters.vcs.core.store.blobs import each


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSummary:
    """One tag.

    Attributes:
        commit: The commit that it names.
        summary: First line of that commit's message.
        note: The note given when it was created.
        is_protected: True if it can't be deleted or renamed.
    """

    name: str
    commit: CommitId
    summary: str
    tagged_by: str
    tagged_at: datetime
    note: str
    is_protected: bool


def list_tags(repository: Repository) -> list[TagSummary]:
    """Return the tags by name."""
    return each(lambda tag: _summary(repository, tag), repository.tags())


def create_tag(
    repository: Repository, name: str, at: str, *, author: str, note: str = ""
) -> TagSummary:
    """Create a tag for the commit of a revision.

    Raises:
        InputError: The name is taken by a tag or branch, or is invalid.
        NotFoundError: There is no such revision.
    """
    check_free(repository, "tag", name)
    commit, ref = repository.resolve_ref(at)
    # A commit without a name may be about to be collected.
    if ref is None:
        hold_commit(repository, commit, author=author)
    made = repository.create_tag(name, commit, author=author, note=note)
    return _summary(repository, made)


def delete_tag(repository: Repository, name: str, *, author: str) -> CommitId | None:
    """Delete a tag and return the commit that it named; None if another process was faster.

    Raises:
        NotFoundError: It is not there.
        ProtectedError: It is protected.
    """
    tag = repository.find_tag(name)
    repository.delete_tag(name, author=author)
    return tag.commit if tag else None


def protect_tag(
    repository: Repository, name: str, is_protected: bool, *, author: str
) -> TagSummary:
    """Protect a tag, so that it can't be deleted or renamed, or remove its protection.

    Raises:
        NotFoundError: It is not there.
    """
    return _summary(repository, repository.protect_tag(name, is_protected, author=author))


def _summary(repository: Repository, tag: Tag) -> TagSummary:
    # Not the last move: protecting a tag moves it, too, perhaps by somebody else.
    made = repository.refs.created("tags", tag.ref).move
    return TagSummary(
        name=tag.name,
        commit=tag.commit,
        summary=repository.objects.commit(tag.commit).summary,
        tagged_by=made.by,
        tagged_at=datetime_of(made.at),
        note=made.note,
        is_protected=is_protected(tag.ref),
    )


def rename_tag(repository: Repository, name: str, new: str, *, author: str) -> TagSummary:
    """Rename a tag.

    Raises:
        NotFoundError: It is not there.
        InputError: The new name is taken or not allowed.
        ProtectedError: It is protected.
    """
    check_free(repository, "tag", new)
    repository.rename("tags", name, new, author=author)
    found = repository.find_tag(new)
    if found is None:
        raise NotFoundError(f"There is no tag {new!r}; see dbt-vcs tag list.")
    return _summary(repository, found)


_FLAGS: Final = {
    **dict.fromkeys(("-d", "--delete"), ("delete",)),
    **dict.fromkeys(("-l", "--list"), ("list",)),
    "-a": ("create",),
}
"""What git's flags stand for."""


@verbs("create", _FLAGS)
def tag_command() -> None:
    """List, create, rename and delete tags.

    Without a command: list them; `dbt-vcs tag NAME [AT]` creates one.
    """


@verb(tag_command)
def tag_list(session: CommandSession) -> None:
    """List tags."""
    found = list_tags(session.repository)
    session.show(found, _tags_text(found, session.now))


@verb(tag_command, prints_json=False)
def tag_create(
    session: CommandSession, name: str, at: str | None = None, *, note: Note = ""
) -> None:
    """Create a tag for the commit of the revision AT.

    AT defaults to the branch in the dbt profile, else the default branch.
    """
    made = create_tag(
        session.repository, name, at or session.branch, author=session.author, note=note
    )
    session.say([line("Created tag ", Span(name, "name"), " at ", short(made.commit), ".")])


@verb(tag_command, prints_json=False)
def tag_rename(
    session: CommandSession, name: str, to: Annotated[str, Option(metavar="NEW")]
) -> None:
    """Rename the tag NAME to NEW."""
    made = rename_tag(session.repository, name, to, author=session.author)
    session.say([renamed_line("tag", name, to, made.commit)])


@verb(tag_command, prints_json=False)
def tag_delete(
    session: CommandSession, name: Annotated[tuple[str, ...], Option(metavar="NAME...")]
) -> None:
    """Delete tags, but not their commits."""
    for item in name:
        commit = delete_tag(session.repository, item, author=session.author)
        where = f", which was at {commit[:12]}." if commit else "."
        session.say([line("Deleted tag ", Span(item, "name"), where)])


@verb(tag_command, prints_json=False)
def tag_protect(session: CommandSession, name: str) -> None:
    """Protect the tag NAME, so that it can't be deleted or renamed."""
    protect_tag(session.repository, name, True, author=session.author)
    session.say([line("The tag ", Span(name, "name"), " can't be deleted or renamed.")])


@verb(tag_command, prints_json=False)
def tag_unprotect(session: CommandSession, name: str) -> None:
    """Let the tag NAME be deleted and renamed again."""
    protect_tag(session.repository, name, False, author=session.author)
    session.say([line("The tag ", Span(name, "name"), " can be deleted or renamed again.")])


def _tags_text(tags: Sequence[TagSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of tags; `!` marks a protected one."""
    if not tags:
        yield line("There are no tags.")
        return
    yield Grid(
        heads=("", "TAG", "COMMIT", "AGE", "WHAT"),
        rows=tuple(
            (
                Span("!" if tag.is_protected else ""),
                Span(tag.name, "name"),
                short(tag.commit),
                Span(age(tag.tagged_at, now), "faint"),
                Span(tag.note or tag.summary),
            )
            for tag in tags
        ),
        whole=frozenset({"TAG", "COMMIT"}),
        first=("", "TAG", "COMMIT"),
    )
