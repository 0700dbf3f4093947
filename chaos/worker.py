"""Worker: one process's work on the repository, each operation told before and after."""

from __future__ import annotations

import random
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol

from chaos.compare import wrong_diffs
from chaos.copies import EVERYTHING as EVERY_FILE
from chaos.copies import Copies
from chaos.journal import Line
from chaos.shop import ROW_TABLE, Known, Seen, Shop, is_row, look, own_table, row_item
from chaos.worlds import PLACES, World, Worlds
from dbt.adapters.vcs.commands.branch import create_branch, rename_branch, undelete_branch
from dbt.adapters.vcs.commands.cherry_pick import cherry_pick
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.merge import abort_merge, merge
from dbt.adapters.vcs.commands.optimize import optimize
from dbt.adapters.vcs.commands.restore import restore_branch, restore_relation
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.commands.snapshot import create_snapshot, delete_snapshot
from dbt.adapters.vcs.commands.tag import rename_tag
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    DamagedError,
    InputError,
    NotFoundError,
    RetryError,
    StorageError,
    VcsError,
)
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.plan.delta import Piece
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.exports import export
from dbt.adapters.vcs.table.limits import Limits

REFUSED: Final = (ConflictError, RetryError, InputError)
"""Errors that say that nothing was changed, unless a file was not found, perhaps wrongly."""

_FULL: Final = 12
"""Batches on a branch from which on the worker rather deletes one."""

_ROWS: Final = 5
"""Single rows that a worker has on each of its branches, in each table."""

_MARKS: Final = 12
"""Commits of main and of its branch that it remembers while it lives."""

_TAGS: Final = 2
_SIGNS: Final = (None, "open", "closed")
WEIGHTS: Final[Mapping[str, float]] = {
    "insert": 30,
    "delete": 10,
    "write": 25,
    "publish": 14,
    "update": 7,
    "restore": 8,
    "again": 3,
    "revert": 5,
    "pick": 4,
    "compare": 6,
    "name": 3,
    "export": 3,
    "clone": 3,
    "bring": 5,
    "optimize": 6,
    "gc": 10,
    "tag": 3,
    "untag": 2,
    "read": 9,
    "sign": 6,
    "fsck": 1,
    "copy": 2,
    "mend": 1,
}
"""How often workers do what, one operation against another."""

BUSY: Final[Mapping[str, float]] = {
    **WEIGHTS,
    "insert": 40,
    "delete": 20,
    "write": 40,
    "publish": 30,
    "update": 12,
    "sign": 150,
    "read": 4,
    "gc": 6,
    "export": 1,
    "fsck": 0.1,
    "copy": 0.2,
    "mend": 0.1,
}
"""The same where they do little but write: reading a whole repository takes longest."""


LARGE: Final = 0.15
"""The share of merges that are computed as large ones are."""

_ALLOW: Final = Limits.allow
_LOCK: Final = threading.Lock()
_large: list[int] = []


class Book(Protocol):
    """A journal."""

    def tell(self, **line: Any) -> None:
        """Append a line."""

    def lines(self) -> list[Line]:
        """Return all lines."""


class Worker:
    """One worker; what it knows of the past is in its journal.

    Args:
        name: Its name, which its branches have.
        stamp: What the names of its batches begin with, after its own; new in each round.
        repository: The repository, behind whatever trouble there is.
        plain: The same repository without trouble, to look at the branches at the start.
        journal: What it tells.
        worlds: What its branches may show when the journal begins.
        dice: Decides what it does.

    Attributes:
        weights: How often it does what.
        known: What files that were read without trouble hold.
        copies: Where its copy of the repository is; None if it makes none.
    """

    def __init__(
        self,
        name: str,
        stamp: str,
        *,
        repository: Repository,
        plain: Repository,
        journal: Book,
        worlds: Worlds,
        dice: random.Random,
    ) -> None:
        self.name = name
        self.weights = WEIGHTS
        self.known: Known | None = None
        self.copies: Copies | None = None
        self._stamp = stamp
        self._repository = repository
        self._plain = plain
        self._journal = journal
        self._worlds = worlds
        self._dice = dice
        self._past: list[tuple[str, list[str]]] = []
        self._marks: list[tuple[str, list[str]]] = []
        self._brought = -1
        self._tags: list[str] = []
        self._count = 0
        for line in journal.lines():
            self._follow(line)

    @property
    def branches(self) -> dict[str, str]:
        """The branch of each place."""
        return {place: branch_of(place, self.name) for place in PLACES}

    def settle(self) -> list[str]:
        """Look at the branches without trouble, and tell what they show; return what is wrong."""
        seen, wrong = own_batches(self._plain, self.name, self.known)
        wrong += self._worlds.narrow(seen)
        self._journal.tell(event="seen", seen=seen)
        for problem in wrong:
            self._journal.tell(event="wrong", what=problem)
        return wrong

    def step(self) -> None:
        """Do one operation and tell how it ended."""
        world = self._worlds.only()
        if world is None:
            # One that failed may have happened or not: look before doing the next.
            self.settle()
            world = self._worlds.only() or next(iter(self._worlds.possible))
        operation = self._chosen(world)
        if operation is not None:
            self._do(operation)

    def _follow(self, line: Line) -> None:
        """Take a line of the journal, one's own of now or of an earlier life."""
        event = line.get("event")
        if event == "seen":
            self._worlds.narrow(line["seen"])
            return
        if event == "intended":
            self._count = max(self._count, line["count"])
            if line["op"] == "bring":
                self._brought = max(self._brought, line["index"])
            if line["op"] == "tag":
                self._tags.append(line["name"])
            if line["op"] == "untag":
                self._tags.remove(line["name"])
        if event == "held":
            self._tags.append(line["name"])
        if event == "past":
            self._past.append((line["commit"], line["batches"]))
        self._worlds.follow(line)

    def _tell(self, **line: Any) -> None:
        self._journal.tell(**line)
        self._follow(line)

    def _chosen(self, world: World) -> dict[str, Any] | None:
        """Return an operation that makes sense now, None if the one that was thrown does not."""
        what = self._dice.choices(list(self.weights), list(self.weights.values()))[0]
        place = self._dice.choice(["main", "main", "work", "lab"])
        here = sorted(item for item in getattr(world, place) if not is_row(item))
        if what == "insert" and len(here) >= _FULL:
            what = "delete"
        if what == "insert":
            return {"op": what, "place": place, "batch": self._new_name()}
        if what == "delete":
            both = {item for item in world.main & world.work if not is_row(item)}
            # What only one of two branches lacks comes back by no merge: delete it on either.
            wanted = sorted(both) if place == "work" else here
            batch = self._dice.choice(wanted) if wanted else None
            return batch and {"op": what, "place": place, "batch": batch}
        if what == "write":
            return self._chosen_write(place, getattr(world, place))
        if what in ("restore", "bring"):
            return self._chosen_past(what)
        if what == "again":
            return self._chosen_again(world)
        if what in ("revert", "pick"):
            return self._chosen_change(what)
        if what == "compare":
            known = [*self._past, *self._marks]
            two = self._dice.sample(known, 2) if len(known) > 1 else []
            return {"op": what, "commits": two} if two else None
        if what == "sign":
            texts = [text for text in _SIGNS if text not in (world.sign or {None})]
            return {"op": what, "text": self._dice.choice(texts)}
        if what in ("optimize", "export"):
            return {"op": what, "place": place}
        if what == "name":
            return {"op": what, "name": self._new_name()}
        if what == "tag":
            name = self._new_name()
            return {"op": what, "name": name} if len(self._tags) < _TAGS else None
        if what in ("copy", "mend") and self.copies is None:
            return None
        if what == "untag":
            return {"op": what, "name": self._tags[0]} if self._tags else None
        return {"op": what}

    def _new_name(self) -> str:
        return f"{self.name}.{self._stamp}.{self._count + 1}"

    def _chosen_past(self, what: str) -> dict[str, Any] | None:
        """Return a restore of an earlier commit of lab, or its merge into the old branch."""
        first = self._brought + 1 if what == "bring" else 0
        if len(self._past) <= first:
            return None
        index = self._dice.randrange(first, len(self._past))
        commit, batches = self._past[index]
        place = "lab" if what == "restore" else "old"
        found = {"op": what, "place": place, "commit": commit, "batches": batches}
        return {**found, "index": index} if what == "bring" else found

    def _chosen_again(self, world: World) -> dict[str, Any] | None:
        """Return a restore of its own table alone, on lab."""
        if not self._past:
            return None
        commit, batches = self._dice.choice(self._past)
        prefix = self._row_name("own", "")
        gone = [item for item in sorted(world.lab) if item.startswith(prefix)]
        come = [item for item in batches if item.startswith(prefix)]
        return {"op": "again", "place": "lab", "commit": commit, "gone": gone, "come": come}

    def _chosen_change(self, what: str) -> dict[str, Any] | None:
        """Return the undoing or picking of a commit of lab whose state before is known, too."""
        known = dict(self._past)
        pairs = [
            (commit, parent)
            for commit, _ in self._past[-8:]
            for parent in self._plain.objects.commit(CommitId(commit)).parents
            if parent in known
        ]
        if not pairs:
            return None
        commit, parent = self._dice.choice(pairs)
        found = {"op": what, "place": "lab", "commit": commit}
        return {**found, "then": known[commit], "before": known[parent]}

    def _row_name(self, home: str, number: int | str) -> str:
        return f"{self.name}.{home}-{number}"

    def _chosen_write(self, place: str, here: frozenset[str]) -> dict[str, Any]:
        """Return a write of single rows.

        A row has a branch of its own on which alone it changes, so that no merge conflicts. Its
        own table is overwritten on one branch that is merged, too.
        """
        dice = self._dice
        is_own = place != "main" and dice.random() < 0.4
        home = "own" if is_own else place
        table = own_table(self.name) if is_own else ROW_TABLE
        modes = ["merge", "merge", "merge", "append", "delete", *(["overwrite"] * 2 * is_own)]
        mode = dice.choice(modes)
        prefix = self._row_name(home, "")
        shown = {i.partition("=")[0]: i for i in sorted(here) if i.startswith(prefix)}
        names = [self._row_name(home, number) for number in range(_ROWS)]
        if mode == "append" and dice.random() < 0.9:
            # The others are refused: a key can't be there twice.
            names = [name for name in names if name not in shown]
        if mode == "delete":
            names = [*shown]
        if not names:
            mode, names = "merge", [self._row_name(home, 0)]
        least = 0 if mode == "overwrite" else 1
        most = 1 if mode == "delete" else 3
        chosen = dice.sample(names, min(len(names), dice.randint(least, most)))
        # Rounds have numbers, so no value comes twice.
        value = int(self._stamp) * 1_000_000 + 10 * (self._count + 1)
        rows = {name: value + at for at, name in enumerate(chosen)} if mode != "delete" else {}
        gone = (
            [*shown.values()] if mode == "overwrite" else [shown[n] for n in chosen if n in shown]
        )
        return {
            "op": "write",
            "place": place,
            "table": table.identifier,
            "mode": mode,
            "rows": rows,
            "on": "batch" if mode == "merge" and dice.random() < 0.3 else "",
            "name": chosen[0] if mode == "delete" else "",
            "gone": gone,
            "come": [row_item(*row) for row in rows.items()],
        }

    def _do(self, operation: dict[str, Any]) -> None:
        self._tell(event="intended", count=self._count + 1, **operation)
        try:
            found = getattr(self, f"_{operation['op']}")(operation)
        except REFUSED as error:
            how = "unknown" if isinstance(error, NotFoundError) else "refused"
            self._tell(event=how, error=type(error).__name__, text=str(error))
        except VcsError as error:
            self._tell(event="unknown", error=type(error).__name__, text=str(error))
        except Exception as error:
            # No error of ours: told as it is, because nobody should ever see one.
            text = "".join(traceback.format_exception(error)[-6:])
            self._tell(event="unknown", error=type(error).__name__, text=text, raw=True)
        else:
            self._tell(event="done", op=operation["op"], **found)
            self._remember(operation)
            self._mark(operation, found)

    def _remember(self, operation: dict[str, Any]) -> None:
        """Tell which commit shows the present state of lab."""
        world = self._worlds.only()
        if world is None or operation.get("place") != "lab" or operation["op"] == "optimize":
            return
        try:
            commit = self._plain.branch(self.branches["lab"]).head
            self._tell(event="past", commit=commit, batches=sorted(world.lab))
        except (StorageError, DamagedError) as error:
            self._journal.tell(event="wrong", what=f"damaged: {error}")

    def _mark(self, operation: Line, found: Line) -> None:
        """Remember which commit shows the present state of main or of its branch."""
        world = self._worlds.only()
        place = "main" if operation["op"] == "publish" else operation.get("place", "work")
        if world is None or not found.get("landed") or place not in ("main", "work"):
            return
        if "commit" in found and operation["op"] not in ("sign", "optimize"):
            self._marks.append((found["commit"], sorted(getattr(world, place))))
            del self._marks[:-_MARKS]

    def _shop(self, place: str) -> Shop:
        return Shop(self._repository, self.branches[place], self.name)

    def _insert(self, operation: Line) -> dict[str, Any]:
        commit = self._shop(operation["place"]).insert(operation["batch"])
        return {"commit": commit, "landed": True}

    def _delete(self, operation: Line) -> dict[str, Any]:
        commit = self._shop(operation["place"]).delete(operation["batch"])
        return {"commit": commit, "landed": True}

    def _write(self, operation: Line) -> dict[str, Any]:
        """Write single rows as a Python program does; some as if there were many."""
        shop, mode = self._shop(operation["place"]), operation["mode"]
        table = RelationName("shop", operation["table"])
        if mode == "delete":
            return {"commit": shop.delete_row(table, operation["name"]), "landed": True}
        with beyond_limits(self._is_large):
            report = shop.write(table, operation["rows"], mode, on=operation["on"])
        return {"commit": report.commit, "landed": report.moved}

    def _publish(self, operation: Line) -> dict[str, Any]:
        return self._merge(self.branches["work"], "main")

    def _update(self, operation: Line) -> dict[str, Any]:
        return self._merge("main", self.branches["work"])

    def _bring(self, operation: Line) -> dict[str, Any]:
        return self._merge(operation["commit"], self.branches["old"])

    def _merge(self, source: str, target: str) -> dict[str, Any]:
        """Merge; some as if there were too many rows for anything but SQL."""
        is_large = self._is_large
        with beyond_limits(is_large):
            report = merge(self._repository, source, target, author=self.name)
        landed = report.how != "up_to_date"
        return {"how": report.how, "landed": landed, "large": is_large, "commit": report.after}

    @property
    def _is_large(self) -> bool:
        # Thrown apart, so that what a seed does else stays as it was.
        return random.Random(f"{self.name}.{self._stamp}.{self._count}").random() < LARGE

    def _restore(self, operation: Line) -> dict[str, Any]:
        branch, to = self.branches["lab"], operation["commit"]
        report = restore_branch(self._repository, to, branch=branch, author=self.name)
        return {"commit": report.after, "landed": report.after != report.before}

    def _again(self, operation: Line) -> dict[str, Any]:
        branch, to = self.branches["lab"], operation["commit"]
        table = str(own_table(self.name))
        report = restore_relation(self._repository, table, to, branch=branch, author=self.name)
        return {"commit": report.after, "landed": report.after != report.before}

    def _revert(self, operation: Line) -> dict[str, Any]:
        branch, commit = self.branches["lab"], operation["commit"]
        with beyond_limits(self._is_large):
            report = revert(self._repository, commit, branch=branch, author=self.name)
        return {"commit": report.after, "landed": report.after != report.before}

    def _pick(self, operation: Line) -> dict[str, Any]:
        """Apply a commit of lab to it once more, which matters if it was undone."""
        branch, commit = self.branches["lab"], operation["commit"]
        try:
            with beyond_limits(self._is_large):
                report = cherry_pick(self._repository, commit, branch, author=self.name)
        except ConflictError:
            # It waits for a decision; that of a contract or a failed run would not.
            with suppress(NotFoundError):
                abort_merge(self._repository, branch, author=self.name)
            raise
        return {"commit": report.after, "landed": report.after != report.before}

    def _compare(self, operation: Line) -> dict[str, Any]:
        """Compare two commits of which it knows its own rows; an error is fine."""
        for commit, batches in operation["commits"]:
            shown = look(self._plain, commit, self.known).batches
            own = {batch for batch in shown if batch.startswith(f"{self.name}.")}
            if own != set(batches):
                both = f"{sorted(own)}, not {batches}"
                self._journal.tell(event="wrong", what=f"lost: commit {commit} shows {both}")
        before, after = (CommitId(commit) for commit, _ in operation["commits"])
        dice = random.Random(self._dice.random())
        found = wrong_diffs(self._repository, self._plain, before, after, dice, beyond_limits)
        for problem in found:
            self._journal.tell(event="wrong", what=problem)
        return {}

    def _name(self, operation: Line) -> dict[str, Any]:
        """Name what main shows in each way, rename, delete and bring back; it stays the same."""
        name, repository, author = operation["name"], self._repository, self.name
        head = self._plain.branch("main").head
        # A tag may not hide a branch, so that each has a name of its own.
        branch, tag = f"{name}.branch", f"{name}.tag"
        create_branch(repository, name, head, author=author)
        rename_branch(repository, name, branch, author=author)
        repository.delete_branch(branch, author=author)
        undelete_branch(repository, branch, author=author)
        repository.create_tag(name, head, author=author)
        rename_tag(repository, name, tag, author=author)
        create_snapshot(repository, str(ROW_TABLE), name, head, author=author)
        kept = self._plain.find_tag(tag)
        found = self._plain.branch(branch).head, kept and kept.commit
        if found != (head, head):
            self._journal.tell(event="wrong", what=f"lost: {name} is at {found}, not at {head}")
        repository.delete_branch(branch, author=author)
        repository.delete_tag(tag, author=author)
        delete_snapshot(repository, str(ROW_TABLE), name, author=author)
        return {}

    def _export(self, operation: Line) -> dict[str, Any]:
        report = export(self._repository, self.branches[operation["place"]])
        return {"written": len(report.written)}

    def _clone(self, operation: Line) -> dict[str, Any]:
        """Clone the rows of lab, in the place of the clone before; no merge changes it twice."""
        branch = self.branches["lab"]
        clone_from_snapshot(
            self._repository,
            str(ROW_TABLE),
            f"shop.clone_of_{self.name}",
            branch=branch,
            author=self.name,
            replace=True,
        )
        return {}

    def _optimize(self, operation: Line) -> dict[str, Any]:
        branch = self.branches[operation["place"]]
        report = optimize(self._repository, branch, everything=True, author=self.name)
        return {"tables": len(report.tables), "landed": bool(report.tables)}

    def _gc(self, operation: Line) -> dict[str, Any]:
        report = collect(self._repository, author=self.name)
        return {"files": report.files, "objects": report.objects}

    def _tag(self, operation: Line) -> dict[str, Any]:
        head = self._plain.branch("main").head
        self._tell(event="tagged", name=operation["name"], commit=head)
        self._repository.create_tag(operation["name"], head, author=self.name)
        return {}

    def _untag(self, operation: Line) -> dict[str, Any]:
        self._repository.delete_tag(operation["name"], author=self.name)
        return {}

    def _fsck(self, operation: Line) -> dict[str, Any]:
        """Check everything; what is still wrong at a second look without trouble is damage."""
        if check_repository(self._repository, data=EVERY_FILE).problems:
            for problem in check_repository(self._plain, data=EVERY_FILE).problems:
                self._journal.tell(event="wrong", what=f"damaged: beside writers: {problem}")
        return {}

    def _copy(self, operation: Line) -> dict[str, Any]:
        """Bring the copy up to date: then it shows at least what this worker knows of itself."""
        assert self.copies is not None
        files = self.copies.bring_up_to_date(self._repository.blobs)
        copy = self.copies.opened()
        world = self._worlds.only()
        if copy is None:
            self._journal.tell(event="wrong", what=f"lost: the copy of {self.name} is not there")
            return {}
        seen, wrong = own_batches(copy, self.name, self.known)
        if world is not None:
            for place, batches in seen.items():
                if frozenset(batches) != getattr(world, place):
                    expected = sorted(getattr(world, place))
                    wrong.append(f"lost: the copy shows {batches} on {place}, not {expected}")
        for problem in wrong:
            self._journal.tell(event="wrong", what=f"{problem} (in the copy of {self.name})")
        return {"copied": files}

    def _mend(self, operation: Line) -> dict[str, Any]:
        assert self.copies is not None
        for problem in self.copies.mend(self._repository, self._plain, self._dice):
            self._journal.tell(event="wrong", what=problem)
        return {}

    def _sign(self, operation: Line) -> dict[str, Any]:
        """Change a sign on main: few texts, so that what was collected is made again."""
        before = self._plain.branch("main").head
        commit = self._shop("main").sign(operation["text"])
        # One that is up already changes nothing, and what is returned is another one's commit.
        is_own = self._plain.objects.commit(commit).author == self.name
        return {"commit": commit, "landed": is_own and commit != before}

    def _read(self, operation: Line) -> dict[str, Any]:
        """Read main through the trouble: an error is fine, a wrong answer is not."""
        seen = look(self._repository, self._repository.branch("main").head)
        for problem in seen.wrong:
            self._journal.tell(event="wrong", what=f"silent: a reader was not told: {problem}")
        return {"batches": len(seen.batches)}


@contextmanager
def beyond_limits(is_large: bool) -> Iterator[None]:
    """Let whatever the process computes meanwhile be too large for anything but SQL.

    Nothing changes unless `is_large`.
    """
    if not is_large:
        yield
        return
    with _LOCK:
        _large.append(1)
        Limits.allow = _none  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        with _LOCK:
            _large.pop()
            # Threads overlap: the last one that wants it ends it.
            if not _large:
                Limits.allow = _ALLOW  # type: ignore[method-assign]


def _none(limits: Limits, pieces: Iterable[Piece]) -> bool:
    return not any(True for _ in pieces)


def branch_of(place: str, worker: str) -> str:
    """Return the branch of a worker's place."""
    return "main" if place == "main" else f"{place}/{worker}"


def own_batches(
    repository: Repository, worker: str, known: Known | None = None
) -> tuple[dict[str, list[str]], list[str]]:
    """Return what the branches show of a worker's batches, and what is wrong with any batch."""
    seen: dict[str, list[str]] = {}
    wrong: list[str] = []
    for place in PLACES:
        try:
            found = look(repository, repository.branch(branch_of(place, worker)).head, known)
        except VcsError as error:
            wrong.append(f"damaged: {branch_of(place, worker)} can't be read: {error}")
            found = Seen(frozenset(), ())
        own = {batch for batch in found.batches if batch.startswith(f"{worker}.")}
        seen[place] = sorted(own)
        wrong += found.wrong
    try:
        seen["sign"] = Shop(repository, "main", worker).signs()
    except VcsError as error:
        wrong.append(f"damaged: the sign of {worker} can't be read: {error}")
        seen["sign"] = []
    return seen, wrong
