"""Contracts: what a change of a relation may do, checked before a merge lands.

| rule                | a change breaks it if                                                     |
|---------------------|---------------------------------------------------------------------------|
| `freeze`            | there is any                                                              |
| `no_removed`        | a row is removed; without a key, a changed row is removed and added       |
| `max_change_ratio`  | more than this share of the rows before is added, removed or modified     |
| `max_rows`          | more rows than this are added, removed or modified                        |
| `only_columns`      | comparing the other columns, a row is added, removed or modified          |
| `expression`        | it is false for a row that is added or modified, as the row is afterwards |
| `schema: additive`  | a column is dropped or renamed, or its type is another                    |

The rules for rows are those of the tests `diff_*`. A table that is created has no rows before, so
only `freeze`, `max_rows` and `expression` are about it. A view or function can only be frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.merges.merge_plan import MergePlan, planned_relations
from dbt.adapters.vcs.changes.merges.project_rules import Contract
from dbt.adapters.vcs.changes.writes.row_filters import filter_of
from dbt.adapters.vcs.core.errors import ConflictError, InputError, VcsError
from dbt.adapters.vcs.core.model import Entry, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.snapshot import widens
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tree_changes import Change
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.key_check import SHOWN
from dbt.adapters.vcs.table.python_values import python_values, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractOutcome:
    """What came of one rule for one relation.

    Attributes:
        relation: `schema.identifier`.
        contract: The rule's name.
        is_met: True if the change keeps to it.
        limit: What it allows, as a text.
        found: What the change has, as a text.
        text: What breaks it, a clause that names the relation and some rows; empty if it is met.
    """

    relation: str
    contract: str
    is_met: bool
    limit: str = ""
    found: str = ""
    text: str = ""


def check_contracts(
    repository: Repository, contracts: Sequence[Contract], plan: MergePlan
) -> MergePlan:
    """Return a plan that keeps to all contracts; one with conflicts is checked once it has none.

    Raises:
        ConflictError: It breaks some; the message names the figures, the limits and some rows.
    """
    if plan.how == "conflict":
        return plan
    broken = [item for item in contract_outcomes(repository, contracts, plan) if not item.is_met]
    if not broken:
        return plan
    texts = "; ".join(item.text for item in broken)
    raise ConflictError(
        f"{plan.work.source!r} breaks {'a contract' if len(broken) == 1 else 'contracts'} of "
        f"vcs.yml: {texts}. Nothing was changed. Change the branch, or the contract if this "
        "change is meant."
    )


def contract_outcomes(
    repository: Repository, contracts: Sequence[Contract], plan: MergePlan
) -> list[ContractOutcome]:
    """Return what comes of each contract for each relation that a plan changes, by name.

    Rows are read as far as the rules need them, from the files that differ. A rule that can't be
    checked, as where it names a column that the table lacks, is broken.
    """
    if not contracts or plan.how == "up_to_date":
        return []
    found: list[ContractOutcome] = []
    for change in planned_relations(repository, plan):
        for contract in contracts:
            if contract.fits(str(change.name).lower()):
                found += _outcomes(repository, change, contract.rules)
    return found


def _outcomes(
    repository: Repository, change: Change, rules: Mapping[str, Any]
) -> Iterator[ContractOutcome]:
    name = str(change.name)
    if "freeze" in rules:
        what = "created" if isinstance(change.old, AbsentType) else "changed"
        what = "dropped" if isinstance(change.new, AbsentType) else what
        yield _outcome(name, "freeze", "no change", what, f"{name} is frozen, and was {what}")
    before, after = (_snapshot(repository, side) for side in (change.old, change.new))
    if before is None and after is None:
        return
    facts = _Facts(repository, name, before, after)
    for rule, limit in rules.items():
        check = _CHECKS.get(rule)
        if check is None:
            continue
        try:
            yield check(facts, limit)
        except VcsError as error:
            text = f"{rule} of {name} can't be checked: {error}"
            yield _outcome(name, rule, _limit_text(limit), "not known", text.rstrip("."))


def _snapshot(repository: Repository, entry: Entry | AbsentType) -> Snapshot | None:
    if not isinstance(entry, TableEntry):
        return None
    return repository.objects.snapshot(entry.snapshot)


@dataclass(frozen=True)
class _Facts:
    """What the rules ask of one table's change."""

    repository: Repository
    name: str
    before: Snapshot | None
    after: Snapshot | None

    @property
    def known(self) -> Snapshot:
        """The version after, or before if the table was dropped."""
        found = self.after or self.before
        assert found is not None
        return found

    @cached_property
    def counts(self) -> Counts:
        return self.difference().counts()

    def difference(self, columns: tuple[str, ...] = ()) -> Difference:
        return Difference(
            repository=self.repository, before=self.before, after=self.after, columns=columns
        )

    def rows(self, kinds: Iterable[str], side: str) -> Iterator[pa.Table]:
        """Yield the rows of changes of some kinds as they are on a side, by their own columns."""
        for part in self.difference().rows().parts():
            is_kind = pc.is_in(part.column("diff_type"), pa.array(kinds, pa.string()))
            named = [name for name in part.column_names if name.startswith(f"{side}_")]
            rows = part.select(named).filter(is_kind)
            yield rows.rename_columns([name.removeprefix(f"{side}_") for name in named])

    def told(self, rows: Iterable[pa.Table]) -> str:
        """Return the keys of the first rows, as ` (id = 1; id = 2)`; empty if there are none."""
        columns = [field.name for field in self.known.key or self.known.schema.fields[:3]]
        told = []
        for row in islice(_values(rows, columns), SHOWN):
            told.append(", ".join(f"{c} = {shown(v)}" for c, v in zip(columns, row, strict=True)))
        return f" ({'; '.join(told)})" if told else ""


def _values(rows: Iterable[pa.Table], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for part in rows:
        few = part.slice(0, SHOWN)
        held = [few.column(name) for name in columns if name in few.column_names]
        if len(held) == len(columns):
            yield from zip(*(python_values(column) for column in held), strict=True)


def _no_removed(facts: _Facts, limit: Any) -> ContractOutcome:
    removed = facts.counts.removed
    text = ""
    if removed:
        rows = facts.told(facts.rows(["removed"], "from"))
        text = f"{facts.name} loses {_rows_text(removed)}{rows}, and no_removed allows none"
    return _outcome(facts.name, "no_removed", "0 rows", _rows_text(removed), text)


def _max_change_ratio(facts: _Facts, limit: float) -> ContractOutcome:
    changed, before = sum(facts.counts), facts.before.rows if facts.before else 0
    share = changed / before if before else 0.0
    text = ""
    if before and changed > limit * before:
        text = (
            f"{facts.name} changes {_rows_text(changed)} of {before:,}, a share of {share:.4g}, "
            f"and max_change_ratio is {limit:g}"
        )
    return _outcome(facts.name, "max_change_ratio", f"{limit:g}", f"{share:.4g}", text)


def _max_rows(facts: _Facts, limit: int) -> ContractOutcome:
    changed = sum(facts.counts)
    text = ""
    if changed > limit:
        text = f"{facts.name} changes {_rows_text(changed)}, and max_rows is {limit:,}"
    return _outcome(facts.name, "max_rows", f"{limit:,} rows", _rows_text(changed), text)


def _only_columns(facts: _Facts, limit: Sequence[str]) -> ContractOutcome:
    allowed = {name.lower() for name in limit}
    names = {field.name.lower(): field.name for field in facts.known.schema.fields}
    unknown = sorted(allowed - names.keys())
    if unknown:
        raise InputError(f"there is no column {unknown[0]!r} among {', '.join(sorted(names))}")
    others = tuple(name for lower, name in names.items() if lower not in allowed)
    text = ""
    changed = 0
    if facts.before is not None and others:
        changed = sum(facts.difference(others).counts())
        if changed:
            differing = ", ".join(name for name in others if _differs(facts, name)) or "others"
            text = (
                f"{facts.name} changes {_rows_text(changed)} in {differing}, and only_columns "
                f"allows {', '.join(limit) or 'none'}"
            )
    return _outcome(facts.name, "only_columns", ", ".join(limit), _rows_text(changed), text)


def _differs(facts: _Facts, column: str) -> bool:
    """Return whether a column's values differ in a row that is on both sides."""
    if any(field.name == column for field in facts.known.key):
        return bool(facts.counts.added or facts.counts.removed)
    return sum(facts.difference((column,)).counts()) > 0


def _expression(facts: _Facts, limit: str) -> ContractOutcome:
    text, broken = "", 0
    if facts.after is not None:
        # NULL is not false.
        is_false = ~filter_of(limit, facts.after.schema)
        wrong = [rows.filter(is_false) for rows in facts.rows(["added", "modified"], "to")]
        broken = sum(rows.num_rows for rows in wrong)
        if broken:
            text = (
                f"{facts.name} has {_rows_text(broken)}{facts.told(wrong)} for which the "
                f"expression {limit} is false"
            )
    return _outcome(facts.name, "expression", limit, _rows_text(broken), text)


def _schema(facts: _Facts, limit: str) -> ContractOutcome:
    lost: list[str] = []
    if facts.before is not None and facts.after is None:
        lost.append("was dropped")
    elif facts.before is not None and facts.after is not None:
        now = {field.name.lower(): field for field in facts.after.schema.fields}
        for field in facts.before.schema.fields:
            found = now.get(field.name.lower())
            if found is None:
                lost.append(f"lacks {field.name}")
            elif found.type != field.type and not widens(field.type, found.type):
                lost.append(f"has {field.name} as {found.type}, not {field.type}")
    found_text = "; ".join(lost) or "only additions"
    text = f"{facts.name} {', '.join(lost)}, and its schema is additive" if lost else ""
    return _outcome(facts.name, "schema", limit, found_text, text)


_CHECKS: Final[Mapping[str, Callable[[_Facts, Any], ContractOutcome]]] = {
    "no_removed": _no_removed,
    "max_change_ratio": _max_change_ratio,
    "max_rows": _max_rows,
    "only_columns": _only_columns,
    "expression": _expression,
    "schema": _schema,
}


def _outcome(name: str, rule: str, limit: str, found: str, text: str) -> ContractOutcome:
    return ContractOutcome(
        relation=name, contract=rule, is_met=not text, limit=limit, found=found, text=text
    )


def _limit_text(limit: Any) -> str:
    return ", ".join(limit) if isinstance(limit, list) else str(limit)


def _rows_text(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"
