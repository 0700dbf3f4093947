"""Repository: objects, refs, landing, and the few operations that everything above builds on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from dbt.adapters.vcs.core.branches import NO_FACTS, Branch, Names, Protection, SnapshotNames, Tag
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    DamagedError,
    FormatError,
    InputError,
    VcsError,
    listed,
)
from dbt.adapters.vcs.core.graph import CommitGraph
from dbt.adapters.vcs.core.groups import Combine, GroupLandings, Landed, LandingPlan, Offer
from dbt.adapters.vcs.core.ids import Clock, CommitId, Micros, TreeId, system_clock
from dbt.adapters.vcs.core.maintenance import Maintenance, ReplacedError
from dbt.adapters.vcs.core.model import Absent, Commit, Run, Tree
from dbt.adapters.vcs.core.resolver import Range, Resolver
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.moves import Ref, Space
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.opening import (
    CONDEMNED,
    HEADER_PATH,
    IN_PIECES,
    Header,
    check_vacant,
    new_header,
    read_header,
    write_header,
)
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.core.tree_changes import (
    Sides,
    TreeChanges,
    TreeDiff,
    TreeMerge,
    TreeReader,
    diff_trees,
    edit_tree,
    merge_trees,
)
from dbt.adapters.vcs.core.turns import Turn, Turns

NO_FOLLOWERS: Final[Mapping[str, CommitId]] = {}

# Relations that the message of a conflict names.
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A tree made from the tree of `base`, to land on a branch as one commit.

    Attributes:
        parents: Further parents, after the head.
        state: The branch's new state; None keeps the present one.
        allow_empty: Make a commit even if the tree is the head's, as git's option does.
        promotes: True if a protected branch may take it, since its requirements were checked.
        combine: What adds rows of plans to a table that this work or another plan changed; None to
            land this work alone.
        offer: The same work as a plan that others may land.
        after: The branch's move that it was checked against and that must still be the last; None
            to merge with what others have landed.
        read: Ids of the commits and versions that it was made from. If a purge has replaced one
            of them, its rows may be in new files, so it doesn't land.
    """

    branch: str
    base: CommitId
    tree: TreeId
    author: str
    message: str
    run: Run | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    parents: tuple[CommitId, ...] = ()
    action: str = "commit"
    state: Mapping[str, str] | None = None
    allow_empty: bool = False
    promotes: bool = False
    after: Ref | None = None
    read: Collection[str] = ()
    combine: Combine | None = None
    offer: Offer | None = None


class BranchMovedError(ConflictError):
    """A branch was moved, or its state changed, after a proposal was checked against it."""


class TreeConflictError(ConflictError):
    """Both sides changed the same relation differently.

    Attributes:
        head: The branch's head that the work could not be merged with.
        merge: The conflicts, and the changes that would merge cleanly.
    """

    def __init__(self, message: str, *, head: CommitId, merge: TreeMerge) -> None:
        super().__init__(message)
        self.head = head
        self.merge = merge


class Repository(CommitGraph):
    """Versions of relations at one location; safe to share between threads.

    Attributes:
        blobs: The store, for block files.
        objects: The immutable half.
        refs: The mutable half.
        snapshots: Names of versions of single tables.
        clock: The source of times.
        maintenance: The record of purges, for which every move of a name waits.
        turns: Whose turn it is to land on a branch.
        groups: What lands those who wait for their turn.
        default_branch: The branch that others start from by default.
        id: Identity of the repository, whatever its location.
        header: What the repository records about itself.
    """

    def __init__(self, blobs: Blobs, header: Header, clock: Clock) -> None:
        self.blobs = blobs
        super().__init__(ObjectStore(blobs))
        self.refs = RefStore(blobs)
        self.clock = clock
        self.default_branch = header.default_branch
        self.id = header.id
        self.header = header
        # Decision 36: whoever moves a name that leads to history waits for a purge.
        self.maintenance = gate = Maintenance(blobs, self.objects, self.refs, clock)
        self.snapshots = SnapshotNames(self.objects, self.refs, clock, gate)
        self._heads = Names(self.objects, self.refs, clock, "heads", gate=gate)
        self._tags = Names(self.objects, self.refs, clock, "tags", gate=gate)
        self._resolver = Resolver(
            blobs, self.objects, self.refs, self._heads, self._tags, clock, self.merge_base
        )
        self.turns = Turns(blobs)
        self.groups = GroupLandings(self, self._heads, gate.current)

    @property
    def uri(self) -> str:
        """Where it is, for messages."""
        return self.blobs.uri

    @classmethod
    def create(
        cls,
        blobs: Blobs,
        *,
        default_branch: str = "main",
        author: str,
        clock: Clock = system_clock,
    ) -> Repository:
        """Make a location a repository with an empty default branch.

        An existing repository is opened, even if another process has only just made it. The header
        is written last, so after a crash the location is not yet a repository.

        Raises:
            InputError: Other files are at the location, or the branch's name is not allowed.
            StorageError: The store can't create a file only if it is absent.
        """
        if blobs.exists(HEADER_PATH):
            return cls.open(blobs, clock=clock)
        check_vacant(blobs)
        header = new_header(default_branch)
        new = cls(blobs, header, clock)
        # A name that isn't allowed is refused before anything is written.
        new._heads.check_new(default_branch)
        tree = TreeId(new.objects.put(Tree()))
        first = Commit(
            tree=tree,
            parents=(),
            author=author,
            committed_at=clock(),
            message="Create the repository",
        )
        # Another process may be creating it, too, or has died on the way.
        if new.find_branch(default_branch) is None:
            first_id = CommitId(new.objects.put(first))
            # Without the gate: there is no purge where there is no repository.
            heads = Names(new.objects, new.refs, clock, "heads")
            heads.follow(None, default_branch, first_id, author=author, action="create")
        # Before anybody relies on it: a store that ignores put-if-absent loses commits.
        new.objects.check_write_once(Tree())
        write_header(blobs, header)
        # Opened again: another process may have written its own header first.
        return cls.open(blobs, clock=clock)

    @classmethod
    def open(cls, blobs: Blobs, *, clock: Clock = system_clock) -> Repository:
        """Return the repository at a location.

        Raises:
            NotFoundError: There is none.
            FormatError: Its format is none that this version of dbt-vcs knows.
            DamagedError: Its header is damaged.
        """
        return cls(blobs, read_header(blobs), clock)

    def check_upgraded(self, verb: str) -> None:
        """Check that the repository has a format that is safe to collect.

        Raises:
            FormatError: It has an older one, whose writers don't see what is being deleted.
        """
        # Decision 41: writers of older formats don't read the lists of condemned names.
        if self.header.format < CONDEMNED:
            raise FormatError(
                f"{verb} needs format {CONDEMNED}, and the repository {self.uri} has format "
                f"{self.header.format}: the versions of dbt-vcs that write it don't see what is "
                "about to be deleted. Nothing was changed. When none of them is in use any more, "
                "run: dbt-vcs upgrade"
            )

    def branches(
        self,
        on_damage: Callable[[DamagedError], None] = lambda _: None,
        names: Iterable[str] | None = None,
    ) -> list[Branch]:
        """Return all branches, or those of some names, whose log is whole, sorted by name.

        `on_damage` is told of the others, so that one of them stops no work on the rest. They are
        as a listing shows them, which may be a moment old.
        """
        return list(self.each_branch(on_damage, names))

    def each_branch(
        self,
        on_damage: Callable[[DamagedError], None] = lambda _: None,
        names: Iterable[str] | None = None,
        *,
        takes_few: bool = False,
    ) -> Iterator[Branch]:
        """Yield what `branches` returns; `takes_few` if only the first ones are going to be taken.

        Each of few branches takes requests of its own. To read many, all are listed.
        """
        for head, ref in self._heads.each(on_damage, names, takes_few=takes_few):
            yield Branch(ref.name, head, ref)

    def branch_names(self, prefix: str = "") -> list[str]:
        """Return the names that begin so, sorted, of all branches that ever existed.

        It is one listing. Those of deleted branches are among them.
        """
        return self.refs.names("heads", prefix)

    def find_branch(self, name: str) -> Branch | None:
        """Return a branch, None if it doesn't exist."""
        found = self._heads.find(name)
        return None if found is None else Branch(name, *found)

    def branch(self, name: str) -> Branch:
        """Return a branch.

        Raises:
            NotFoundError: It doesn't exist; the message names near matches.
        """
        return Branch(name, *self._heads.get(name))

    def branch_at(self, name: str, last: Ref | None) -> Branch:
        """Return a branch as its last move has it, None if there is none.

        Raises:
            NotFoundError: It doesn't exist; the message names near matches.
        """
        return Branch(name, *self._heads.shown(name, last))

    def create_branch(
        self,
        name: str,
        at: CommitId,
        *,
        author: str,
        note: str = "",
        state: Mapping[str, str] = NO_FACTS,
        check: bool = True,
    ) -> Branch:
        """Create a branch; nothing is copied, however large its tables are.

        `check` is False for a former branch's name or one made from an existing name, so that
        names from earlier versions stay usable.

        Raises:
            InputError: The branch already exists, or the name is not allowed.
            DamagedError: There is no such commit.
        """
        # Read for the error alone: it should come here, and not from whoever reads the branch.
        self.objects.commit(at)
        ref = self._heads.create(name, at, author=author, note=note, state=state, check=check)
        return Branch(name, at, ref)

    def rename(self, space: Space, name: str, new: str, *, author: str) -> None:
        """Rename a branch (`heads`) or tag (`tags`); its log stays under the old name.

        Raises:
            NotFoundError: It doesn't exist.
            InputError: The new name is taken, or is not allowed.
            ProtectedError: It is protected.
            RetryError: Others wrote under both names meanwhile; the old one still exists.
        """
        (self._heads if space == "heads" else self._tags).rename(name, new, author=author)

    def delete_branch(self, name: str, *, author: str, note: str = "") -> None:
        """Delete a branch; its log is kept, so it can be created again at `<name>@{1}`.

        Raises:
            NotFoundError: It doesn't exist.
            InputError: It is the default branch.
            ProtectedError: It is protected.
        """
        if name == self.default_branch:
            raise InputError(
                f"The branch {name!r} is the repository's default branch and can't be deleted: "
                "other branches start from it."
            )
        self._heads.delete(name, author=author, note=note)

    def delete_unmoved(self, branch: Branch, *, author: str, note: str = "") -> bool:
        """Delete a branch unless it has moved since it was read; return whether it was deleted.

        Raises:
            ProtectedError: It is protected.
        """
        return self._heads.remove(branch.ref, author=author, note=note)

    def set_state(self, name: str, state: Mapping[str, str], *, author: str) -> Branch:
        """Replace a branch's state without moving it, even if it moves meanwhile.

        Raises:
            NotFoundError: It doesn't exist.
        """
        return Branch(name, *self._heads.change_state(name, lambda _: state, author=author))

    def protect(self, name: str, protection: Protection | None, *, author: str) -> Branch:
        """Protect a branch, so that it only takes promotions, or remove its protection.

        Raises:
            NotFoundError: It doesn't exist.
        """
        return Branch(name, *self._heads.protect(name, protection, author=author))

    def ensure_protection(self, name: str, wanted: Protection | None, *, author: str) -> None:
        """Protect a branch as its project wants, if it exists and isn't protected so already."""
        found = self.find_branch(name)
        if wanted is not None and found is not None and found.protection != wanted:
            self.protect(name, wanted, author=author)

    def protect_tag(self, name: str, is_protected: bool, *, author: str) -> Tag:
        """Protect a tag, so that it can't be deleted or renamed, or remove its protection.

        Raises:
            NotFoundError: It doesn't exist.
        """
        protection = Protection() if is_protected else None
        return Tag(name, *self._tags.protect(name, protection, author=author))

    def move_branch(
        self,
        branch: Branch,
        to: CommitId,
        *,
        author: str,
        action: str,
        note: str = "",
        promotes: bool = False,
        state: Mapping[str, str] | None = None,
    ) -> Branch | None:
        """Point a branch to an existing commit, unless it has moved since it was read.

        Returns None if it has moved: read it and decide again. `state` is its new state; None
        keeps the present one.

        Raises:
            ProtectedError: The branch only takes promotions, and this is not one.
        """
        branch.check_open(promotes=promotes)
        self.objects.commit(to)
        state = branch.state if state is None else state
        ref = self._heads.follow(
            branch.ref, branch.name, to, author=author, action=action, note=note, state=state
        )
        return None if ref is None else Branch(branch.name, to, ref)

    def tags(
        self,
        on_damage: Callable[[DamagedError], None] = lambda _: None,
        names: Iterable[str] | None = None,
    ) -> list[Tag]:
        """Return all tags, or those of some names, whose log is whole; see `branches`."""
        return [Tag(ref.name, commit, ref) for commit, ref in self._tags.each(on_damage, names)]

    def count_names(self) -> int:
        """Return how many branches and tags ever existed, from two listings."""
        return self.refs.count("heads") + self.refs.count("tags")

    def find_tag(self, name: str) -> Tag | None:
        """Return a tag, None if it doesn't exist."""
        found = self._tags.find(name)
        return None if found is None else Tag(name, *found)

    def create_tag(self, name: str, at: CommitId, *, author: str, note: str = "") -> Tag:
        """Create a tag for a commit.

        Raises:
            InputError: The tag already exists, or the name is not allowed.
            DamagedError: There is no such commit.
        """
        self.objects.commit(at)
        ref = self._tags.create(name, at, author=author, note=note, state=NO_FACTS)
        return Tag(name, at, ref)

    def delete_tag(self, name: str, *, author: str) -> None:
        """Delete a tag; its log is kept.

        Raises:
            NotFoundError: It doesn't exist.
            ProtectedError: It is protected.
        """
        self._tags.delete(name, author=author)

    def resolve(self, revision: str) -> CommitId:
        """Return the commit that a revision names; `core.resolver` has the grammar.

        Raises:
            NotFoundError: It names no commit.
            InputError: It is not a revision, or names several commits.
        """
        return self._resolver.resolve(revision)[0]

    def resolve_ref(self, revision: str) -> tuple[CommitId, Branch | Tag | None]:
        """Return what `resolve` does, and the branch or tag that the revision is the name of.

        A tag hides a branch of the same name, as in all revisions; `heads/<name>` is the branch.

        Raises:
            NotFoundError: It names no commit.
            InputError: It is not a revision, or names several commits.
        """
        return self._resolver.resolve(revision)

    def find_ref(self, revision: str) -> Branch | Tag | None:
        """Return the branch or tag of `resolve_ref`; None for any other text."""
        return self._resolver.find_ref(revision)

    def is_known(self, name: str) -> bool:
        """Return whether a text is itself the name of a commit, whatever characters it has."""
        return self._resolver.find_name(name) is not None

    def resolve_range(self, text: str | Range) -> tuple[CommitId, CommitId]:
        """Return both ends of `a..b`, or the merge base and b of `a...b`.

        Raises:
            InputError: It is not a range.
            NotFoundError: An end names no commit, or `a...b` have no common ancestor.
        """
        return self._resolver.resolve_range(text)

    def tree(self, commit: CommitId) -> TreeReader:
        """Return what a commit shows."""
        return TreeReader(self.objects, self.objects.commit(commit).tree)

    def diff(self, old: CommitId, new: CommitId) -> TreeDiff:
        """Return the relations and schemas that differ between two commits."""
        before, after = (self.objects.tree(self.objects.commit(id).tree) for id in (old, new))
        return diff_trees(before, after, self.objects.relations)

    def edit(self, base: TreeId, changes: TreeChanges) -> TreeId:
        """Apply changes to a tree and store the result.

        Raises:
            InputError: Spark's catalog does not accept a name; nothing was written.
            NotFoundError: A relation is put into a schema that doesn't exist.
        """
        return edit_tree(self.objects, base, changes, in_pieces=self.header.format >= IN_PIECES)

    def land(self, proposal: Proposal, branch: Branch | None = None) -> Landed:
        """Put a tree that was made from another one's on a branch, as one commit.

        If the branch has moved since, both are merged, relation by relation. No commit is made if
        that changes nothing and the head already has all of the further parents among its
        ancestors, unless the proposal allows it. `branch` is the branch if it was just read.

        Raises:
            NotFoundError: There is no such branch.
            ProtectedError: The branch accepts only promotions, and this is not one.
            BranchMovedError: It moved after what the proposal was checked against.
            TreeConflictError: Both sides changed one relation; nothing was changed.
            ReplacedError: A purge has replaced what it was made from; nothing was changed.
            RetryError: Others were first every time; nothing was changed.
        """
        # What is missing is found here, and not when a branch names it.
        base = self.objects.commit(proposal.base)
        self.objects.tree(proposal.tree)
        for parent in proposal.parents:
            self.objects.commit(parent)
        with self.turns.on(proposal.branch) as turn:
            for _ in turn.attempts(f"land on the branch {proposal.branch!r}"):
                landed = self._landed(
                    proposal, base.tree, turn, branch or self.branch(proposal.branch)
                )
                if landed is not None:
                    return landed
                # Whoever lost a race has to see by whom.
                branch = None
        raise AssertionError("attempts raises when it ends")

    def _landed(
        self, proposal: Proposal, base: TreeId, turn: Turn, branch: Branch
    ) -> Landed | None:
        """Put a proposal on its branch as it was read; None if another writer was first."""
        head, ref = branch.head, branch.ref
        if proposal.offer is not None:
            found = self.groups.landed_by_others(proposal.offer, proposal.base, ref)
            if found is not None:
                return found
        if proposal.after not in (None, ref):
            raise BranchMovedError(
                f"The branch {branch.name!r} moved after this work was checked against it. "
                "Nothing was changed. Check it again."
            )
        tree = self._merged_tree(proposal, base, branch)
        parents = self._new_parents(proposal, branch)
        changes = tree != self.objects.commit(head).tree or parents
        # A parent that is new counts as a change: it says that a merge needn't be done again.
        if not (changes or proposal.allow_empty):
            kept = self._keep(proposal, branch)
            return Landed(head, False, head, "up_to_date") if kept else None
        branch.check_open(promotes=proposal.promotes)
        commit = self.make_commit(proposal, tree, (head, *parents))
        plans = self.groups.follow(branch, commit, proposal.combine, turn)
        own = {} if proposal.offer is None else proposal.offer.names(commit)
        try:
            moved = self._move(proposal, branch, commit, proposal.action, own, plans)
        except ReplacedError:
            if not plans:
                raise
            # One of the plans may need what a purge has replaced: its owner hears of that.
            turn.behind, turn.plans = [], None
            return None
        if moved is None:
            return None
        if proposal.offer is not None:
            proposal.offer.settled()
        turn.landed(plans)
        *_, last = commit, *plans.values()
        self._land_others(Branch(branch.name, last, moved), proposal.combine, turn)
        simple = head == proposal.base
        return Landed(commit, True, head, "fast_forward" if simple else "merge")

    def _merged_tree(self, proposal: Proposal, base: TreeId, branch: Branch) -> TreeId:
        # As in git's merge, ours is the branch's side, and theirs the work that comes to it.
        ours = self.objects.commit(branch.head).tree
        # Nobody else changed anything, or they made the same change.
        if ours in (base, proposal.tree):
            return proposal.tree
        if proposal.tree == base:
            return ours
        read = self.objects.tree
        merge = merge_trees(read(base), read(ours), read(proposal.tree), self.objects.relations)
        if merge.conflicts or merge.schema_conflicts:
            raise TreeConflictError(
                _conflict_message(branch.name, merge), head=branch.head, merge=merge
            )
        changes = TreeChanges(relations=merge.relations, schemas=merge.schemas)
        return self.edit(ours, changes)

    def _new_parents(self, proposal: Proposal, branch: Branch) -> tuple[CommitId, ...]:
        """Return the further parents that are not yet ancestors of the head."""
        wanted = dict.fromkeys(proposal.parents)
        return tuple(parent for parent in wanted if not self.is_ancestor(parent, branch.head))

    def make_commit(
        self, proposal: Proposal | LandingPlan, tree: TreeId, parents: tuple[CommitId, ...]
    ) -> CommitId:
        """Store the commit of a proposal or plan."""
        # Later than every parent, so that logs can be sorted by time alone.
        commit = Commit(
            tree=tree,
            parents=parents,
            author=proposal.author,
            committed_at=Micros(max(self.clock(), self.latest(parents) + 1)),
            message=proposal.message,
            run=proposal.run,
            metadata={} if isinstance(proposal, LandingPlan) else dict(proposal.metadata),
        )
        id = CommitId(self.objects.put(commit))
        # Decision 36: looked at once more before the ref moves.
        self.objects.note_read(id, proposal.read)
        return id

    def _keep(self, proposal: Proposal, branch: Branch) -> bool:
        """Leave the branch at its head; its state may still change."""
        if proposal.state is None or dict(proposal.state) == branch.ref.move.state:
            return True
        return self._move(proposal, branch, branch.head, "state") is not None

    def _move(
        self,
        proposal: Proposal,
        branch: Branch,
        commit: CommitId,
        action: str,
        own: Mapping[str, str] = NO_FACTS,
        plans: Mapping[str, CommitId] = NO_FOLLOWERS,
    ) -> Ref | None:
        state = branch.ref.move.state if proposal.state is None else proposal.state
        note = _note(proposal.message, len(plans))
        if plans:
            *_, commit = plans.values()
        return self._heads.follow(
            branch.ref,
            branch.name,
            commit,
            author=proposal.author,
            action=action,
            note=note,
            state=state,
            plans={**own, **plans},
        )

    def _land_others(self, branch: Branch, combine: Combine | None, turn: Turn) -> None:
        """Land plans that were put up while this writer landed: it has at hand what that takes.

        `branch` is as this writer has just moved it.
        """
        # This work has landed. Who isn't taken along lands in turn, and hears of any error.
        with suppress(VcsError):
            while turn.go_on():
                plans = self.groups.follow(branch, branch.head, combine, turn)
                if not plans:
                    return
                made = list(plans.values())
                first, head = self.objects.commit(made[0]), made[-1]
                moved = self._heads.follow(
                    branch.ref,
                    branch.name,
                    head,
                    author=first.author,
                    action="commit",
                    note=_note(first.message, len(plans) - 1),
                    state=branch.state,
                    plans=plans,
                )
                if moved is None:
                    return
                turn.landed(plans)
                branch = Branch(branch.name, head, moved)


def _note(message: str, others: int) -> str:
    """Return the note of a move: the first line of a message, and how many land with it."""
    line = message.partition("\n")[0]
    return f"{line} (and {others} of others)" if others else line


def _conflict_message(branch: str, merge: TreeMerge) -> str:
    found = [f"{name} ({_sides_text(triple)})" for name, triple in merge.conflicts.items()]
    found += [
        f"schema {name} ({_sides_text(triple)})" for name, triple in merge.schema_conflicts.items()
    ]
    return (
        f"The branch {branch!r} moved since this work began, and both sides changed: "
        f"{listed(found, _SHOWN)}. Nothing was changed on {branch!r}. Build these again from its "
        "new head, or merge it first and choose a side."
    )


def _sides_text(triple: Sides[Any]) -> str:
    words = []
    for side, value in (("there", triple.ours), ("here", triple.theirs)):
        if value is Absent:
            words.append(f"dropped {side}")
        else:
            words.append(f"{'created' if triple.base is Absent else 'changed'} {side}")
    return ", ".join(words)
