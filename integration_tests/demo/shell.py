"""Run dbt and dbt-vcs as a person would, and keep their output."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

Say = Callable[[str], None]

_NOISE = re.compile(r"\[RUN\]|\[PASS in |^\s*$")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


class UnexpectedExit(Exception):
    """A command ended differently than the demo expects; the message has its output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one command."""

    command: str
    code: int
    output: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """Runs commands in one folder, on one repository.

    Attributes:
        folder: the dbt project; also where its profiles lie.
        repository: where the branches lie.
        say: told each command before it runs, and each line of what it says that matters.
    """

    folder: Path
    repository: str
    say: Say

    def dbt(self, *arguments: str, expect: int = 0) -> Outcome:
        """Run dbt; lines for started nodes and passed tests are not printed."""
        return self._run("dbt", arguments, expect)

    def vcs(self, *arguments: str, expect: int = 0) -> Outcome:
        """Run dbt-vcs."""
        return self._run("dbt-vcs", arguments, expect)

    def _run(self, name: str, arguments: tuple[str, ...], expect: int) -> Outcome:
        program = Path(sys.executable).with_name(name)
        command = " ".join([name, *arguments])
        self.say(f"$ {command}")
        start = perf_counter()
        with (self.folder / "stderr.log").open("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [str(program), *arguments],
                cwd=self.folder,
                env=self._environment(),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
            )
            with process:
                lines = [self._tell(line) for line in process.stdout or ()]
            errors.seek(0)
            complaints = errors.read()
        outcome = Outcome(
            command=command,
            code=process.returncode,
            output="".join(lines),
            seconds=perf_counter() - start,
        )
        if outcome.code != expect:
            raise UnexpectedExit(
                f"{command} ended with {outcome.code} where {expect} was expected:\n"
                f"{outcome.output}{complaints}"
            )
        self.say(f"  exit code {outcome.code}, {outcome.seconds:.1f} s")
        return outcome

    def _tell(self, line: str) -> str:
        plain = _COLOR.sub("", line)
        if not _NOISE.search(re.sub(r"^\d\d:\d\d:\d\d", "", plain)):
            self.say(f"  {plain.rstrip()}")
        return plain

    def _environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("DBT_")}
        return inherited | {
            "DBT_PROJECT_DIR": str(self.folder),
            "DBT_PROFILES_DIR": str(self.folder),
            "DBT_VCS_REPOSITORY": self.repository,
            "DBT_USE_COLORS": "false",
            "COLUMNS": "120",
        }
