"""Row decisions: the table of `rowwise/decide.py` as a query for an engine.

Rows of one key are a group, equal rows of a group a unit. Both are windows over the rows, never
lists, so a group may have any number of rows. Only groups that both sides touched are decided, and
those with a row that the graft holds differently from `o + t - b`. A row of the result is an
action:

| `action`   | meaning                                                                       |
|------------|-------------------------------------------------------------------------------|
| `OPEN`     | a row of a conflict that nobody decided                                       |
| `DELETE`   | the graft has the row, and the merge doesn't want it                          |
| `INSERT`   | a copy that the merge wants, and the graft lacks                              |
| `MADE`     | a row merged from columns of different rows                                   |
| `CONFLICT` | a mark, once for each conflict, decided by the mode or not                    |
| `CHANGED`  | a mark for each content that theirs has more or less often than base, if asked |
| `GIVEN`    | a mark for each group for which somebody gave a row, whether that still holds  |
| `SEVERAL`  | a mark for such a group that isn't one row on each side: it is not known which |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.by_engine.live_rows import STATES
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode
from dbt.adapters.vcs.changes.merges.rowwise.decide import (
    BASE,
    CHOICES,
    CUSTOM,
    NOTHING,
    OURS,
    THEIRS,
    choice_by,
)
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided, RowPolicy, key_table
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.engines.port import RowSession
from dbt.adapters.vcs.table.equality import canonical, equals, group_ids
from dbt.adapters.vcs.table.files.block_reader import Positions, shown_type
from dbt.adapters.vcs.table.python_values import arrow_array
from dbt.adapters.vcs.table.quoting import quoted, sql_type
from dbt.adapters.vcs.table.types import unlimited

OPEN: Final = 0
DELETE: Final = 1
INSERT: Final = 2
MADE: Final = 3
CONFLICT: Final = 4
CHANGED: Final = 5
GIVEN: Final = 6
SEVERAL: Final = 7

COUNTS: Final = ("ub", "uo", "ut")
"""How many rows like an `OPEN` one are live in base, ours and theirs."""

UNIT: Final = "unit"
"""Tells conflicts of one key apart: a number, 0 where the key is one conflict."""

# A hash of the key, short to sort and to join by. Windows partition by the key as well, so keys
# that share a hash stay apart.
_CODE: Final = "code"
# The rows of the table in `docs/merge.md`, in its order. `<=>`, since a side without the row is
# NULL.
_CHOICE: Final = f"case when {{t}} <=> {{b}} then {OURS} when {{o}} <=> {{b}} then {THEIRS} " + (
    f"when {{o}} <=> {{t}} then {OURS} end"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDecisions:
    """What to decide.

    Attributes:
        fields: The columns, `c0`, `c1`... in the queries.
        key: Those of them that identify a row; none if only its whole content does.
        picks: Whether only groups of given keys are decided, and `CHANGED` is asked for.
        choices: The relation of what somebody chose for single conflicts, as `given_choices`
            gives it; None for nothing.
    """

    fields: Sequence[Field]
    key: Sequence[Field]
    mode: Mode
    picks: bool = False
    choices: str | None = None

    @property
    def by(self) -> tuple[Field, ...]:
        """The columns that tell groups, in the order of the table's columns."""
        return tuple(field for field in self.fields if not self.key or field in self.key)

    def coded(self, rows: str, fields: Sequence[Field]) -> str:
        """Return a query that adds a hash of the key to rows.

        Args:
            rows: As `LiveRows` gives them, columns `c0`, `c1`... for the fields.
            fields: All columns, or those of `by`.
        """
        values = ", ".join(spelled(fields, self.by))
        return f"select *, xxhash64({values}) {_CODE} from ({rows})"

    def met(self, coded: str) -> str:
        """Return a query for the hashes of the groups to decide."""
        wanted = (
            "bool_or(t <> b)"
            if self.picks
            else "(bool_or(o <> b) and bool_or(t <> b)) or bool_or(g <> o + t - b)"
        )
        return f"select {_CODE} from ({coded}) group by {_CODE} having {wanted}"

    def of_keys(self, coded: str, keys: str) -> str:
        """Return a query for the rows with some keys.

        Args:
            coded: All rows, with all columns.
            keys: A relation of the keys, columns by field id.
        """
        same = " and ".join(
            equals(f"c{n}", f"asked.{quoted(field.id)}", field.type)
            for n, field in enumerate(self.fields)
            if field in self.by
        )
        columns = ", ".join(
            f"cast({quoted(field.id)} as {sql_type(field.type)}) {quoted(field.id)}"
            for field in self.by
        )
        return (
            f"select * from ({coded}) left semi join (select {columns} from {keys}) asked "
            f"on {same}"
        )

    def query(self, coded: str, met: str) -> str:
        """Return the query for actions.

        Its columns are `action`, the place `f`, `p`, the states, `COUNTS`, `UNIT`, and the row's
        values, NULL for a mark.

        Args:
            coded: All rows, with all columns.
            met: The hashes of the groups to decide.
        """
        levels = [
            # A number for each row: to compare and to carry, it is shorter than a place.
            f"select *, monotonically_increasing_id() id from "
            f"(select * from ({coded}) left semi join ({met}) using ({_CODE}))",
            self._units(),
            self._groups(),
            *self._said(),
            self._chosen(),
            *(
                self._cells()
                if self._mixes_cells
                else ["select *, choice final, false made from {}"]
            ),
            self._wanted(),
        ]
        text = levels[0]
        for level in levels[1:]:
            text = level.replace("{}", f"({text})", 1)
        return self._actions(text)

    def _units(self) -> str:
        """Return a query for each row's unit: its size in each state, and the row's rank."""
        unit = f"partition by {', '.join([_CODE, *self._keys, *self._contents])}"
        sums = ", ".join(f"sum({state}) over ({unit}) u{state}" for state in STATES)
        return (
            f"select *, {sums}, min(id) over ({unit}) unit, "
            # Rows of the graft come first, so none is deleted only to be written again.
            f"row_number() over ({unit} order by g desc, id) rank from {{}}"
        )

    def _groups(self) -> str:
        """Return a query for each row's group: its size, and the unit of each state's row."""
        # Without a key there is no row to pair: how often a unit occurs decides.
        if not self.key:
            units = ", ".join(f"cast(null as bigint) n{state}" for state in "bot")
            return f"select *, false single, {units} from {{}}"
        group = f"partition by {', '.join([_CODE, *self._keys])}"
        single = " and ".join(f"sum({state}) over ({group}) <= 1" for state in "bot")
        units = ", ".join(
            f"max(case when {state} = 1 then unit end) over ({group}) n{state}" for state in "bot"
        )
        row = f"struct({', '.join(f'c{n}' for n in range(len(self.fields)))})"
        # Ours is compared with what it was when somebody chose.
        # Whole rows are carried along only where a later level looks into them.
        wanted = "bot" if self.mode.is_by_cell else "o" if self.choices else ""
        kept = "".join(
            f", first(case when {state} = 1 then {row} end, true) over ({group}) row_{state}"
            for state in wanted
        )
        return f"select *, {single} single, {units}{kept} from {{}}"

    def _said(self) -> list[str]:
        """Return queries for what was chosen for each row's group, if that still holds."""
        if self.choices is None:
            return []
        group = f"partition by {', '.join([_CODE, *self._keys])} order by id"
        same = " and ".join(
            equals(f"c{n}", f"chosen.k{n}", field.type)
            for n, field in enumerate(self.fields)
            if field in self.by
        )
        void = self._is_void() if self.key else "false"
        return [
            f"select * from {{}} left join {self.choices} chosen on {same}",
            # `nth` makes one action of a choice, however many rows its group has.
            f"select *, row_number() over ({group}) nth, if({void}, null, said) holds from {{}}",
        ]

    def _is_void(self) -> str:
        """Return SQL for whether ours has another row than at the choice; false without one."""
        same = " and ".join(
            equals(f"row_o.c{n}", f"s{n}", field.type) for n, field in enumerate(self.fields)
        )
        is_there = "(single and no is not null)"
        now = f"there = {is_there} and (not there or {same})"
        return f"coalesce(checked and (voided or not ({now})), false)"

    def _chosen(self) -> str:
        by_group = _CHOICE.format(b="nb", o="no", t="nt")
        by_unit = _CHOICE.format(b="ub", o="uo", t="ut")
        by_mode = choice_by(self.mode)
        choice = f"if(single, {by_group}, {by_unit})"
        by_hand = "false"
        if self.choices is not None:
            # A row given by hand takes the place of any row.
            by_hand = f"(holds <=> {CUSTOM} or choice_ is null and holds is not null)"
        said = "holds" if self.choices is not None else "null"
        return (
            f"select *, if(by_hand, {said}, coalesce(choice_, {by_mode})) choice, "
            "choice_ is null and not by_hand clash, choice_ is null and not by_hand and single "
            "and no is not null and nt is not null mixes "
            f"from (select *, {by_hand} by_hand from (select *, {choice} choice_ from {{}}))"
        )

    def _cells(self) -> list[str]:
        """Return queries that merge the rows of conflicts column by column."""
        told: list[str] = []
        numbers = range(len(self.fields))
        for n, field in enumerate(self.fields):
            old, own, other = (f"row_{state}.c{n}" for state in "bot")
            told += [
                # Without a row in the base, neither side has kept anything.
                f"nb is not null and {equals(other, old, field.type)} tb{n}",
                f"nb is not null and {equals(own, old, field.type)} ob{n}",
                f"{equals(own, other, field.type)} ot{n}",
            ]
        accept = str(self.mode.side == "theirs").lower()
        takes = [f"not tb{n} and not ot{n} and (ob{n} or {accept}) theirs{n}" for n in numbers]
        clashes = " or ".join(f"not (tb{n} or ot{n} or ob{n})" for n in numbers)
        ours = " and ".join(f"(not theirs{n} or ot{n})" for n in numbers)
        theirs = " and ".join(f"(theirs{n} or ot{n})" for n in numbers)
        settled = "mixes" if self.mode.side else "mixes and not cell_clash"
        return [
            f"select *, {', '.join(told)} from {{}}",
            f"select *, {', '.join(takes)}, {clashes} cell_clash from {{}}",
            f"select *, {settled} settled, {ours} like_ours, {theirs} like_theirs from {{}}",
            "select *, settled and not like_ours and not like_theirs made, "
            f"case when settled and like_theirs then {THEIRS} when settled and like_ours "
            f"then {OURS} when settled then {NOTHING} else choice end final, "
            "clash and not (mixes and not cell_clash) still from {}",
        ]

    def _wanted(self) -> str:
        still = "still" if self._mixes_cells else "clash"
        is_open = still if self.mode.side is None else "false"
        wanted = (
            f"case final when {OURS} then uo when {THEIRS} then ut when {BASE} then ub else 0 end"
        )
        # Of a group that is one by its key, the unit of a side speaks for all.
        speaker = "coalesce(no, nt)"
        return (
            f"select *, {wanted} wanted, {is_open} open, {still} conflict, "
            f"rank = 1 and (not single or unit <=> {speaker}) speaks from {{}}"
        )

    def _actions(self, wanted: str) -> str:
        # A row may call for several actions, and for one several times: an array of them,
        # exploded, does it in one pass over the rows.
        listed = [
            f"array_repeat({OPEN}, cast(open as int))",
            f"array_repeat({DELETE}, cast(not open and g = 1 and rank > wanted as int))",
            f"array_repeat({INSERT}, cast(if(open or rank > 1, 0, greatest(wanted - ug, 0)) "
            "as int))",
            f"array_repeat({MADE}, cast(made and rank = 1 and unit <=> no as int))",
            f"array_repeat({CONFLICT}, cast(conflict and speaks as int))",
        ]
        if self.choices is not None:
            first = {
                MADE: f"final = {CUSTOM}",
                GIVEN: f"said <=> {CUSTOM}",
                SEVERAL: f"holds <=> {CUSTOM} and not single",
            }
            listed += [
                f"array_repeat({action}, cast({which} and nth = 1 as int))"
                for action, which in first.items()
            ]
        if self.picks:
            listed.append(f"array_repeat({CHANGED}, cast(rank = 1 and ut <> ub as int))")
        values = ", ".join(self._value(n) for n in range(len(self.fields)))
        return (
            f"select action, f, p, b, o, t, {', '.join(COUNTS)}, "
            f"if(single, 0, {UNIT}) {UNIT}, "
            f"{values} from (select * from ({wanted}) "
            f"lateral view explode(concat({', '.join(listed)})) actions as action)"
        )

    def _value(self, n: int) -> str:
        made = f"if(theirs{n}, row_t.c{n}, row_o.c{n})" if self._mixes_cells else ""
        if self.choices is not None:
            made = f"if(final = {CUSTOM}, d{n}, {made or 'null'})"
        made = f"when action = {MADE} then {made} " if made else ""
        return f"case when action in ({OPEN}, {DELETE}, {INSERT}) then c{n} {made}end c{n}"

    @property
    def _keys(self) -> list[str]:
        """SQL of the values that tell groups."""
        return spelled(self.fields, self.by)

    @property
    def _contents(self) -> list[str]:
        """SQL of the other values, which tell the units of a group."""
        return spelled(self.fields, [field for field in self.fields if field not in self.by])

    @property
    def _mixes_cells(self) -> bool:
        """Whether rows may be merged column by column: without a key there is one row."""
        return self.mode.is_by_cell and bool(self.key)


def spelled(fields: Sequence[Field], wanted: Sequence[Field]) -> list[str]:
    """Return SQL of the canonical values of some columns."""
    return [canonical(f"c{n}", field.type) for n, field in enumerate(fields) if field in wanted]


_NAME: Final = "__vcs_choices"


def given_choices(
    session: RowSession, policy: RowPolicy, fields: Sequence[Field], by: Sequence[Field]
) -> str | None:
    """Return SQL for the decisions of a policy, to put after `from`; None if there are none.

    A key has one row:

    | column       | holds                                                                  |
    |--------------|------------------------------------------------------------------------|
    | `said`       | the choice, a code of `rowwise/decide.py`                              |
    | `voided`     | true if the table had other columns then, so ours has another row now  |
    | `checked`    | true if the choice is void once ours has another row                   |
    | `there`      | whether ours had a row then                                            |
    | `k0`, `k1`...| the key; without one, all columns: by the number of the table's column |
    | `s0`, `s1`...| the row of ours at that time                                           |
    | `d0`, `d1`...| the row given by hand                                                  |

    Raises:
        InputError: A key has the wrong number of values, or a value of the wrong type; or a row
            was given with other columns than the table has now.
    """
    if not policy.decisions:
        return None
    mounted = session.mount_arrow(_NAME, _table(policy, fields, by))
    listed = ["said", "voided", "checked", "there"]
    for n, field in enumerate(fields):
        names = [f"s{n}", f"d{n}", *([f"k{n}"] if field in by else [])]
        listed += [f"cast({name} as {sql_type(unlimited(field.type))}) {name}" for name in names]
    return f"(select {', '.join(listed)} from {mounted})"


def _table(policy: RowPolicy, fields: Sequence[Field], by: Sequence[Field]) -> pa.Table:
    keys = key_table([item.key for item in policy.decisions], by)
    places = _last_of_each(keys)
    keys = keys.take(pa.array(places))
    decided = [policy.decisions[place] for place in places.tolist()]
    seen, voided = _seen(decided, fields)
    given = _given(policy, places, decided, voided, fields, by)
    columns: dict[str, Any] = {
        "said": pa.array([CHOICES[item.choice] for item in decided], pa.int32()),
        "voided": pa.array(voided, pa.bool_()),
        "checked": pa.array([item.seen is not None for item in decided], pa.bool_()),
        "there": pa.array([bool(item.seen and item.seen.row) for item in decided], pa.bool_()),
    }
    for n, field in enumerate(fields):
        columns |= {f"s{n}": seen[n], f"d{n}": given.column(field.id)}
        if field in by:
            columns[f"k{n}"] = keys.column(field.id)
    return pa.table(columns)


def _seen(
    decided: Sequence[Decided], fields: Sequence[Field]
) -> tuple[list[pa.Array], Sequence[bool]]:
    """Return the columns of the rows of ours then, and which choices are void at once."""
    rows = [None if item.seen is None else item.seen.row for item in decided]
    names = {field.name for field in fields}
    voided = [row is not None and row.keys() != names for row in rows]
    columns = []
    for field in fields:
        found = _values(rows, field)
        if found is None:
            # The column had another type at that time.
            voided = [item.seen is not None for item in decided]
            found = pa.nulls(len(decided), shown_type(field))
        columns.append(found)
    return columns, voided


def _last_of_each(keys: pa.Table) -> Positions:
    """Return the place of the last row of each key."""
    codes = group_ids(keys.columns, keys.num_rows)
    last = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    # Of several assignments to one place numpy keeps the last.
    last[codes] = np.arange(len(codes))
    return np.sort(last)


def _values(rows: Sequence[Mapping[str, Any] | None], field: Field) -> pa.Array | None:
    """Return a column of some rows; None if their values are of another type."""
    try:
        return arrow_array([(row or {}).get(field.name) for row in rows], shown_type(field))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _given(
    policy: RowPolicy,
    places: Positions,
    decided: Sequence[Decided],
    voided: Sequence[bool],
    fields: Sequence[Field],
    by: Sequence[Field],
) -> pa.Table:
    """Return the rows given by hand, columns by field id; NULLs for other choices."""
    mine = np.array(
        [
            item.choice is Choice.CUSTOM and not is_void
            for item, is_void in zip(decided, voided, strict=True)
        ],
        np.bool_,
    )
    rows = policy.rows(places[mine], by, fields)
    numbers = np.where(mine, np.cumsum(mine) - 1, -1)
    return rows.take(pa.array(numbers, mask=~mine))
