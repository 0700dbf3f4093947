"""Every message that names a command: where it is written, and what makes it appear."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from dbt.adapters.vcs.commands import COMMANDS
from tests.unit.cli import extremes, faults, rivals
from tests.unit.cli import scenes as at
from tests.unit.cli.scenes import Scene
from tests.unit.docs.test_printed_commands import BEGINS, HOLE, command_of, modules, texts

NAMED = re.compile(rf"(?!dbt-vcs serve )(?:{BEGINS.pattern})|\bdbt-vcs {HOLE} (?!-->)\S")
"""Begins a command that is there to be typed; not the server's name, or a mark in a comment."""

OPTIONS = r"(?:--?[a-z-]+ (?:'[^']*'|\S+) )*"
"""What a call's options add to a command that it prints."""

STEP = re.compile(
    rf"(?:\bdbt-vcs {OPTIONS}(?:{'|'.join(COMMANDS)})|(?<=: )dbt (?:build|retry|run|test))\b.*?"
    r"(?=[`\"]|\.(?:\s|$)|, (?:or|for|and) | \(|\)| and |; |$)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Site:
    """A text of the package that names a command; `HOLE` stands for each value in it."""

    file: str
    text: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """What the text looks like when it is printed."""
        literal = re.escape(self.text.strip()).replace(r"dbt\-vcs\ ", rf"dbt-vcs {OPTIONS}")
        literal = re.sub(r":\\ dbt\\ [-a-z\\\\]+\\ ", lambda found: found[0] + OPTIONS, literal)
        return re.compile(literal.replace(re.escape(HOLE), r".*?") + r"[^\n]*", re.DOTALL)


@cache
def sites() -> tuple[Site, ...]:
    """Return the texts with a command that is there to be typed, not only named."""
    found = []
    for path, tree in modules():
        for text, _, _ in texts(tree):
            ends = (text[item.start() :].partition("`") for item in NAMED.finditer(text))
            # A sentence may name a command in quotes without its arguments.
            if any(not quote or HOLE in words for words, quote, _ in ends):
                found.append(Site(path, text))
    return tuple(found)


def steps_in(text: str) -> list[str]:
    """Return the commands that a printed text names."""
    return [command_of(item[0].strip()) for item in STEP.finditer(text)]


@dataclass(frozen=True, slots=True)
class Case:
    """A command line that makes a message appear.

    Attributes:
        file: The file that writes the message.
        words: Words of it by which it is found.
        line: The command line, without `dbt-vcs`; or a call, which returns what it says.
        code: Its exit code.
        given: Makes the scene; what the line needs of it is returned by name.
        fill: What is typed for words that stand for something.
        steps: Which of the message's commands are typed, in order; None for all.
        then: The exit code of each of them.
        spark: Whether Spark has to be started.
    """

    file: str
    words: str
    line: str | Callable[[Scene], str]
    code: int = 0
    given: Callable[[Scene], Mapping[str, str] | None] = lambda scene: None
    fill: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[int, ...] | None = None
    then: int = 0
    spark: bool = False

    def filled(self, word: str) -> str:
        """Return a word of a command, with a value for each name of one."""
        names = "|".join(map(re.escape, self.fill)) or "$^"
        return re.sub(rf"(?<!\w)(?:{names})(?!\w)", lambda name: self.fill[name[0]], word)

    @property
    def sites(self) -> list[Site]:
        """The texts that it is for."""
        # Two places of a file may say the same.
        return [
            site
            for site in dict.fromkeys(sites())
            if site.file == self.file and self.words in f"^{site.text}$"
        ]


NAMES = {
    "NAME": "fresh",
    "RELATION": "shop.a",
    "REVISION": "main~1",
    "SOURCE": "dev",
    "TARGET": "main",
    "BRANCH": "dev",
    "TABLE": "shop.a",
}
"""What is typed for words that stand for something."""


GIT = [
    Case("cli.py", words, word, 2, at.history, NAMES, steps)
    for word, words, steps in (
        ("checkout", "have old rows back", None),
        ("pull", "so nothing is pulled", None),
        ("push", "so nothing is pushed", ()),
        ("rebase", "History is not moved", None),
        ("reset", "History is kept", None),
        ("stash", "Nothing is left", None),
        ("switch", "To create one: dbt-vcs branch create NAME$", None),
        ("config", "see what holds", None),
        ("describe", "see a commit with its tags", None),
        ("ls", "To list tables", None),
        ("mv", "Tables are renamed", ()),
        ("remote", "so it has no remotes", None),
        ("rev-parse", "see the commit of a revision", None),
        ("rm", "Tables are dropped", ()),
        ("shortlog", "To list commits", None),
    )
]

BISECT = "bisect {} --sql 'select * from shop.a where id < 0'"

CASES = [
    *GIT,
    Case("commands/branch.py", "has commits that", "branch -d dev", 1, at.history),
    Case("commands/diff_report.py", "last commit changed", "diff main main", 0, at.history),
    Case(
        "changes/merges/approvals.py",
        "nobody has approved",
        "promote dev main",
        1,
        at.approved,
    ),
    Case(
        "changes/merges/approvals.py",
        "by now, not at",
        "approve dev --at {before}",
        1,
        at.moved,
    ),
    Case(
        "changes/merges/branch_landing.py",
        "in different ways",
        "merge dev main",
        1,
        at.clash,
        {},
        (0, 1, 2),
    ),
    Case(
        "changes/merges/branch_landing.py",
        "in different ways",
        "merge dev main",
        1,
        at.clash,
        {},
        (0, 3),
    ),
    Case(
        "changes/merges/conflicts/conflict_tables.py",
        "are not resolved yet",
        "merge --continue main",
        1,
        at.rows_waiting,
        steps=(),
    ),
    Case(
        "changes/merges/conflicts/open_merges.py",
        "Begin one",
        "merge --continue main",
        1,
        at.history,
        NAMES,
    ),
    Case(
        "changes/merges/stale_by_merge.py",
        "build there the models",
        "promote dev prod",
        1,
        at.stale_on_dev,
    ),
    Case(
        "changes/writes/past_versions.py",
        "never existed",
        "restore shop.c --branch main",
        1,
        at.history,
        {"REVISION": "dev"},
    ),
    Case(
        "changes/writes/past_versions.py",
        "never existed",
        "restore shop.never --branch dev",
        1,
        at.history,
        {"REVISION": "dev"},
        then=1,
    ),
    Case(
        "commands/bisect.py",
        "show in the same versions",
        BISECT.format("main~1 main").replace("shop.a", "shop.v"),
        2,
        at.history,
        then=1,
    ),
    Case("commands/bisect.py", "are the same commit", BISECT.format("main main"), 2, at.history),
    Case("commands/bisect.py", "swap them", BISECT.format("dev dev~2"), 2, at.broken),
    Case(
        "workspace/points.py",
        "The commits that changed it",
        "blame shop.dropped --key id=1 --at dev",
        1,
        at.dropped,
    ),
    Case(
        "workspace/points.py",
        "The commits that changed it",
        "restore shop.dropped --to dev",
        1,
        at.dropped,
    ),
    Case(
        "commands/branch.py",
        "default branch and can't",
        "branch rename main x",
        2,
        at.history,
        NAMES,
    ),
    Case("commands/branch.py", "is protected and can't", "branch rename kept x", 2, at.kept),
    Case(
        "commands/branch.py",
        "Finish it, or abort it",
        "branch rename to x",
        1,
        at.waiting_elsewhere,
    ),
    Case("commands/branch.py", "To restore it", "branch delete dev", 0, at.history),
    Case(
        "commands/resolve.py",
        "Nothing is decided",
        "resolve --undo main",
        2,
        at.waiting,
    ),
    Case("commands/conflicts.py", "No conflict is left", "conflicts main", 0, at.resolved),
    Case("commands/conflicts.py", "conflicts as a whole", "conflicts main", 0, at.waiting),
    Case("commands/conflicts.py", "To show them", "conflicts main", 0, at.waiting),
    Case("commands/conflicts.py", "To choose ours", "conflicts main", 0, at.waiting),
    Case(
        "commands/copy.py",
        "See dbt-vcs fsck",
        "copy warehouse other",
        2,
        at.a_move_is_lost,
        then=2,
    ),
    Case(
        "commands/diff.py",
        "--columns needs",
        "diff main~1..main --columns v",
        2,
        at.history,
        {"a..b": "main~1..main", "s.t": "shop.a"},
        then=1,
    ),
    Case("commands/forecast.py", "To settle one early", "forecast", 1, at.clash, then=1),
    Case("commands/fsck.py", "repair shows how", "fsck --data", 2, at.damaged, then=2),
    Case(
        "commands/fsck.py", "--data shows how", "fsck --data", 2, extremes.damaged_inside, then=2
    ),
    Case("commands/fsck.py", "not needed; ", "fsck", 0, at.orphans),
    Case("commands/garbage.py", "What it names", "gc", 2, at.cut_segment, then=2),
    Case("commands/gc.py", "are shorter than", "gc --retention 0", 2, at.history, NAMES),
    Case("commands/merge.py", "is a tag, which can't move", "merge dev v1", 2, at.history, NAMES),
    Case("commands/merge.py", "Not resolved yet", "merge --continue main", 1, at.waiting),
    Case("commands/merge_report.py", "^; see dbt-vcs stale", "merge dev main", 0, at.stale),
    Case(
        "commands/merge.py",
        "To see what still waits",
        "merge --abort main --dry-run",
        2,
        at.waiting,
        NAMES,
    ),
    Case(
        "commands/remembered.py",
        "Nothing is remembered",
        "reuse drop --node never",
        1,
        at.history,
    ),
    Case(
        "commands/remembered.py",
        "No result has the key",
        "reuse drop --key abcdefabcdef",
        1,
        at.history,
    ),
    Case(
        "commands/repair.py",
        "dbt-vcs restore",
        "repair",
        2,
        at.cut,
        {**NAMES, "LOCATION": "whole"},
        steps=(0,),
    ),
    Case("commands/repair.py", "sizes were looked at", "repair", 0, at.whole),
    Case("commands/repair.py", "--to-last-whole", "repair", 2, at.damaged_commit),
    Case(
        "commands/conflicts.py",
        "No conflict is left",
        "resolve --all --with ours main",
        0,
        at.waiting,
    ),
    Case(
        "commands/restore.py",
        "To restore all",
        "restore shop.a --to {one}~1 --branch dev",
        0,
        at.in_two_steps,
    ),
    Case("commands/reuse.py", "No run on record", "reuse why never", 1, at.history, steps=()),
    Case(
        "commands/revert.py",
        "can't be reverted",
        "revert {one} --branch dev",
        1,
        at.on_dev,
        {"RELATION": "shop.c"},
    ),
    Case("commands/review.py", "Expected BASE...HEAD", "review dev", 2, at.history, NAMES),
    Case(
        "commands/revisions.py",
        "holds the conflicts",
        "merge merges/main dev",
        1,
        at.waiting,
        then=1,
    ),
    Case("commands/revisions.py", "The last run for", "diff main...dev", 0, at.failed_on_dev),
    Case("workspace/run_branch.py", "The run id is empty", "runs publish ''", 2, at.history),
    Case("commands/status.py", "the first dbt run on it", "status", 0, at.no_branch, steps=()),
    Case("commands/status.py", "made from other versions", "status dev", 0, at.stale),
    Case(
        "commands/status.py",
        "is waiting, {}: ".replace("{}", HOLE),
        "status",
        0,
        at.waiting,
    ),
    Case("commands/garbage.py", "is not among the branches", extremes.default_is_not_listed),
    Case("commands/status.py", "rows of more than", faults.status_of_many),
    Case("commands/status.py", "all resolved", "status", 0, at.resolved),
    Case("core/branches.py", "To have it back", "show gone", 1, at.history),
    Case(
        "core/branches.py",
        "takes changes by promotion",
        "restore shop.a --to main~1",
        2,
        at.protected,
        NAMES,
    ),
    Case("core/branches.py", "Lift", "branch delete kept", 2, at.kept),
    Case("core/branches.py", "Lift", "tag delete v1", 2, at.kept_tag),
    Case(
        "commands/bisect.py",
        "is already bad at {}, which".replace("{}", HOLE),
        BISECT.format("dev~1 dev"),
        2,
        at.broken_twice,
    ),
    Case(
        "commands/bisect.py",
        "The condition is good",
        BISECT.format("main~1 main"),
        2,
        at.history,
        steps=(),
    ),
    Case("commands/bisect.py", "mended on the way", BISECT.format("fixed dev"), 2, at.mended),
    Case("commands/bisect.py", "^..", BISECT.format("dev~2 dev"), 0, at.broken, then=1),
    Case(
        "commands/purge.py",
        "run dbt-vcs gc after",
        "purge shop.a --where 'id = 1'",
        0,
        at.real_purge,
        steps=(),
    ),
    Case("commands/repair.py", "--from-copy", "repair", 2, at.cut, {"LOCATION": "whole"}, (0,)),
    Case("commands/repair.py", "dbt-vcs sql", "repair", 2, at.cut, steps=()),
    Case(
        "commands/review.py",
        "^dbt-vcs diff",
        "review main...dev --format json",
        0,
        at.clash,
        then=1,
    ),
    Case(
        "commands/review.py",
        "^dbt-vcs merge",
        "review main...dev --format markdown",
        0,
        at.history,
    ),
    Case(
        "commands/review.py",
        "--branch",
        "review main...dev --format markdown",
        0,
        at.history,
        steps=(),
    ),
    Case(
        "commands/review.py",
        "^dbt-vcs promote",
        "review main...dev --format markdown",
        0,
        at.protected,
    ),
    Case(
        "commands/review_verdict.py",
        "^dbt-vcs show",
        "review main...dev --format json",
        0,
        at.failed_on_dev,
    ),
    Case(
        "commands/cherry_pick.py",
        "is the branch of a dbt run",
        "cherry-pick runs/r1",
        2,
        at.passed,
    ),
    Case(
        "commands/cherry_pick.py",
        "Expected a commit",
        "cherry-pick dev...main",
        2,
        at.history,
        NAMES,
    ),
    Case("commands/run.py", "Which run", "run publish", 2, at.history),
    Case("commands/run.py", "Expected begin", "run --branch dev", 2, at.history, steps=()),
    Case("commands/docs.py", "Name another one", "docs", 2, at.docs, NAMES),
    Case("core/repository.py", "needs format", "purge shop.a --where 'id = 1'", 2, at.older),
    Case("iceberg/exports.py", "Export again", "merge dev main", 0, at.unexportable, then=2),
    Case(
        "table/files/footers.py",
        "dbt-vcs repair --data shows",
        "cat shop.a --at dev",
        2,
        at.damaged,
        then=2,
    ),
    Case("api.py", "is not a branch", at.on_a_tag, fill=NAMES),
    Case("sql/conflict_edits.py", "keeps the conflicts", at.on_conflicts),
    Case("workspace/run_branch.py", "There is no run", "runs publish never", 1, at.history),
    Case(
        "changes/merges/approvals.py",
        "moved while it was approved",
        faults.approved_while_it_moves,
    ),
    Case("changes/merges/conflicts/open_merges.py", "by somebody else", faults.undone_by_two),
    Case("commands/tag.py", "There is no tag", faults.renamed_and_deleted),
    Case("core/retention.py", "is needed and not in", faults.file_is_gone, then=2),
    Case("iceberg/shown_history.py", "lists what", faults.shown_as_another_kind),
    Case("iceberg/serve/client_help.py", "is protected", faults.protected_warehouse, fill=NAMES),
    Case(
        "iceberg/serve/writing/branch_writer.py",
        "is not a branch",
        faults.made_on_a_tag,
        fill=NAMES,
    ),
    Case(
        "iceberg/serve/writing/branch_writer.py",
        "belongs to a run",
        faults.made_on_a_run,
        fill=NAMES,
    ),
    Case(
        "iceberg/serve/writing/table_commits.py",
        "go back to another",
        faults.shown_by_a_client,
        fill=NAMES,
    ),
    Case(
        "iceberg/serve/writing/table_commits.py",
        "can't be kept",
        faults.kept_from_main,
        fill=NAMES,
    ),
    Case("iceberg/serve/writing/table_definitions.py", "stays", faults.ref_removed),
    Case(
        "commands/bisect.py",
        "have no common ancestor",
        BISECT.format("other main"),
        2,
        faults.two_roots,
    ),
    Case(
        "commands/bisect.py",
        "^dbt-vcs show",
        BISECT.format("dev~1 dev").replace(
            "shop.a", "shop.b where id < 0 union all select * from shop.a"
        ),
        0,
        faults.two_broken,
    ),
    Case(
        "commands/cherry_pick.py",
        "Afterwards, for the rest",
        "cherry-pick dev~1 dev --branch main",
        1,
        faults.to_pick,
    ),
    Case("commands/merge_report.py", "To see what became stale", "cherry-pick dev", 0, at.stale),
    Case("commands/garbage.py", "The listing of refs", "gc", 2, faults.lost_branch, then=2),
    Case("workspace/shared_run.py", "is the branch of a run", faults.begun_for_a_run),
    Case("workspace/shared_run.py", "and there is no such run", faults.joined_when_gone),
    Case("workspace/shared_run.py", "nothing can be added", faults.joined_when_closed),
    Case("workspace/shared_run.py", "the last result", faults.closed_with_a_failure, then=1),
    Case(
        "workspace/shared_run.py",
        "have not ended",
        faults.closed_when_a_command_was_killed,
        # The first is for when they have.
        steps=(1,),
    ),
    Case("workspace/shared_run.py", "built again", faults.closed_with_an_old_table, then=1),
    Case(
        "workspace/shared_run.py",
        "still running",
        faults.closed_while_a_command_runs,
        # The first is what runs, and has ended when the next is typed.
        steps=(1,),
    ),
    Case("table/row_numbers.py", "A tombstone", faults.beyond_the_end, then=2),
    Case("iceberg/export_folder.py", "can't be read", "gc", 2, faults.cut_export),
    Case(
        "commands/pr_hosts.py",
        "Expected to run in a job",
        "pr begin",
        2,
        at.history,
        {**NAMES, "BASE": "main"},
        (0, 1),
    ),
    Case(
        "changes/merges/conflicts/open_merges.py",
        "Another merge into",
        rivals.another_is_begun,
    ),
    Case(
        "changes/merges/branch_landing.py",
        "Then: dbt-vcs merge",
        "merge dev main",
        1,
        at.clash,
        {},
        (1,),
    ),
    Case(
        "changes/merges/branch_landing.py",
        "Then: dbt-vcs cherry-pick",
        "cherry-pick dev",
        1,
        at.clash,
        {},
        (1,),
    ),
    Case(
        "commands/cherry_pick.py",
        "and no pick",
        "cherry-pick --continue",
        2,
        at.resolved,
        {},
        (0,),
    ),
    Case(
        "commands/cherry_pick.py", "and no pick", "cherry-pick --abort", 2, at.resolved, {}, (1,)
    ),
    Case(
        "changes/merges/branch_landing.py",
        "Give this merge up",
        "merge --continue main",
        1,
        rivals.decided_by_hand,
    ),
    Case(
        "changes/merges/stale_by_merge.py",
        "Run dbt build again",
        "promote runs/r1 prod",
        1,
        rivals.stale_by_a_run,
    ),
    Case("hooks/branch_event.py", "^dbt-vcs show", "merge dev main", 0, rivals.hook_of_a_merge),
    Case(
        "hooks/branch_event.py",
        "^dbt-vcs conflicts",
        "merge dev main",
        1,
        rivals.hook_of_a_conflict,
    ),
    Case(
        "hooks/branch_event.py", "^dbt-vcs status", "promote dev main", 1, rivals.hook_of_a_refusal
    ),
    Case("hooks/branch_event.py", "^dbt-vcs show", rivals.hook_of_a_run_with_results),
    Case("hooks/branch_event.py", "^dbt-vcs runs", rivals.hook_of_a_run_without_results),
    Case(
        "changes/merges/by_engine/engine_repair.py",
        "holds other rows",
        extremes.swapped_while_merged,
        then=2,
    ),
    Case(
        "core/store/objects.py",
        "any more: nothing had named it",
        extremes.collected_long_ago,
    ),
    Case("commands/merge_report.py", "was not checked", "merge dev main", 0, extremes.many_tables),
    Case(
        "commands/review_verdict.py",
        "isn't known without Spark",
        "review main...dev --format json",
        0,
        extremes.needs_spark,
        then=1,
        spark=True,
    ),
    Case(
        "engines/dataframes/statement_jobs.py",
        "it is damaged",
        "merge dev main",
        2,
        extremes.needs_a_damaged_file,
        then=2,
        spark=True,
    ),
    Case(
        "iceberg/adopt.py",
        "brings deleted rows back",
        extremes.brought_back,
        fill={"REVISION": "main~1"},
    ),
    Case("iceberg/serve/documents.py", "was named by its id", extremes.named_in_another_commit),
]

Place: TypeAlias = tuple[str, str]
"""A file that writes a message, and words of the message."""

ELSEWHERE: Mapping[Place, tuple[str, str]] = {
    ("commands/pr.py", ""): (
        "tests/unit/cli/test_pull_requests.py",
        "call(*shlex.split(step)[1:])",
    ),
    ("commands/run.py", "Not published"): (
        "tests/unit/serve/test_run_command.py",
        "diff main {run.name}",
    ),
    ("commands/run.py", "when the run had been"): (
        "tests/unit/serve/test_run_command.py",
        "show {run.name}",
    ),
    ("changes/merges/merge_plan.py", "Values were chosen"): (
        "tests/unit/commands/test_resolve_values.py",
        "Values were chosen",
    ),
    ("core/codec.py", "in the years 1 to 9999"): ("tests/unit/core/test_codec.py", "1 to 9999"),
    ("engines/dataframes/deletions.py", "isn't in its file"): (
        "tests/functional/engine/test_tombstones.py",
        "isn't in its file",
    ),
    ("engines/dataframes/statement_jobs.py", "its version was collected"): (
        "tests/functional/engine/test_file_list.py",
        "To find all such files: dbt-vcs fsck --data",
    ),
    ("project/publication.py", "Stale now"): (
        "tests/functional/life/test_on_stale.py",
        "Stale now",
    ),
    ("project/publication.py", "was not published to"): (
        "tests/functional/life/test_on_stale.py",
        "was not published to",
    ),
    ("changes/merges/stale_by_merge.py", "Stale on"): (
        "tests/functional/life/test_on_stale.py",
        "Stale on",
    ),
    ("project/run_record.py", "Fix the cause"): (
        "tests/functional/life/test_next_steps.py",
        'run(shop, "retry")',
    ),
    ("project/run.py", "Run: dbt retry"): (
        "tests/functional/life/test_signals.py",
        "shlex.split(step)",
    ),
    ("project/run.py", "dbt-vcs promote"): (
        "tests/functional/life/test_next_steps.py",
        '"promote"',
    ),
    ("project/run.py", "dbt-vcs merge"): (
        "tests/functional/life/test_next_steps.py",
        '"merge"',
    ),
    ("reuse/audit.py", "forget what is remembered"): (
        "tests/functional/reuse/test_reuse.py",
        "remembered only",
    ),
    ("sql/snapshot_merge.py", "Choose a side"): (
        "tests/unit/statements/test_statement_versioning.py",
        "when conflict",
    ),
    ("workspace/increments.py", "whose rows have been collected"): (
        "tests/functional/daily/test_changes.py",
        "--full-refresh --select",
    ),
    ("workspace/increments.py", "doesn't record which version"): (
        "tests/unit/worktree/test_increments.py",
        "--full-refresh --select",
    ),
    ("workspace/lines/line_workspace.py", "slow to read"): (
        "tests/unit/workspace/test_upkeep.py",
        "slow to read",
    ),
}
"""Messages that need Spark, dbt or a part of the package by itself: the test, and words of it."""
