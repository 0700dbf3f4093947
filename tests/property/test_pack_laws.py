"""The law of packs: whoever reads all refs with their help sees what each log says by itself."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.ids import CommitId, Micros
from dbt.adapters.vcs.core.model import Forwarding, RefMove
from dbt.adapters.vcs.core.store import ref_packs, refs
from dbt.adapters.vcs.core.store.blobs import BlobInfo, FolderEnd, MemoryBlobs, folder_ends
from dbt.adapters.vcs.core.store.branch_names import quote
from dbt.adapters.vcs.core.store.moves import Forwards, Ref, digest_of, opened, redacted
from dbt.adapters.vcs.core.store.ref_packs import PACKED
from dbt.adapters.vcs.core.store.refs import RefPosition, RefStore

# In the order of names and in that of their folders they differ: `/` is `=2F`.
NAMES = ("B", "a", "a-b", "a/b", "a0", "z")
PROCESSES = 3
TEXTS = ("secret", "hidden")


class Ticking(MemoryBlobs):
    """A store whose time goes on with each write; it has tags, or times alone."""

    def __init__(self, has_tags: bool) -> None:
        self.now, self.has_tags = 0, has_tags
        super().__init__(self.tick)

    def tick(self) -> Micros:
        self.now += 1
        return Micros(self.now)

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        for info in super().walk(folder):
            yield info if self.has_tags else info._replace(tag="")

    def ends(self, folder: str) -> list[FolderEnd]:
        return folder_ends(folder, self.walk(folder))


class Life:
    """A store of refs, and processes that each remember what they have read."""

    def __init__(self, has_tags: bool) -> None:
        self.blobs = Ticking(has_tags)
        self.count = 0
        self.processes = [RefStore(self.blobs) for _ in range(PROCESSES)]

    def move(self, who: int, name: str) -> None:
        """Create a ref, or move it on."""
        self._follow(who, name, f"{self.count:064x}")

    def delete(self, who: int, name: str) -> None:
        """Delete a ref, whose log stays."""
        self._follow(who, name, None)

    def _follow(self, who: int, name: str, commit: str | None) -> None:
        self.count += 1
        process = self.processes[who]
        last = process.read("heads", name)
        move = RefMove(
            name=name,
            commit=None if commit is None else CommitId(commit),
            at=Micros(self.count),
            by="ann",
            action="move",
            note=TEXTS[self.count % 2],
        )
        assert process.advance("heads", move, after=last.seq if last else 0)

    def read(self, who: int, name: str) -> None:
        """Read all refs and where they were, which a process may pack much later."""
        process = self.processes[who]
        for ref in process.read_listed("heads", is_checked=True):
            process.positions("heads", ref, lambda at: (at.seq + self.count) % 3 > 0)

    def show(self, who: int, name: str) -> None:
        """Read all refs as commands that show them do."""
        list(self.processes[who].read_listed("heads"))

    def check(self, who: int, name: str) -> None:
        """Read all logs."""
        assert list(self.processes[who].check("heads")) == []

    def pack(self, who: int, name: str) -> None:
        """Write what a process remembers, maybe from long ago."""
        self.processes[who].pack("heads")

    def redact(self, who: int, name: str) -> None:
        """Take a text out of all moves of a log, as a purge does; the others are as long."""
        for path in sorted(info.path for info in self.blobs.walk(f"refs/heads/{quote(name)}")):
            old = self.blobs.get(path)
            new = encode_record(redacted(opened(old, path), lambda text: text[::-1]))
            if new != old:
                moves = {digest_of(old): digest_of(new)}
                empty: dict[str, str] = {}
                Forwards(self.blobs).put(
                    Forwarding(
                        commits=empty, trees=empty, snapshots=empty, segments=empty, moves=moves
                    )
                )
                self.blobs.replace_all({path: new})
        self._forget()

    def drop(self, who: int, name: str) -> None:
        """Lose a whole log, which begins again with number 1: nobody of this project does it."""
        for info in list(self.blobs.walk(f"refs/heads/{quote(name)}")):
            self.blobs.delete(info.path)
        self._forget(who)

    def _forget(self, keeps: int | None = None) -> None:
        """Start all processes again, but for one that stands still and packs what it knows."""
        for number in range(PROCESSES):
            if number != keeps:
                self.processes[number] = RefStore(self.blobs)
        self.stale = keeps

    stale: int | None = None

    def lose(self, who: int, name: str) -> None:
        """Lose one of the files of the pack."""
        parts = sorted(info.path for info in self.blobs.walk(PACKED))
        if parts:
            self.blobs.delete(parts[who % len(parts)])

    def damage(self, who: int, name: str) -> None:
        """Flip a bit in one of the files of the pack."""
        parts = sorted(info.path for info in self.blobs.walk(PACKED))
        if parts:
            path = parts[who % len(parts)]
            data = bytearray(self.blobs.get(path))
            data[self.count * 37 % len(data)] ^= 1
            self.blobs.replace_all({path: bytes(data)})

    def told(self) -> list[Ref]:
        """Return what each log says by itself."""
        oracle = RefStore(self.blobs)
        found = (oracle.read("heads", name) for name in oracle.names("heads"))
        return [ref for ref in found if ref is not None]

    def was(self, name: str) -> list[RefPosition]:
        """Return where a ref was, as its log says."""
        log = RefStore(self.blobs).moves("heads", name)
        return [RefPosition(ref.seq, ref.move.at, ref.move.commit) for ref in log]


STEPS: dict[str, Callable[[Life, int, str], None]] = {
    name: getattr(Life, name)
    for name in (
        "move",
        "delete",
        "read",
        "show",
        "check",
        "pack",
        "redact",
        "drop",
        "lose",
        "damage",
    )
}
Step = tuple[str, int, str]
LIVES = st.lists(
    st.tuples(
        # Most steps are those that make a history.
        st.sampled_from([*STEPS, *("move", "read", "pack") * 3]),
        st.integers(0, PROCESSES - 1),
        st.sampled_from(NAMES),
    ),
    max_size=40,
)
ALL: list[Step] = [("move", 0, name) for name in NAMES]
LATE: list[Step] = [*ALL, ("read", 1, "a"), ("drop", 1, "a"), ("move", 0, "a"), ("pack", 1, "a")]
"""A process packs what it read before a log was lost and began again."""


@pytest.fixture(autouse=True)
def small_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (refs, ref_packs):
        monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(refs, "_FIRST", 2)
    monkeypatch.setattr(ref_packs, "_ENTRIES", 2)
    monkeypatch.setattr(ref_packs, "_HELD", 1)


@given(LIVES, st.booleans(), st.booleans())
@example(LATE, True, False)
@example(LATE, False, True)
def test_refs_are_listed_as_each_log_says(
    steps: list[Step], has_tags: bool, is_checked: bool
) -> None:
    life = Life(has_tags)
    for step, who, name in steps:
        if who == life.stale and step not in ("pack", "redact", "drop"):
            # It stands still, and knows logs that aren't there any more.
            continue
        STEPS[step](life, who, name)
        told = life.told()
        newcomer = RefStore(life.blobs)
        assert list(newcomer.read_listed("heads", is_checked=is_checked)) == told
        for ref in told:
            assert newcomer.positions("heads", ref, lambda _: True) == life.was(ref.name)
        some = [ref.name for ref in told][::2]
        assert [ref.name for ref in newcomer.read_listed("heads", names=some)] == some
    for number, process in enumerate(life.processes):
        if number != life.stale:
            assert list(process.read_listed("heads")) == life.told()


@given(LIVES)
def test_a_pack_that_was_just_written_answers_for_all_refs(steps: list[Step]) -> None:
    life = Life(has_tags=True)
    for step, who, name in steps:
        if who != life.stale or step in ("redact", "drop"):
            STEPS[step](life, who, name)
    packer = RefStore(life.blobs)
    expected = list(packer.read_listed("heads", is_checked=True))
    packer.pack("heads")
    # No file of a log is read: it could as well not be there.
    reader = RefStore(Unreadable(life.blobs))
    assert list(reader.read_listed("heads", is_checked=True)) == expected


class Unreadable(MemoryBlobs):
    """Shows what another store has, and reads everything but moves."""

    def __init__(self, inner: MemoryBlobs) -> None:
        super().__init__()
        self._blobs = inner._blobs

    def get(self, path: str) -> bytes:
        assert not path.startswith("refs/"), f"{path} was read"
        return super().get(path)
