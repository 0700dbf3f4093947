"""Check: what the repository shows after a round, against what it must show."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from chaos.calendar import HOUR
from chaos.copies import EVERYTHING
from chaos.faults import Trouble
from chaos.ground import Ground
from chaos.journal import Line
from chaos.shop import Known, look
from chaos.worker import own_batches
from chaos.worlds import Worlds
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.repository import Repository

_SAMPLES = 5
_CARRIED = 15
_RECENT = 12 * HOUR
"""What a branch showed before may have been collected by now."""


def sorted_out(wrong: list[str]) -> dict[str, int]:
    """Return how many problems are of each kind."""
    kinds = [problem.partition(":")[0] for problem in wrong]
    return {
        "lost": sum(kind in ("lost", "risen", "damaged") for kind in kinds),
        "mixed": kinds.count("mixed"),
        "silent": kinds.count("silent"),
    }


def replayed(worlds: Worlds, lines: list[Line]) -> Worlds:
    """Return what a worker's branches may show at the end of a journal."""
    for line in lines:
        if line["event"] == "seen":
            worlds.narrow(line["seen"])
        else:
            worlds.follow(line)
    return worlds


def check(
    repository: Repository,
    worlds: Mapping[str, Worlds],
    journals: Mapping[str, list[Line]],
    dice: random.Random,
    known: Known | None = None,
) -> list[str]:
    """Return all that is wrong, a sentence each; `worlds` are narrowed to what is there.

    Args:
        repository: The repository, opened anew and without trouble.
        worlds: What each worker's branches could show when its journal began.
        journals: What each worker told.
        dice: Chooses the commits that are read whole.
        known: What files that were read before hold.
    """
    known = {} if known is None else known
    wrong = [
        f"damaged: {problem}" for problem in check_repository(repository, data=EVERYTHING).problems
    ]
    for worker, lines in journals.items():
        wrong += [line["what"] for line in lines if line["event"] == "wrong"]
        replayed(worlds[worker], lines)
        seen, torn = own_batches(repository, worker, known)
        wrong += torn
        wrong += [f"{problem} (of {worker})" for problem in worlds[worker].narrow(seen)]
        wrong += _wrong_tags(repository, lines, known)
    wrong += _wrong_commits(repository, dice, known)
    return list(dict.fromkeys(wrong))


def held_tags(lines: list[Line]) -> dict[str, str]:
    """Return the commits of the tags that were acknowledged and not deleted since, by name."""
    held: dict[str, str] = {}
    last: Line = {}
    for line in lines:
        event = line["event"]
        if event == "tagged":
            last = line
        elif event == "intended" and line["op"] == "untag":
            held.pop(line["name"], None)
        elif event == "held" or (event == "done" and line["op"] == "tag"):
            tag = line if event == "held" else last
            held[tag["name"]] = tag["commit"]
    return held


def _wrong_tags(repository: Repository, lines: list[Line], known: Known) -> list[str]:
    """Return what is wrong with a worker's tags."""
    wrong: list[str] = []
    for name, commit in held_tags(lines).items():
        tag = repository.find_tag(name)
        if tag is None or tag.commit != commit:
            wrong.append(f"lost: the tag {name} was acknowledged at {commit[:12]}, found {tag}")
            continue
        try:
            wrong += look(repository, tag.commit, known).wrong
        except VcsError as error:
            wrong.append(f"lost: the tag {name} can't be read: {error}")
    return wrong


def _wrong_commits(repository: Repository, dice: random.Random, known: Known) -> list[str]:
    """Return what is wrong with some of main's last states, as its log names them."""
    last = repository.branch("main").ref
    first = max(1, last.seq - 40)
    moves = [repository.refs.at("heads", "main", seq) for seq in range(first, last.seq + 1)]
    moves = [move for move in moves if move.move.at > repository.clock() - _RECENT]
    wrong: list[str] = []
    for move in dice.sample(moves, min(_SAMPLES, len(moves))):
        assert move.move.commit is not None
        try:
            wrong += look(repository, move.move.commit, known).wrong
        except VcsError as error:
            wrong.append(f"damaged: move {move.seq} of main can't be read: {error}")
    return wrong


def wrong_copies(ground: Ground, workers: Iterable[str] | None = None) -> list[str]:
    """Return what is wrong with copies that some or all workers began to make, finished or not."""
    wrong: list[str] = []
    for worker in ground.workers if workers is None else workers:
        copies = ground.copies(worker, Trouble(random.Random(0)), 0)
        copy = copies and copies.opened()
        if copy:
            problems = check_repository(copy).problems
            wrong += [f"damaged: the copy of {worker}: {problem}" for problem in problems]
    return wrong


def carried(lines: list[Line]) -> list[Line]:
    """Return what the next journal begins with: tags, and commits to return to."""
    held = held_tags(lines).items()
    tags: list[Line] = [{"event": "held", "name": name, "commit": id} for name, id in held]
    brought = max((line["index"] for line in lines if "index" in line), default=-1)
    past = [line for line in lines if line["event"] == "past"]
    return [*tags, *past[brought + 1 :][-_CARRIED:]]
