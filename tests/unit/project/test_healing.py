"""What heals a run that is published late, and what keeps it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale
from dbt.adapters.vcs.core.errors import ConflictError, EngineError
from dbt.adapters.vcs.core.model import Input, Origin, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.project import publication
from dbt.adapters.vcs.project.node_steps import LoggedStep, RunLog, Sent
from dbt.adapters.vcs.project.publication import Carried, is_failure
from tests.property.healing import Run, Step, begun, shown, value

NUMBERS = itertools.count()
HEAL = OnStale.HEAL
MADE = Step("b", ("a",), "made")
TEST = "select count(*) failures, false should_warn, false should_error from s.b"


@pytest.fixture
def repository() -> Repository:
    repository = Repository.create(MemoryBlobs(), author="ann")
    begun(repository, "abcd")
    return repository


def waiting(repository: Repository, *steps: Step, id: str = "late") -> Run:
    """A run that has done its work and is not published yet."""
    run = Run(repository, id, steps or (MADE,))
    for _ in run.steps:
        run.step()
    return run


def published(repository: Repository, *steps: Step) -> None:
    """What somebody else published meanwhile."""
    waiting(repository, *steps, id=f"other{next(NUMBERS)}").publish(OnStale.WARN)


def relogged(run: Run, change: Callable[[LoggedStep], LoggedStep]) -> None:
    """Change what the log says of each step."""
    steps, run.log = run.log.steps, RunLog()
    for step in steps:
        run.log.add(change(step))


def metadata(repository: Repository) -> dict[str, str]:
    return repository.objects.commit(repository.branch("main").head).metadata


def test_a_stale_node_is_computed_again_and_the_others_are_taken(repository: Repository) -> None:
    run = waiting(repository, MADE, Step("c", ("b",), "c"), Step("d", ("d",), "d"))
    files = run.engine.numbers
    published(repository, Step("a", ("a",), "a2"))
    before = next(files)
    run.publish(HEAL)
    assert next(files) == before + 3, "two statements"
    assert metadata(repository) == {"healed": "s.b, s.c"}
    found = shown(repository)
    assert found["b"] == (value("made", [found["a"]]),)
    assert found["c"] == (value("c", [found["b"]]),)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"did_more": True}, "it ran Python"),
        ({"statements": ()}, "it sent no statement"),
        (
            {"statements": (Sent("select max(v) from s.a"),)},
            "it ran queries while it was rendered",
        ),
        (
            {"statements": (Sent("insert into s.b select v from snapshot_diff('a')"),)},
            "differences",
        ),
    ],
)
def test_a_stale_node_that_is_more_than_its_statements_keeps_the_run(
    repository: Repository, more: dict[str, Any], why: str
) -> None:
    run = waiting(repository)
    relogged(run, lambda step: replace(step, **more))
    published(repository, Step("a", ("a",), "a2"))
    before = shown(repository)
    with pytest.raises(ConflictError, match=rf"model\.b read or changed .*{why}"):
        run.publish(HEAL)
    assert shown(repository) == before


def test_the_same_node_is_published_where_nothing_that_it_read_moved(
    repository: Repository,
) -> None:
    run = waiting(repository)
    relogged(run, lambda step: replace(step, did_more=True))
    published(repository, Step("c", ("a",), "c2"))
    run.publish(HEAL)
    assert metadata(repository) == {}


def test_asking_for_columns_is_no_query(repository: Repository) -> None:
    run = waiting(repository)
    asks = Sent("select * from (select * from s.a) where false limit 0")
    relogged(run, lambda step: replace(step, statements=(asks, *step.statements)))
    assert run.log.steps[0].why_not_again() is None


def test_a_step_that_is_not_in_the_log_keeps_the_run(repository: Repository) -> None:
    """As in a run that was resumed: another process carried it out."""
    run = waiting(repository)
    run.log = RunLog()
    published(repository, Step("a", ("a",), "a2"))
    with pytest.raises(ConflictError, match=r"s\.b \(s\.a\) \(on_stale: heal\)"):
        run.publish(HEAL)


def test_a_statement_that_fails_on_the_new_state_keeps_the_run(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = waiting(repository)
    published(repository, Step("a", ("a",), "a2"))

    def failing(*_: Any, **__: Any) -> Carried:
        raise EngineError("no such column")

    monkeypatch.setattr(type(run.engine), "__call__", failing)
    with pytest.raises(ConflictError, match=r"model\.b could not be .*no such column"):
        run.publish(HEAL)


def test_tables_of_others_are_made_again_all_or_none(repository: Repository) -> None:
    run = waiting(repository, Step("a", ("d",), "a2"))
    published(repository, MADE, Step("c", ("b",), "c"))
    run.publish(HEAL)
    assert metadata(repository) == {"healed_later_runs": "s.b, s.c"}
    found = shown(repository)
    assert found["b"] == (value("made", [found["a"]]),)
    assert found["c"] == (value("c", [found["b"]]),)
    late = waiting(repository, Step("a", ("d",), "a3"), id="later")
    published(repository, replace(MADE, word="m"), Step("c", ("b",), "more", adds=True))
    before = shown(repository)
    check = late.publish(HEAL)
    assert {**shown(repository), "a": ()} == {**before, "a": ()}
    assert metadata(repository) == {"stale": "s.b (s.a)"}
    assert check.before != check.after


def test_what_a_run_built_and_found_as_it_should_be_counts(repository: Repository) -> None:
    published(repository, MADE)
    same, other = waiting(repository, MADE), waiting(repository, Step("a", ("d",), "a2"), id="o")
    assert same.line.run.head == same.line.run.fork, "it made no version"
    more = waiting(repository, MADE, Step("d", ("d",), "d2"), id="more")
    other.publish(HEAL)
    more.publish(HEAL)
    found = shown(repository)
    assert found["b"] == (value("made", [found["a"]]),)
    late = waiting(repository, Step("a", ("c",), "a3"), id="x")
    published(repository, MADE, Step("c", ("a",), "c2"))
    before = shown(repository)
    late.publish(HEAL)
    assert {**shown(repository), "a": ()} == {**before, "a": ()}, "neither b nor c is made again"


def test_only_one_run_counts_as_earlier_than_what_was_there(repository: Repository) -> None:
    """The first of them came before what the second one began on."""
    first = waiting(repository, Step("a", ("a",), "a2"))
    published(repository, MADE)
    second = waiting(repository, Step("c", ("c",), "c2"), id="second")
    first.publish(HEAL)
    assert metadata(repository) == {"healed_later_runs": "s.b"}
    published(repository, Step("d", ("c",), "d2"))
    before = shown(repository)
    second.publish(HEAL)
    assert {**shown(repository), "c": ()} == {**before, "c": ()}
    assert metadata(repository) == {"stale": "s.d (s.c)"}


def test_a_run_gives_up_when_the_target_moves_each_time(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = waiting(repository)
    count = iter(range(100))

    def move(*_: Any) -> None:
        published(repository, Step("a", ("a",), f"a{next(count)}"))

    move()
    carry = type(run.engine).__call__

    def moving(self: Any, overlay: Any, origin: Any, *args: Any) -> Carried:
        if origin.invocation == "late":
            move()
        return carry(self, overlay, origin, *args)

    monkeypatch.setattr(type(run.engine), "__call__", moving)
    monkeypatch.setattr("dbt.adapters.vcs.core.turns.time.sleep", lambda _: None)
    with pytest.raises(ConflictError, match="'main' moved each of 5 times"):
        run.publish(HEAL)
    assert next(count) == publication.TRIES + 1


def with_test(run: Run, monkeypatch: pytest.MonkeyPatch, answers: list[bool]) -> None:
    """Log a test of `b` that passed, and whose answers, when it runs again, are these."""
    [made] = run.log.steps
    entry = made.writes[RelationName("s", "b")]
    assert isinstance(entry, TableEntry)
    read = (Input(relation="s.b", snapshot=entry.snapshot),)
    test = LoggedStep(id="test.shop.t", origin=Origin(), reads=read, statements=(Sent(TEST),))
    run.log.add(test)
    carry = type(run.engine).__call__

    def answering(
        self: Any, overlay: Any, origin: Any, statements: Any, label: str, columns: Any = None
    ) -> Carried:
        if label != test.id:
            return carry(self, overlay, origin, statements, label)
        return Carried(read, ((1, False, answers.pop(0)),))

    monkeypatch.setattr(type(run.engine), "__call__", answering)


def test_tests_run_again_on_what_was_healed(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = waiting(repository)
    answers = [True, False]
    with_test(run, monkeypatch, answers)
    published(repository, Step("a", ("a",), "a2"))
    with pytest.raises(ConflictError, match=r"test\.shop\.t fails on what 'main' would show"):
        run.publish(HEAL)
    run.publish(HEAL)
    assert answers == []
    assert metadata(repository) == {"healed": "s.b"}


def test_a_test_that_stores_its_failures_is_a_step_that_is_checked(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both runs stored failures in `d`."""
    stored = Step("d", ("b",), "failures")
    run = waiting(repository, MADE, stored)
    relogged(run, lambda step: replace(step, id="test.shop.t") if step.id == "model.d" else step)
    published(repository, Step("a", ("a",), "a2"), stored)
    carry, answers = type(run.engine).__call__, [True, False]

    def answering(
        self: Any, overlay: Any, origin: Any, statements: Any, label: str, columns: Any = None
    ) -> Carried:
        inputs, rows = carry(self, overlay, origin, statements, label)
        is_test = label.startswith("test.")
        return Carried(inputs, ((1, True, answers.pop(0)),) if is_test else rows)

    monkeypatch.setattr(type(run.engine), "__call__", answering)
    with pytest.raises(ConflictError, match=r"test\.shop\.t fails"):
        run.publish(HEAL)
    run.publish(HEAL)
    found = shown(repository)
    assert answers == []
    assert found["d"] == (value("failures", [found["b"]]),)


def test_a_test_whose_tables_are_as_they_were_does_not(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = waiting(repository)
    with_test(run, monkeypatch, [])
    published(repository, Step("d", ("d",), "d2"))
    run.publish(HEAL)


@pytest.mark.parametrize(
    ("rows", "fails"),
    [
        ([(0, False, False)], False),
        ([(1, True, False)], False),
        ([(1, True, True)], True),
        ([(1, "true", "true")], True),
        ([], False),
    ],
)
def test_a_test_fails_if_its_answer_says_so(rows: list[Any], fails: bool) -> None:
    assert is_failure(rows) is fails
