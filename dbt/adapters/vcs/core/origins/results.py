"""Results: what statements gave, by the key of what they were computed from.

They are a memory, not history: any of them may be deleted at any time, and what is lost is
computed again. Nothing that they name is kept from a collection for their sake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.codec import decode_record, encode_record
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import Input
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.store.blobs import Blobs, delete_below

FOLDER: Final = "results"

MAX_ANSWER: Final = 64 * 1024
"""Bytes of the longest answer that is kept."""

ResultKind: TypeAlias = Literal["table", "view", "function", "columns", "answer"]

_PATH: Final = re.compile(rf"{FOLDER}/[0-9a-f]{{2}}/([0-9a-f]{{64}})")


class ResultColumn(Value, frozen=True, kw_only=True):
    """One column of an answer: its name, Spark's type, whether it may be NULL, its comment."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None


class RowCounts(NamedTuple):
    """How many rows of a table a statement changed.

    Attributes:
        inserted: Rows that are new.
        updated: Rows that got other values, or the same ones again, as Spark counts them.
        deleted: Rows that are gone.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0


class Result(Value, frozen=True, kw_only=True):
    """What one statement gave.

    Attributes:
        kind: A version of a `table`, `view` or `function`; the `columns` of a relation; or an
            `answer`, the rows of a query.
        version: The version's id; empty for columns and answers, and for a statement that left the
            table as it was.
        columns: The columns, of columns and answers.
        rows: The rows of an answer, encoded; None if nobody fetched them, and for all others.
        affected: Rows that the statement wrote, if it knows.
        counts: The same by what happened to them, if it knows.
        seconds: How long it took.
        made_at: When it was computed.
        used_at: When it was stored again since somebody took it; 0 if never.
        node: dbt's unique id of the node, or None.
        invocation: dbt's invocation id, or None.
        branch: The branch that it was computed for; empty if none is known.
        statement: The statement's text.
        schema: The schema of unqualified names in it.
        target: `schema.identifier` of what it made or changed; empty for answers and columns.
        inputs: What it read.
        ingredients: What its key was made of, by name.
    """

    kind: ResultKind
    version: str = ""
    columns: tuple[ResultColumn, ...] = ()
    rows: str | None = None
    affected: int | None = None
    counts: RowCounts | None = None
    seconds: float = 0.0
    made_at: Micros = Micros(0)
    used_at: Micros = Micros(0)
    node: str | None = None
    invocation: str | None = None
    branch: str = ""
    statement: str = ""
    schema: str = ""
    target: str = ""
    inputs: tuple[Input, ...] = ()
    # msgspec copies an empty container, so no two results share it.
    ingredients: dict[str, str] = {}  # noqa: RUF012


class StoredResult(NamedTuple):
    """A result as it is stored.

    Attributes:
        key: Its key, 64 hexadecimal digits.
        bytes: Its size.
    """

    key: str
    bytes: int
    modified_at: Micros


class Results:
    """The results that a repository remembers; safe to share between threads."""

    def __init__(self, blobs: Blobs) -> None:
        """Take the repository's store."""
        self._blobs = blobs

    def find(self, key: str) -> Result | None:
        """Return the result of a key; None if there is none, or it can't be read."""
        try:
            return decode_record(Result, self._blobs.get(_path(key)), f"result {key}")
        except (NotFoundError, DamagedError):
            # Damage costs one computation, so it is not worth an error.
            return None

    def put(self, key: str, result: Result, *, replace: bool = False) -> None:
        """Remember a result, unless there is one; with `replace`, in its place.

        Raises:
            StorageError: The store failed.
        """
        data, path = encode_record(result), _path(key)
        if replace:
            self._blobs.replace_all({path: data})
        else:
            # Decision 30: whoever was first has stored the result of the same key.
            self._blobs.create(path, data)

    def all(self) -> Iterator[StoredResult]:
        """Yield all that are stored, in no order."""
        for info in self._blobs.walk(FOLDER):
            found = _PATH.fullmatch(info.path)
            if found is not None:
                yield StoredResult(found[1], info.bytes, info.modified_at)

    def count(self) -> int:
        """Return how many are stored."""
        return sum(1 for _ in self.all())

    def drop_all(self) -> None:
        """Forget all results."""
        delete_below(self._blobs, FOLDER)

    def drop(self, key: str) -> None:
        """Forget a result; nothing happens if there is none."""
        self._blobs.delete(_path(key))


def _path(key: str) -> str:
    return f"{FOLDER}/{key[:2]}/{key}"
