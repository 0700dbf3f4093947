"""`dbt-vcs pr`: the steps that the data of a pull request goes through, in jobs of CI.

What was reviewed is a fact about the branch of data, as an approval is: a move in its log that
leaves it at its commit, and names the commit of the code. So it is over with the branch's next
commit, and nothing that the host shows, such as a comment, decides what is promoted.

| move     | by          | at its commit the branch                                          |
|----------|-------------|-------------------------------------------------------------------|
| `begin`  | `pr begin`  | is ready for a build of that code; no earlier review counts       |
| `review` | `pr report` | shows what a build of that code made, all of it, and was reviewed |
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Final, Literal

import msgspec

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import PREFIX as MERGES
from dbt.adapters.vcs.commands.failure import ShownFailure
from dbt.adapters.vcs.commands.layout import line
from dbt.adapters.vcs.commands.options import Settings, with_options
from dbt.adapters.vcs.commands.pr_hosts import Host, HostError, host_of, put_comment
from dbt.adapters.vcs.commands.profile import target_folder
from dbt.adapters.vcs.commands.revisions import check_free
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, InputError, RetryError, VcsError, listed
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, discard, runs

_BEGIN: Final = "begin"
_REVIEW: Final = "review"
_PULL_REQUEST: Final = "pull_request"
"""Metadata of a promotion: the branch that the pull request has."""

_PASSED: Final = "success"
_DIGITS: Final = 16
_LISTED: Final = 20
_NAME: Final = 120
"""Characters of a node's name, so that there is room for the review."""

_DAY: Final = 86_400_000_000
"""Microseconds that clocks of writers may differ by, generously."""

_DONE: Final = frozenset({Status.PUBLISHED, Status.RESUMED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pull:
    """What every step knows: the repository, the pull request and both branches.

    Attributes:
        branch: The pull request's branch of data.
        base: The branch that it goes to.
        settings: The options that printed commands need again.
    """

    host: Host
    repository: Repository
    branch: str
    base: str
    author: str
    settings: Settings

    @property
    def code(self) -> str:
        """The commit of the code that the job is for."""
        return self.host.code or self.host.pull_request().code


@verb(prints_json=False)
def pr_command(
    session: CommandSession,
    step: Literal["begin", "report", "promote", "close"],
    *,
    base: Annotated[
        str | None,
        Option("The branch to promote to.  [default: base of the dbt profile]", metavar="NAME"),
    ] = None,
    prefix: Annotated[
        str | None,
        Option(
            "How the branch's name begins, before the number.  [default: pr/, on GitLab mr/]",
            metavar="TEXT",
        ),
    ] = None,
    outcome: Annotated[
        str, Option("How the build ended, for report: success, or any other word.")
    ] = _PASSED,
    output: Annotated[
        str,
        Option("The folder that report writes review.html and review.md to.", metavar="FOLDER"),
    ] = "review",
) -> None:
    """Take the data of a pull request through its steps, in CI.

    STEP is begin: let the pull request's branch start at the base, for a build; report: review
    what was built, also of a build that failed, and comment on it; promote: publish exactly what
    was reviewed, before the code is merged; close: clean up. The job's environment says what the
    pull request is.
    """
    host = host_of()
    branch = f"{host.prefix if prefix is None else prefix}{host.number}"
    if step == "begin":
        _check_isolated(session, branch)
    try:
        repository = session.repository
    except VcsError:
        if step == "report":
            _post(session, host, f"review {branch}", "### ❌ The repository can't be read\n")
        raise
    target = session.target
    pull = _Pull(
        host=host,
        repository=repository,
        branch=branch,
        base=base or (target.base if target else repository.default_branch),
        author=session.author,
        settings=session.settings,
    )
    try:
        _take(session, pull, step, outcome, Path(output))
    except HostError as error:
        raise HostError(f"{error} {host.hint}.") from error


def _take(session: CommandSession, pull: _Pull, step: str, outcome: str, output: Path) -> None:
    match step:
        case "begin":
            session.say([line(_begin(pull))])
        case "report":
            session.say([line(_report(session, pull, outcome, output))])
        case "promote":
            _tell(session, pull, _promote(session, pull))
        case _:
            texts, is_settled = _close(session, pull)
            _tell(session, pull, texts)
            if not is_settled:
                raise ShownFailure(ConflictError)


def _check_isolated(session: CommandSession, branch: str) -> None:
    if session.target is None:
        raise InputError(
            "Expected a dbt profile, since the build takes its branch from there; found "
            "--repository or DBT_VCS_REPOSITORY. Leave them out."
        )
    if session.branch != branch:
        raise InputError(
            f"The profile's branch is {session.branch!r}; expected {branch!r}, so that the build "
            "touches no other branch. Write into profiles.yml: branch: "
            "\"{{ env_var('WAREHOUSE_BRANCH', 'dev') }}\", and set WAREHOUSE_BRANCH in the job."
        )


def _begin(pull: _Pull) -> str:
    """Let the branch start at the base, unless it already shows this code on that base.

    Returns:
        A sentence about where it starts.
    """
    repository, name = pull.repository, pull.branch
    base = repository.branch(pull.base).head
    _check_no_merge(pull)
    found = repository.find_branch(name)
    if found is None:
        check_free(repository, "branch", name)
        found = repository.create_branch(name, base, author=pull.author, note=f"from {pull.base}")
    note = f"code {pull.code}"
    began = _began(pull)
    # A job that is run again keeps what was approved, or resolved by hand, since the last one.
    is_same = (
        began is not None
        and began.note == note
        and repository.merge_base(found.head, base) == base
    )
    to = found.head if is_same else base
    moved = repository.move_branch(found, to, author=pull.author, action=_BEGIN, note=note)
    if moved is None:
        raise RetryError(f"{name!r} moved while its build began. Run the job again.")
    if to == found.head:
        return f"{name} starts at {to[:12]}, for the code {pull.code[:12]}."
    return (
        f"{name} starts again at {pull.base}, {to[:12]}, for the code {pull.code[:12]}. What it "
        f"showed before is in its log: dbt-vcs reflog {quote(name)}"
    )


def _check_no_merge(pull: _Pull) -> None:
    if _waiting_merge(pull):
        raise ConflictError(
            f"A merge into {pull.branch!r} is waiting for its conflicts to be resolved. Finish "
            f"it: dbt-vcs conflicts {quote(pull.branch)}. Or give it up: dbt-vcs merge --abort "
            f"{quote(pull.branch)}"
        )


def _waiting_merge(pull: _Pull) -> Branch | None:
    return pull.repository.find_branch(MERGES + pull.branch)


def _began(pull: _Pull) -> RefMove | None:
    """Return the move that began the newest build of a branch; None if none began by that."""
    for ref in pull.repository.refs.moves("heads", pull.branch):
        # Before it was deleted, it was another branch of that name.
        if ref.move.commit is None:
            break
        if ref.move.action == _BEGIN:
            return ref.move
    return None


def _reviewed(pull: _Pull, head: CommitId) -> RefMove | None:
    """Return the move that says that a branch was reviewed as it is; None if it was not."""
    for ref in pull.repository.refs.moves("heads", pull.branch):
        # A build that began since may have failed, although it changed nothing.
        if ref.move.commit != head or ref.move.action == _BEGIN:
            break
        if ref.move.action == _REVIEW:
            return ref.move
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Build:
    """What became of a build.

    Attributes:
        outcome: How its command ended.
        branch: The pull request's branch; None if there is none.
        began: The move that began it; None if no job did.
        newest: The newest of its runs; None if dbt began none.
        left: Its runs that failed or wait, the newest first: what they made is on branches of
            their own.
        old: Other runs, which are no concern of a reviewer.
    """

    outcome: str
    branch: Branch | None
    began: RefMove | None
    newest: RunBranch | None
    left: Sequence[RunBranch]
    old: Sequence[RunBranch]


def _build_of(pull: _Pull, outcome: str) -> _Build:
    branch = pull.repository.find_branch(pull.branch)
    began = _began(pull) if branch else None
    own = [run for run in runs(pull.repository) if run.target == pull.branch]
    since = [run for run in own if _is_since(run, began, own[0])]
    left = [run for run in since if run.status not in _DONE]
    return _Build(
        outcome=outcome,
        branch=branch,
        began=began,
        newest=next(iter(since), None),
        left=left,
        old=[run for run in own if run not in left],
    )


def _report(session: CommandSession, pull: _Pull, outcome: str, output: Path) -> str:
    """Write the review, comment on it, and record what was reviewed.

    Returns:
        A sentence about it.

    Raises:
        RetryError: The branch moved meanwhile, or a build of other code began.
        InputError: The files can't be written.
    """
    from dbt.adapters.vcs.commands.review import write_review

    key, build = f"review {pull.branch}", _build_of(pull, outcome)
    before = "\n".join(_build_text(session, pull, build))
    output.mkdir(parents=True, exist_ok=True)
    # One of an earlier job would look as if it were about this build.
    (output / "review.html").unlink(missing_ok=True)
    try:
        text = _review_text(session, pull, build, output, before)
    except VcsError:
        # So would an earlier comment.
        _post(session, pull.host, key, f"{before}\n### ❌ The review failed, see the log\n")
        raise
    write_review(str(output / "review.md"), text)
    _post(session, pull.host, key, text)
    if build.branch is None or build.left or outcome != _PASSED:
        return f"{pull.branch} was not reviewed for a promotion, since its build did not succeed."
    if build.began is not None and build.began.note != f"code {pull.code}":
        raise RetryError(
            f"A build of other code began on {pull.branch!r} meanwhile, so this one was not "
            "reviewed for a promotion. Wait for its job."
        )
    _record(pull, build.branch)
    head = build.branch.head
    return f"Reviewed {pull.branch} at {head[:12]}, of the code {pull.code[:12]}."


def _is_since(run: RunBranch, began: RefMove | None, newest: RunBranch) -> bool:
    """Return whether a run belongs to a build, and not to one of earlier code."""
    if began is None or run.started_at >= began.at:
        return True
    # In a log no time is before an earlier one, so after a writer whose clock was ahead the build
    # seems to begin too late. Where the run began says it as well.
    return run is newest and run.fork == began.commit


def _review_text(
    session: CommandSession, pull: _Pull, build: _Build, output: Path, before: str
) -> str:
    """Write a review as a page, and return it as Markdown, with the build and next steps."""
    from dbt.adapters.vcs.commands.review import review, review_request, write_review
    from dbt.adapters.vcs.commands.review_markdown import LIMIT, markdown
    from dbt.adapters.vcs.commands.review_page import page

    manifest = target_folder(session.settings, session.target) / "manifest.json"
    if build.branch is None or (build.outcome != _PASSED and not manifest.exists()):
        return f"{before}\nNothing was built, so there is no data to review.\n"
    if not manifest.exists():
        raise InputError(
            f"There is no {manifest}, which says which columns stay out of reviews. Run report in "
            "the job that builds. If dbt writes elsewhere, say so in DBT_TARGET_PATH, not by "
            "--target-path."
        )
    head = build.left[0].name if build.left else pull.branch
    made = review(pull.repository, pull.base, head, review_request(session, pull.base))
    ids = [run.invocation for run in build.old]
    verdict = replace(
        made.verdict,
        runs=tuple(run for run in made.verdict.runs if run.invocation not in ids),
        warnings=tuple(
            text for text in made.verdict.warnings if not any(id in text for id in ids)
        ),
    )
    made = replace(made, verdict=verdict)
    after = with_options(
        "\n".join(_steps(pull, verdict.how, made.head.commit, verdict.requires)), pull.settings
    )
    write_review(str(output / "review.html"), page(made))
    return f"{before}\n{markdown(made, LIMIT - len(before) - len(after) - 200)}\n{after}"


def _record(pull: _Pull, found: Branch) -> None:
    moved = pull.repository.move_branch(
        found,
        found.head,
        author=pull.author,
        action=_REVIEW,
        note=f"code {pull.code}",
        # Nothing that the branch shows is changed by it.
        promotes=True,
    )
    if moved is None:
        raise RetryError(f"{pull.branch!r} moved while it was reviewed. Run the job again.")


def _build_text(session: CommandSession, pull: _Pull, build: _Build) -> Iterator[str]:
    """Yield what became of the build, as Markdown."""
    from dbt.adapters.vcs.commands.review_markdown import as_code

    outcome, left = build.outcome, build.left
    job = f"[job]({pull.host.page})" if pull.host.page else "job"
    if outcome == _PASSED and left:
        publish = with_options(f"dbt-vcs runs publish {quote(left[0].invocation)}", pull.settings)
        yield "### ⏳ The build waits to be published\n"
        yield f"Publish it, then run the job again: {as_code(publish)}\n"
    elif outcome != _PASSED:
        yield f"### ❌ The build ended with {as_code(outcome)}\n"
        nodes = list(_failed_nodes(session, build.newest))
        yield from (f"- {as_code(id, _NAME)}: {as_code(how)}" for id, how in nodes[:_LISTED])
        if len(nodes) > _LISTED:
            yield f"- and {len(nodes) - _LISTED} more"
        if not nodes:
            yield "No node is known to have failed."
        # Messages quote values of rows, and more people read a comment than the log.
        yield f"\nThe messages are in the log of the {job}.\n"
    if left:
        yield "What follows is what was built nevertheless. It is not on the branch.\n"
    yield f"Code {as_code(pull.code[:12])}. The whole review is an artifact of the {job}.\n"


def _failed_nodes(session: CommandSession, run: RunBranch | None) -> Iterator[tuple[str, str]]:
    """Yield the nodes of a run that did not end well, with dbt's word for how."""
    if run is None:
        return
    folder = target_folder(session.settings, session.target)
    try:
        text = (folder / "run_results.json").read_bytes()
        found = msgspec.json.decode(text, type=_RunResults)
    except (OSError, msgspec.MsgspecError):
        # dbt did not come so far as to write it.
        return
    # Another invocation may have written it since.
    if found.metadata.get("invocation_id") == run.invocation:
        yield from (
            (item.unique_id, item.status) for item in found.results if item.status not in _GOOD
        )


_GOOD: Final = frozenset({"success", "pass", "warn", "no-op", "reused"})


class _Result(msgspec.Struct):
    unique_id: str
    status: str


class _RunResults(msgspec.Struct):
    metadata: dict[str, object]
    results: list[_Result]


def _steps(pull: _Pull, how: str, head: CommitId, requires: tuple[str, ...]) -> Iterator[str]:
    """Yield what to type next, as Markdown: for a conflict, or an approval."""
    branch = quote(pull.branch)
    if how == "conflict":
        yield "### To resolve the conflicts\n"
        yield "Run the job again: it builds on what the base shows by then. To choose rows by hand"
        yield "instead, where theirs are those of the base, and then run the job again:\n"
        yield f"```sh\ndbt-vcs merge {quote(pull.base)} {branch}"
        yield f"dbt-vcs conflicts {branch}"
        yield f"dbt-vcs resolve --all {branch} --with theirs"
        yield f"dbt-vcs merge --continue {branch}\n```\n"
    elif "approval" in requires:
        yield "### To approve it\n"
        yield f"```sh\ndbt-vcs approve {branch} --at {head[:_DIGITS]}\n```\n"


def _post(session: CommandSession, host: Host, key: str, text: str) -> None:
    """Show a text in the summary of the job, and as a comment if that is allowed.

    A comment that can't be written is a warning, since the artifact has the text, too.
    """
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    try:
        put_comment(host, key, text)
    except HostError as error:
        session.warn([f"There is no comment: {error} {host.hint}."])


def _tell(session: CommandSession, pull: _Pull, texts: Sequence[str]) -> None:
    """Say what became of the data, in the log, the summary and a comment of its own."""
    from dbt.adapters.vcs.commands.review_markdown import fenced

    session.say(line(text) for text in texts)
    typed = [with_options(text, pull.settings) for text in texts]
    _post(session, pull.host, f"data {pull.branch}", "### The data\n\n" + fenced("text", typed))


def _promote(session: CommandSession, pull: _Pull) -> list[str]:
    """Publish what was reviewed of this code; return sentences, and commands that undo it.

    Raises:
        ConflictError: Something else was reviewed, or built since; or the base doesn't take it.
            Nothing was changed.
    """
    from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Terms
    from dbt.adapters.vcs.commands.merge import merge_request, noted_merge

    name, base = pull.branch, pull.base
    branch = pull.repository.branch(name)
    code = _checked_code(pull, branch)
    terms = Terms(
        message=f"Promote {name}", metadata={_PULL_REQUEST: name, "code": code}, promotes=True
    )
    # By its id, so that nothing lands that was built since it was looked at.
    request = replace(merge_request(session, base, terms), commit=branch.head)

    # Looked at first, so that a conflict leaves no merge waiting in the way of the next one.
    foreseen = noted_merge(session, name, base, replace(request, dry_run=True))
    if foreseen.how == "conflict":
        raise ConflictError(
            f"{name!r} and {base!r} changed the same in different ways: "
            f"{listed(foreseen.conflicts, _LISTED, '; ')}. Nothing was changed. Run the job that "
            "builds again: it starts from what the base shows by now."
        )
    landed = noted_merge(session, name, base, request)
    if landed.after is None or landed.how == "up_to_date":
        lost = _promotions(pull, reverted=True)
        if lost and not _promotions(pull):
            raise ConflictError(
                f"What {name!r} shows was promoted as {lost[0][:12]}, and reverted since. Run the "
                "job that builds again, which makes new versions of it."
            )
        return [f"{base} has everything that {name} shows at {branch.head[:12]}."]
    return [
        f"Promoted {name} to {base} as {landed.after[:12]}, of the code {code[:12]}.",
        "If the code is not merged after all, undo it:",
        *_undo(pull, [landed.after]),
    ]


def _checked_code(pull: _Pull, branch: Branch) -> str:
    """Return the code that a branch was reviewed for, if that is what the job is about.

    Raises:
        ConflictError: The branch shows something else, or the pull request has moved on.
    """
    seen = _reviewed(pull, branch.head)
    now = pull.host.pull_request()
    wanted = pull.host.code or now.code
    again = "Nothing was changed. Run the job that builds and reviews, then this one again."
    if seen is None:
        raise ConflictError(
            f"{branch.name!r} at {branch.head[:12]} has not been reviewed: its build failed, or "
            f"it has changed since. {again}"
        )
    if seen.note != f"code {wanted}":
        raise ConflictError(
            f"{branch.name!r} was reviewed for the {seen.note[:17]}; expected {wanted[:12]}. "
            f"{again}"
        )
    if now.code != wanted or now.state != "open":
        raise ConflictError(
            f"The pull request is {now.state} at {now.code[:12]} by now; this job is for "
            f"{wanted[:12]}. Nothing was changed."
        )
    return wanted


def _promotions(pull: _Pull, *, reverted: bool = False) -> list[CommitId]:
    """Return the commits of the base that promoted the pull request, newest first.

    Those that were not reverted since, or only those that were.
    """
    repository = pull.repository
    moves = [ref.move.at for ref in repository.refs.moves("heads", pull.branch)]
    found: list[CommitId] = []
    undone: set[CommitId] = set()
    for id, commit in repository.log(repository.branch(pull.base).head):
        # Nothing was promoted before there was a branch.
        if not moves or commit.committed_at < moves[-1] - _DAY:
            break
        if (reverted_id := commit.metadata.get("reverts")) is not None:
            # A purge gives commits other ids, and their metadata keeps the old ones.
            undone.add(repository.maintenance.current(CommitId(reverted_id)))
        if commit.metadata.get(_PULL_REQUEST) == pull.branch:
            found.append(id)
    return [id for id in found if (id in undone) is reverted]


def _undo(pull: _Pull, commits: Sequence[CommitId]) -> Iterator[str]:
    """Yield the commands that undo promotions, in their order."""
    protection = pull.repository.branch(pull.base).protection
    if protection is None:
        for id in commits:
            yield f"dbt-vcs revert {id[:_DIGITS]} --branch {quote(pull.base)}"
        return
    # A protected branch takes a revert only as a promotion.
    way = quote(f"revert/{pull.branch}-{commits[0][:8]}")
    yield f"dbt-vcs branch create {way} {quote(pull.base)}"
    for id in commits:
        yield f"dbt-vcs revert {id[:_DIGITS]} --branch {way}"
    if "tests" in protection.require:
        target = pull.settings.profile_target
        yield f"WAREHOUSE_BRANCH={way} dbt test" + (f" --target {quote(target)}" if target else "")
    if "approval" in protection.require:
        yield f"dbt-vcs approve {way}"
    yield f"dbt-vcs promote {way} {quote(pull.base)}"


def _close(session: CommandSession, pull: _Pull) -> tuple[list[str], bool]:
    """Delete the branch of a pull request that was merged or closed.

    Returns:
        Sentences and commands, and False if data and code don't agree, so that a person has to
        do something.
    """
    repository, name, base = pull.repository, pull.branch, pull.base
    state = pull.host.pull_request().state
    if state == "open":
        raise ConflictError("The pull request is open, so its branch is in use. Close it first.")
    found = repository.find_branch(name)
    if state == "merged" and found is not None and _has_more(pull, found):
        return [
            f"The code was merged, but not the data: {name} has what {base} lacks, so it is kept.",
            "To promote it, then delete it:",
            f"dbt-vcs promote {quote(name)} {quote(base)}",
            f"dbt-vcs branch delete {quote(name)}",
        ], False
    _clean_up(session, pull)
    gone = f"Deleted {name}." if found else f"There is no {name}."
    landed = _promotions(pull) if state == "closed" else []
    if not landed:
        return [gone], True
    return [
        f"{gone} The code was not merged, but its data was promoted to {base}. Undo it:",
        *_undo(pull, landed),
    ], False


def _has_more(pull: _Pull, branch: Branch) -> bool:
    repository = pull.repository
    base = repository.branch(pull.base).head
    fork = repository.merge_base(branch.head, base)
    if fork is None or fork == branch.head:
        return False
    return bool(repository.diff(fork, branch.head).relations)


def _clean_up(session: CommandSession, pull: _Pull) -> None:
    """Delete a branch with what belongs to it: a merge that waits, runs that never landed."""
    repository, author = pull.repository, pull.author
    for run in runs(repository):
        if run.target == pull.branch and run.status not in _DONE:
            try:
                discard(repository, run, author=author)
            except VcsError as error:
                # It still runs, or somebody else was first. `dbt-vcs gc` deletes what is left.
                session.warn([str(error)])
    for branch in (_waiting_merge(pull), repository.find_branch(pull.branch)):
        if branch is not None:
            repository.delete_branch(branch.name, author=author)
