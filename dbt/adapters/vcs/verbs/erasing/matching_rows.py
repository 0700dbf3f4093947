"""Matching rows: the places of the rows for which a condition is true, in files of any version.

Plain comparisons are computed in this process; the engine computes any other condition.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.data_type import INTEGERS, type_of
from dbt.adapters.vcs.core.model.schema import RESERVED
from dbt.adapters.vcs.core.model.segment import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.found_places import find_places
from dbt.adapters.vcs.engines.port import VersionReader
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.rows.files.block_reader import Files, Positions
from dbt.adapters.vcs.rows.limits import in_process_first
from dbt.adapters.vcs.rows.quoting import quoted
from dbt.adapters.vcs.rows.sorted_numbers import distinct
from dbt.adapters.vcs.statements.syntax.conditions import check_condition, where_clause
from dbt.adapters.vcs.statements.syntax.conjuncts import (
    Comparison,
    Constant,
    exact_comparisons,
)
from dbt.adapters.vcs.statements.syntax.lexer import Kind, tokenize
from dbt.adapters.vcs.statements.syntax.literals import decode

Places = Mapping[str, Positions]
"""Positions in ascending order, by path of the block."""

_WHOLE: Final = re.compile(r"-?\d{1,18}")
_NONE: Final = np.empty(0, np.int64)
_FILES: Final = 500
"""Files that one query of the engine reads."""

_COMPARED: Final[Mapping[str, Callable[[pa.Array, pa.Scalar], pa.Array]]] = {
    "=": pc.equal,
    "<=>": pc.equal,
    "in": pc.equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@dataclass(frozen=True)
class Condition:
    """The condition that rows to erase meet.

    Attributes:
        text: A SQL expression over the table's columns.
    """

    text: str

    def check(self) -> None:
        """Check that it is one expression over columns alone.

        Raises:
            InputError: It isn't.
        """
        check_condition(self.text, "--where")
        if any(token.word in ("select", "from") for token in tokenize(self.text)):
            raise InputError(
                "The condition of a purge can't read other tables, which old versions were not "
                "made with. List the values: customer_id in (4711, 4712)."
            )

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word that may be a column, in lower case."""
        kinds = (Kind.WORD, Kind.QUOTED)
        return frozenset(t.text.lower() for t in tokenize(self.text) if t.kind in kinds)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts in it that may be somebody's data."""
        found = (decode(t.text) for t in tokenize(self.text) if t.kind is Kind.STRING)
        return tuple(dict.fromkeys(text for text in found if len(text) > 2))

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...] | None:
        """The same as plain comparisons; None if it is more than that."""
        return exact_comparisons(self.text)


class Matcher:
    """Finds the rows that meet a condition."""

    def __init__(
        self, blobs: Blobs, condition: Condition, sessions: Callable[[], VersionReader]
    ) -> None:
        self._files = Files(blobs)
        self._condition = condition
        self._sessions = sessions
        self._known: dict[tuple[str, tuple[Field, ...]], Positions] = {}

    def in_blocks(
        self, blocks: Sequence[Block], fields: Sequence[Field], partition_by: Sequence[str]
    ) -> Places:
        """Return where rows of blocks meet the condition; deleted rows count, too.

        Args:
            blocks: The blocks.
            fields: The columns, with the names that the condition uses.
            partition_by: Ids of those that are in the folders' names.

        Raises:
            InputError: The condition may be true of a row now and false later.
            EngineError: The engine can't compute it.
        """
        key = tuple(fields)
        # Files never change, so each is read once however often names have moved meanwhile.
        new = [block for block in blocks if (block.path, key) not in self._known]
        if new:
            found = in_process_first(
                lambda: {block.path: self._read(block, fields) for block in new},
                lambda: self._asked(new, fields, partition_by),
            )
            for block in new:
                self._known[block.path, key] = found.get(block.path, _NONE)
        return {block.path: self._known[block.path, key] for block in blocks}

    def in_images(
        self, stones: Sequence[Tombstone], files: Iterable[str], fields: Sequence[Field]
    ) -> Places:
        """Return where before-images meet it: positions in the blocks that they are from.

        Only images of rows of the given files are looked at.
        """
        wanted = sorted(set(files))
        if not wanted or not stones:
            return {}
        return in_process_first(
            lambda: self._read_images(stones, wanted, fields),
            lambda: self._asked_images(stones, wanted, fields),
        )

    def _read(self, block: Block, fields: Sequence[Field]) -> Positions:
        named, comparisons = self._plain(fields)
        start = 0
        found = [np.empty(0, np.int64)]
        for batch in self._files.batches(block, named):
            mask = _mask(batch, named, comparisons)
            found.append(np.flatnonzero(mask) + start)
            start += batch.num_rows
        return np.concatenate(found)

    def _read_images(
        self, stones: Sequence[Tombstone], files: Sequence[str], fields: Sequence[Field]
    ) -> Places:
        named, comparisons = self._plain(fields)
        found: dict[str, list[Positions]] = {}
        for stone in stones:
            mask = _mask(self._files.columns(stone.path, named, entry=stone), named, comparisons)
            for file in files:
                positions, rows = self._files.deleted(stone.path, file, stone)
                found.setdefault(file, []).append(positions[mask[rows]])
        return {file: distinct(np.concatenate(parts)) for file, parts in found.items()}

    def _plain(self, fields: Sequence[Field]) -> tuple[list[Field], tuple[Comparison, ...]]:
        """Return the comparisons and their columns, if this process can compute them."""
        comparisons = self._condition.comparisons
        if comparisons is None:
            raise UnsupportedError("The condition is more than comparisons.")
        by_name = {field.name.lower(): field for field in fields}
        wanted = dict.fromkeys(item.column.lower() for item in comparisons)
        return [by_name[name] for name in wanted], comparisons

    def _asked(
        self, blocks: Sequence[Block], fields: Sequence[Field], partition_by: Sequence[str]
    ) -> Places:
        found: dict[str, Positions] = {}
        for start in range(0, len(blocks), _FILES):
            entries = tuple(blocks[start : start + _FILES])
            paths = tuple(block.path for block in entries)
            told = "\n".join([*paths, *map(repr, fields)])
            mount = TableMount(
                id="pu_" + hashlib.sha256(told.encode()).hexdigest()[:32],
                folder="/".join(paths[0].split("/")[:2]),
                files=paths,
                fields=tuple(fields),
                partition_by=tuple(partition_by),
                entries=entries,
            )
            relation = self._sessions().mount_located(mount)
            found.update(self._places(relation, fields, "true"))
        return found

    def _asked_images(
        self, stones: Sequence[Tombstone], files: Sequence[str], fields: Sequence[Field]
    ) -> Places:
        found: dict[str, Positions] = {}
        for stone in stones:
            relation, selected = self._sessions().mount_deleted([stone], files, fields)
            for file, positions in self._places(relation, fields, selected).items():
                found[file] = distinct(np.concatenate([found.get(file, positions), positions]))
        return found

    def _places(self, relation: str, fields: Sequence[Field], selected: str) -> Places:
        for field in fields:
            if field.name.lower().startswith(RESERVED):
                raise UnsupportedError(
                    f"The table has a column {field.name}; no name may begin with {RESERVED} "
                    "here. Rename it: alter table ... rename column."
                )
        columns = ", ".join(f"{quoted(field.id)} as {quoted(field.name)}" for field in fields)
        place = f"{FILE_COLUMN}, {POSITION_COLUMN}"
        query = (
            f"select {place} from (select {columns}, {place} from {relation} where {selected}) "
            f"{where_clause(self._condition.text)}"
        )
        session = self._sessions()
        if not session.is_repeatable(query):
            raise InputError(
                "The condition may be true of a row now and false later, so it can't say which "
                "rows to erase from all versions. Leave functions such as rand() and now() out."
            )
        return find_places(session, query)


def _mask(
    rows: pa.Table | pa.RecordBatch, fields: Sequence[Field], comparisons: Sequence[Comparison]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for each row whether all comparisons are true; NULL is not."""
    by_name = {field.name.lower(): field for field in fields}
    masks = [_compared(rows, by_name[item.column.lower()], item) for item in comparisons]
    found = reduce(pc.and_kleene, masks)
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]] = pc.fill_null(found, False).to_numpy(
        zero_copy_only=False
    )
    return mask


def _compared(
    rows: pa.Table | pa.RecordBatch, field: Field, comparison: Comparison
) -> pa.Array | pa.ChunkedArray:
    column = rows.column(field.id)
    if comparison.operator == "is null":
        return pc.is_null(column)
    if comparison.operator == "is not null":
        return pc.is_valid(column)
    compare = _COMPARED[comparison.operator]
    found = [compare(column, _scalar(field, value)) for value in comparison.values]
    return reduce(pc.or_kleene, found)


def _scalar(field: Field, constant: Constant) -> pa.Scalar:
    """Return a constant as a value of a column's type.

    Raises:
        UnsupportedError: SQL compares them in a way of its own.
    """
    found = type_of(field.type)
    if constant.kind == "number" and found.kind in INTEGERS and _WHOLE.fullmatch(constant.value):
        return pa.scalar(int(constant.value), pa.int64())
    if constant.kind == "string" and found.is_plain_text:
        return pa.scalar(constant.value, pa.string())
    if constant.kind == "date" and found.kind == "date":
        try:
            return pa.scalar(date.fromisoformat(constant.value), pa.date32())
        except ValueError as error:
            raise UnsupportedError(f"{constant.value} is no date of this form.") from error
    raise UnsupportedError(f"{field.name} is compared with a {constant.kind} by the engine.")


def mentioned(condition: Condition, schemas: Iterable[Sequence[Field]]) -> frozenset[str]:
    """Return the columns that a condition mentions, of any of some versions, in lower case."""
    return condition.words & {field.name.lower() for fields in schemas for field in fields}


def under(
    fields: Sequence[Field], needed: frozenset[str], called: Mapping[str, str]
) -> tuple[Field, ...]:
    """Return a version's columns under the names that the condition uses.

    A column that has another name in this version is the same column, by its id.

    Args:
        fields: The version's columns.
        needed: The names that the condition mentions, in lower case.
        called: Such names by id of the columns that have them in some version.
    """
    own = {field.name.lower() for field in fields}
    renamed = {
        field.id: called[field.id]
        for field in fields
        if field.name.lower() not in needed and called.get(field.id, "") in needed - own
    }
    return tuple(
        _called(field, renamed[field.id]) if field.id in renamed else field for field in fields
    )


def readings(
    fields: Sequence[Field], needed: frozenset[str], *, is_conflict: bool
) -> Iterator[tuple[Field, ...]]:
    """Yield the columns by which a condition can be read in a version; none if it lacks some.

    The rows of a waiting merge hold several rows of the table each: one for each side.
    """
    if not is_conflict:
        views = [tuple(fields)]
    else:
        by_name = {field.name: field for field in fields}
        columns = [name[5:] for name in by_name if name.startswith("base_")]
        views = [
            tuple(
                _called(by_name.get(f"{side}_{name}") or by_name[f"our_{name}"], name)
                for name in columns
                if f"our_{name}" in by_name
            )
            for side in ("base", "our", "their", "result")
        ]
    for view in views:
        if needed <= {field.name.lower() for field in view}:
            yield view


def _called(field: Field, name: str) -> Field:
    return Field(
        id=field.id,
        name=name,
        type=field.type,
        nullable=field.nullable,
        initial=field.initial,
    )
