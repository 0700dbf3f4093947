"""List, create, delete and protect tags."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dbt.adapters.vcs.core.branches import is_protected
from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import Repository, Tag
from dbt.adapters.vcs.core.retention import hold_commit
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.verbs.revision_names import check_free, named_branch


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSummary:
    """One tag.

    Attributes:
        name: Its name.
        commit: The commit that it names.
        summary: First line of that commit's message.
        tagged_by: Who created the tag.
        tagged_at: When.
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
    commit = repository.resolve(at)
    if named_branch(repository, at) is None:
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


def find_tag(repository: Repository, name: str) -> TagSummary:
    """Return one tag.

    Raises:
        NotFoundError: It is not there.
    """
    found = repository.find_tag(name)
    if found is None:
        raise NotFoundError(f"There is no tag {name!r}; see dbt-vcs tag list.")
    return _summary(repository, found)


def _summary(repository: Repository, tag: Tag) -> TagSummary:
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
