"""Bearers: who asks, and what their token lets them read and write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.resolver import parse_revision
from dbt.adapters.vcs.iceberg.serve.rest_error import RestError

Role: TypeAlias = Literal["reader", "writer"]

ROLES: Final[tuple[Role, ...]] = ("reader", "writer")

_WHOLE_ID: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Grant:
    """A role on the branches whose names match one of the patterns (`*`, `?`, `[...]`)."""

    role: Role
    branches: tuple[str, ...] = ("*",)

    @property
    def is_whole(self) -> bool:
        """True if the role is held on every branch."""
        return "*" in self.branches

    def fits(self, branch: str) -> bool:
        """Return whether the role is held on a branch."""
        return any(fnmatchcase(branch, pattern) for pattern in self.branches)


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whoever sent a request.

    Attributes:
        name: The token's name; a dash where no tokens are used.
        grants: What the token allows, together.
    """

    name: str
    grants: tuple[Grant, ...]

    @property
    def is_whole(self) -> bool:
        """True if the token allows to read all branches, and so tags and commits."""
        return any(grant.is_whole for grant in self.grants)

    @property
    def is_writer(self) -> bool:
        """True if the token allows to write to some branch."""
        return any(grant.role == "writer" for grant in self.grants)

    def reads(self, branch: str) -> bool:
        """Return whether the token allows to read a branch."""
        return any(grant.fits(branch) for grant in self.grants)

    def writes(self, branch: str) -> bool:
        """Return whether the token allows to write to a branch."""
        return any(grant.role == "writer" and grant.fits(branch) for grant in self.grants)

    def check_reads(self, repository: Repository, revision: str) -> None:
        """Check that the token allows to read a revision.

        A token for some branches reads these and their history: `main`, `main~3`, `main@{1}`. A
        commit, a tag or a named snapshot says nothing of a branch, and takes a token for all.

        Raises:
            RestError: It does not.
        """
        if self.is_whole:
            return
        branch = _branch_in(repository, revision)
        if branch is None or not self.reads(branch):
            allowed = ", ".join(sorted({name for item in self.grants for name in item.branches}))
            raise RestError(
                403,
                "ForbiddenException",
                f"The token {self.name!r} reads the branches {allowed} and their history, and "
                f"{revision!r} is not among them.",
            )


ANYBODY: Final = Bearer("-", (Grant("writer"),))
"""Whoever asks where no tokens are used."""


def _branch_in(repository: Repository, revision: str) -> str | None:
    """Return the branch that a revision starts from; None if it starts elsewhere."""
    whole = revision.removeprefix("refs/").removeprefix("heads/")
    is_said = whole != revision
    if repository.find_branch(whole) is None:
        try:
            parsed = parse_revision(revision, repository.clock())
        except InputError:
            return None
        is_said = is_said or parsed.selector is not None
        whole = parsed.name.removeprefix("refs/").removeprefix("heads/")
        if repository.find_branch(whole) is None:
            return None
    # What a revision means if its name is a commit's or a tag's, too.
    is_hidden = _WHOLE_ID.fullmatch(whole) or repository.find_tag(whole) is not None
    return None if is_hidden and not is_said else whole
