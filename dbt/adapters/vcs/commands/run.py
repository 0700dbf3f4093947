"""`dbt-vcs run`: one run of many dbt commands."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import click

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.commands.layout import Span, line
from dbt.adapters.vcs.commands.runs import discard_run, publish_run, summarize_run
from dbt.adapters.vcs.commands.serve import SERVING, check_installed
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, VerbGroup, verb, verbs
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, find_run
from dbt.adapters.vcs.workspace.shared_run import begin_run, fail_run

if TYPE_CHECKING:
    from dbt.adapters.vcs.iceberg.serve.access import TokenList


_WORDS: Final = "dbt_vcs.words"
_ADDRESS: Final = "DBT_VCS_ICEBERG_"
_CATALOG: Final = "PYICEBERG_CATALOG__VCS__"


class RunGroup(VerbGroup):
    """The group `run`, in which `--` begins a command that is a run by itself."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words after `--` for the command to run.

        Raises:
            click.UsageError: There is neither a command of the group nor one to run.
        """
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_WORDS] = tuple(args[at + 1 :])
        if ctx.meta[_WORDS] and (not at or args[0].startswith("-")):
            return super().parse_args(ctx, ["exec", *args[:at]])
        if at < len(args) or args[:1] in ([], ["--branch"], ["exec"]):
            raise click.UsageError(
                "Expected begin, publish or discard, or a command after --, such as: "
                "dbt-vcs run -- dbt build",
                ctx,
            )
        return super().parse_args(ctx, args)


@verbs(kind=RunGroup)
def run_command() -> None:
    """Make one run of many commands, which are published together.

    `begin` prints the id of a new run. Each dbt command that finds this id in DBT_VCS_RUN is a
    part of it: it builds on what the commands before it did, and readers of the branch see none
    of it. Commands may run side by side, on any machine. `publish` publishes what they did in one
    step, if the last result of each node is a success.

    `dbt-vcs run [--branch BRANCH] -- COMMAND` does all of it for a single command of any kind. It
    also serves the run as an Iceberg REST catalog on this machine, for commands that are no dbt
    Core; their environment says where.
    """


@verb(run_command)
def run_begin(
    session: CommandSession,
    *,
    branch: Annotated[
        str | None, Option("Branch that it is for.  [default: the profile's]", metavar="BRANCH")
    ] = None,
) -> None:
    """Begin a run, and print its id.

    For a shell: export DBT_VCS_RUN=$(dbt-vcs run begin)
    """
    target = branch or session.branch
    session.bound(target)
    run = begin_run(session.repository, target, author=session.author)
    summary = summarize_run(session.repository, run, session.repository.clock())
    session.show(summary, [line(run.invocation)])


@verb(run_command)
def run_publish(
    session: CommandSession,
    id: Annotated[str | None, Option(metavar="[RUN]")] = None,
    *,
    force: Annotated[bool, "Also publish a run in which something failed."] = False,
) -> None:
    """Publish a run: merge it into its branch, in one step.

    RUN is its id, the start of its id, or its branch; without one it is that of DBT_VCS_RUN. It
    is refused if the last result of some node is a failure, or a command is still running.
    """
    publish_run(session, find_run(session.repository, _wanted(id)), force=force)


@verb(run_command, prints_json=False)
def run_discard(
    session: CommandSession,
    id: Annotated[str | None, Option(metavar="[RUN]")] = None,
    *,
    force: Annotated[bool, "Also a run of which commands are still running."] = False,
) -> None:
    """Discard a run: delete its branch, and those of its commands.

    RUN is its id, the start of its id, or its branch; without one it is that of DBT_VCS_RUN.
    """
    gone = discard_run(session.repository, _wanted(id), author=session.author, force=force)
    session.say([line("Discarded ", Span(gone.branch, "name"), f" ({gone.status}).")])


@verb(run_command, prints_json=False, hidden=True)
def run_exec(
    session: CommandSession,
    *,
    branch: Annotated[
        str | None, Option("Branch that it is for.  [default: the profile's]", metavar="BRANCH")
    ] = None,
) -> None:
    """Run a command as a run, and publish it if the command succeeds.

    The command's exit code is this one's. If it fails, the run is kept and not published.
    """
    check_installed("A run of any command", *SERVING)
    from dbt.adapters.vcs.iceberg.serve.start import Listening, Serving

    words = click.get_current_context().meta[_WORDS]
    program = shutil.which(words[0])
    if program is None:
        raise InputError(f"There is no program {words[0]!r} to run: check its name, and PATH.")
    repository, author = session.repository, session.author
    target = session.bound(branch or session.branch)
    serving = Serving(
        repository,
        Listening(host="127.0.0.1", port=0),
        storage_options=session.storage_options,
        environment=os.environ,
    )
    run = begin_run(repository, target, author=author)
    token = secrets.token_urlsafe(32)
    # The program's output is the command's from here on.
    session.progress.end()
    try:
        # Requests of the command itself are nothing that its user asked to see.
        with (
            open(os.devnull, "w", encoding="utf-8") as unseen,
            serving.beside(_only(run, token, author), unseen) as url,
        ):
            code = _call(program, words, os.environ | _environment(run, url, token))
    except BaseException:
        fail_run(repository, run, "it was stopped", author=author)
        raise
    if code:
        note = f"{words[0]} ended with {code}"
        ended = fail_run(repository, run, note, author=author)
        told = (
            f"Not published: {note}. {target} is unchanged; {run.name} keeps what was done: "
            f"dbt-vcs diff {quote(target)} {quote(run.name)}"
            if ended.status is Status.FAILED
            else f"{note}, when the run had been {ended.status}: dbt-vcs show {quote(run.name)}"
        )
        session.warn([told])
        sys.exit(code)
    publish_run(session, find_run(repository, run.invocation))


def _only(run: RunBranch, token: str, author: str) -> TokenList:
    """Return the tokens of a server for one run: it is read and written by one token."""
    from dbt.adapters.vcs.iceberg.serve.access import Bearer, Grant, TokenList

    # The name is the author of the commits that come through the catalog.
    bearer = Bearer(author, (Grant("writer", (run.name,)),))
    return TokenList(((hashlib.sha256(token.encode()).hexdigest(), bearer),))


def _environment(run: RunBranch, url: str, token: str) -> dict[str, str]:
    """Return what tells a command where it works, also in the names that PyIceberg reads."""
    found = {
        variables.RUN: run.invocation,
        f"{_ADDRESS}URI": url,
        f"{_ADDRESS}TOKEN": token,
        f"{_ADDRESS}WAREHOUSE": run.name,
        f"{_CATALOG}TYPE": "rest",
    }
    for name in ("URI", "TOKEN", "WAREHOUSE"):
        found[f"{_CATALOG}{name}"] = found[f"{_ADDRESS}{name}"]
    return found


def _call(program: str, words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Return the exit code of a command, which shares this terminal; 128 and more for a signal."""
    process = subprocess.Popen([program, *words[1:]], env=environment)
    # Ctrl-C reaches the command, too, and what it does then is its own matter.
    handlers = {
        number: signal.signal(number, lambda number, _: _pass_on(process, number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        code = process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _pass_on(process: subprocess.Popen[bytes], number: int) -> None:
    # A terminal sends SIGINT to all of its programs itself.
    if number != signal.SIGINT:
        process.send_signal(number)


def _wanted(id: str | None) -> str:
    wanted = id or variables.joined_run()
    if not wanted:
        raise click.UsageError(
            f"Which run? Give its id, or set {variables.RUN}. To list them: dbt-vcs runs list"
        )
    return wanted
