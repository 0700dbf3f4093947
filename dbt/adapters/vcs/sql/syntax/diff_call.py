"""`snapshot_diff('s.t@a', 's.t@b', ...)` in a query: the diff of two versions as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NoReturn, TypeAlias, cast, get_args

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, decode
from dbt.adapters.vcs.sql.syntax.names import At, Name, TableAt, split_list, split_name

DiffShape: TypeAlias = Literal["wide", "signed", "changes", "three_way"]
TwoWayShape: TypeAlias = Literal["wide", "signed", "changes"]
DiffOutput: TypeAlias = Literal["rows", "count", "summary", "schema"]
DIFF_FUNCTION: Final = "snapshot_diff"
_OPTIONS: Final = ("shape", "columns", "where", "reader")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffReference:
    """One place in a text where a diff is read.

    Attributes:
        before: The first version; None for a table without rows.
        shape: How rows represent changes.
        columns: The columns to compare; empty for all.
        where: SQL text of a condition on the rows of the shape, or None.
        reader: The table that is built from the diff, and accounts for the first version only; or
            None.
        start: Offset of its first character.
        end: Offset after its closing parenthesis; an alias may follow.
    """

    before: TableAt | None
    after: TableAt
    shape: DiffShape = "wide"
    columns: tuple[str, ...] = ()
    where: str | None = None
    reader: Name | None = None
    start: int
    end: int


def read_diff(tokens: Sequence[Token], index: int) -> tuple[DiffReference, int]:
    """Read a diff; return it and the index of the next token.

    Args:
        tokens: The text's tokens, followed by several `END`.
        index: The index of the function's name, which a parenthesis follows.

    Raises:
        InputError: An argument is missing, unknown, or not a single string literal.
    """
    start, index = tokens[index].start, index + 2
    given = _Arguments()
    behind = ","
    while behind != ")":
        name = None
        # To the lexer, `=>` is two symbols.
        if tokens[index + 1].word == "=" and tokens[index + 2].word == ">":
            name = given.option(tokens[index])
            index += 3
        literal, behind = tokens[index], tokens[index + 1].word
        # What a statement reads has to be known before it runs, so nothing here is computed.
        if literal.kind is not Kind.STRING or behind not in (",", ")"):
            _fail(f"found {literal.text!r}, which is not one string literal")
        given.take(name, literal)
        index += 2
    before, after = given.both_tables()
    shape = given.shape()
    if before is None and shape == "three_way":
        _fail("found shape => 'three_way' for a table without rows, which has no base")
    reference = DiffReference(
        before=before,
        after=after,
        shape=shape,
        columns=given.columns(),
        where=given.options.get("where"),
        reader=given.reader(),
        start=start,
        end=tokens[index - 1].end,
    )
    return reference, index


class _Arguments:
    """The arguments of one call while they are read: tables in order, then options by name."""

    def __init__(self) -> None:
        self.tables: list[TableAt | None] = []
        self.options: dict[str, str] = {}

    def option(self, name: Token) -> str:
        """Return the name of an option, which must not be repeated."""
        if name.word not in _OPTIONS or name.word in self.options:
            _fail(f"found `{name.text} =>`" + (" twice" if name.word in self.options else ""))
        return name.word

    def take(self, name: str | None, literal: Token) -> None:
        """Store a literal, for an option or as the next table."""
        if name is not None:
            self.options[name] = decode(literal.text)
        elif self.options or len(self.tables) == 2:
            _fail(f"found the further table {literal.text}")
        else:
            text = decode(literal.text)
            # An empty text in the first place stands for a table without rows.
            self.tables.append(table_at(text) if text or self.tables else None)

    def both_tables(self) -> tuple[TableAt | None, TableAt]:
        before, after = [*self.tables, None, None][:2]
        if after is None:
            count = len(self.tables)
            _fail(f"found {count or 'no'} table{'s' if count != 1 else ''}")
        return before, after

    def reader(self) -> Name | None:
        text = self.options.get("reader")
        if text is None:
            return None
        name = _name(text)
        if name.schema is None:
            _fail(f"found reader => {text!r}, which has no schema")
        return name

    def shape(self) -> DiffShape:
        shape = self.options.get("shape", "wide").lower()
        for known in get_args(DiffShape):
            if shape == known:
                return cast("DiffShape", known)
        _fail(f"found shape => {shape!r}")

    def columns(self) -> tuple[str, ...]:
        text = self.options.get("columns", "")
        columns = [split_name(item) for item in split_list(text) if item]
        if any(len(parts) > 1 for parts in columns):
            _fail(f"found columns => {text!r}, which has a column of several parts")
        return tuple(parts[0] for parts in columns)


def table_at(text: str) -> TableAt:
    """Read `schema.table` or `schema.table@revision`; an @ in backquotes belongs to the name."""
    quoted = False
    for place, character in enumerate(text):
        quoted ^= character == "`"
        if character == "@" and not quoted:
            name, revision = text[:place], text[place + 1 :].strip()
            if not revision:
                _fail(f"found {text!r}, which has no revision after the @")
            return TableAt(_name(name), At(kind="version", value=revision))
    return TableAt(_name(text), None)


def _name(text: str) -> Name:
    try:
        name = Name.of(split_name(text))
    except InputError:
        name = None
    if name is None:
        _fail(f"found {text!r}, which names no table of the repository")
    return name


def _fail(found: str) -> NoReturn:
    raise InputError(
        f"Expected {DIFF_FUNCTION}('schema.table@revision', 'schema.table@revision'[, shape => "
        "'wide' | 'signed' | 'changes' | 'three_way'][, columns => 'a, b']"
        "[, where => '<condition>'][, reader => 'schema.table']), "
        f"{found}. Correct the arguments; each is one string literal."
    )
