"""A page's commands, typed into a shell as they are printed, and what they print beside the page.

The shell is a real one. Its `dbt` and `dbt-vcs` pass each command to this process, where one
Spark serves all of them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from click.testing import CliRunner
from dbt.cli.main import dbtRunner

from dbt.adapters.vcs.cli import main

CHECKOUT: Final = Path(__file__).parents[3]
_FENCE: Final = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ID: Final = r"[0-9a-f]{8}-[0-9a-f-]{27}|(?=[a-f]*\d)[0-9a-f]{12,64}"
# What differs from run to run besides ids: ages, and seconds.
_VARYING: Final = r"just now|\d+ (?:second|minute|hour)s? ago|\d+\.\d+s"
_CLIENT: Final = """\
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect({door!r})
    told = {{"words": [{name!r}, *sys.argv[1:]], "env": dict(os.environ), "folder": os.getcwd()}}
    door.sendall(json.dumps(told).encode())
    door.shutdown(socket.SHUT_WR)
    with door.makefile() as answer:
        code, text = json.load(answer)
print(text, end="")
sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and the page's heading above it."""

    language: str
    text: str
    heading: str

    def commands(self) -> list[tuple[str, str]]:
        """Return each command and what the page shows that it prints; "" for nothing."""
        if self.language == "sh":
            return [(self.text, "")]
        found = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [(line.partition("\n")[0], line.partition("\n")[2]) for line in found]


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page of docs, in order."""
    text = (CHECKOUT / "docs" / page).read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        above = re.findall(r"^#+ (.*)", _FENCE.sub("", text[: fence.start()]), re.MULTILINE)
        found.append(Block(fence[1], fence[2], above[-1]))
    return found


def block(page: str, heading: str, language: str = "console", place: int = 0) -> Block:
    """Return one block below a heading."""
    return [b for b in blocks(page) if (b.heading, b.language) == (heading, language)][place]


@dataclass
class Reader:
    """Somebody who types what a page shows into one shell, in a project's folder.

    Attributes:
        folder: Where the next command is typed: the project, and then where `cd` led.
        bin: An empty folder for the two commands.
        env: The variables that the shell has, with what `export` added.
        ids: Each id of the page, and the one that was printed at its place.
    """

    folder: Path
    bin: Path
    env: dict[str, str]
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bin.mkdir()
        for name in ("dbt", "dbt-vcs"):
            script = self.bin / f"{name}.py"
            script.write_text(_CLIENT.format(door=str(self.bin / "door"), name=name))
            command = shlex.join([sys.executable, "-S", "-E", str(script)])
            (self.bin / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (self.bin / name).chmod(0o755)
        self.env = {**self.env, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}

    def follow(self, block: Block, *, codes: tuple[int, ...] = (0,)) -> str:
        """Type a block's commands; return all that they print.

        Args:
            block: The block. An id in it stands for the one printed where the page shows it.
            codes: The exit codes that are fine.

        Raises:
            AssertionError: A command ends with another code, or prints what the page doesn't show.
        """
        printed = []
        for command, shown in block.commands():
            # As with git and diff, 1 is an answer.
            text = self.type(command, codes=(0, 1) if " diff " in command else codes)
            self.compare(shown, text, command)
            printed.append(text)
        return "".join(printed)

    def type(self, command: str, *, codes: tuple[int, ...] = (0,)) -> str:
        """Type one command, or a script; return what it prints."""
        for id, real in self.ids.items():
            command = command.replace(id, real)
        kept = self.bin / "env"
        # `export` and `cd` count for the next command, too.
        script = f"set -e\n{command}\n: ; env -0 > {shlex.quote(str(kept))}"
        code, text = self._run(script)
        assert code in codes, f"{command} ended with {code}:\n{text}"
        if code == 0:
            variables = kept.read_bytes().decode().split("\0")
            self.env = dict(item.split("=", 1) for item in variables if "=" in item)
            self.folder = Path(self.env["PWD"])
        return text

    def compare(self, shown: str, text: str, command: str) -> None:
        """Find each line of a page in what was printed, in order, and learn its ids.

        Raises:
            AssertionError: A line is missing.
        """
        lines = iter(text.splitlines())
        for line in shown.splitlines():
            if line == "...":
                continue
            pattern = _pattern(line)
            found = next((m for real in lines if (m := pattern.fullmatch(real.strip()))), None)
            assert found is not None, f"{command}: no line is\n{line}\nin\n{text}"
            ids = (id for id in re.findall(_ID, line))
            self.ids.update(zip(ids, found.groups(), strict=True))

    def _run(self, script: str) -> tuple[int, str]:
        door = self.bin / "door"
        door.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(door))
            listener.listen()
            listener.settimeout(0.05)
            shell = subprocess.Popen(
                ["/bin/sh", "-c", script],
                cwd=self.folder,
                env=self.env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            while shell.poll() is None:
                try:
                    asked, _ = listener.accept()
                except TimeoutError:
                    continue
                with asked:
                    asked.settimeout(300)
                    _answer(asked)
            assert shell.stdout is not None
            with shell.stdout as output:
                return shell.returncode, output.read()


def _pattern(line: str) -> re.Pattern[str]:
    parts = re.split(f"({_ID}|{_VARYING})", re.sub(r"\s+", " ", line.strip()))
    return re.compile("".join(_parts(parts)).replace(r"\ ", r"\s+"))


def _parts(parts: list[str]) -> Iterator[str]:
    for part in parts:
        if re.fullmatch(_ID, part):
            yield f"({_ID})"
        elif re.fullmatch(_VARYING, part):
            yield f"(?:{_VARYING})"
        else:
            yield re.escape(part)


@contextmanager
def in_folder(folder: str | Path) -> Iterator[None]:
    """Make a folder the current one."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _answer(asked: socket.socket) -> None:
    """Run the command that a client asks for, with the variables and the folder of its shell."""
    with asked.makefile() as question:
        told = json.load(question)
    with patch.dict(os.environ, told["env"], clear=True), in_folder(told["folder"]):
        code, text = _dbt(told["words"][1:]) if told["words"][0] == "dbt" else _vcs(told["words"])
    asked.sendall(json.dumps([code, text]).encode())


def _dbt(words: list[str]) -> tuple[int, str]:
    lines: list[str] = []

    def listen(event: Any) -> None:
        if event.info.level != "debug":
            lines.append(f"{event.info.msg}\n")

    result = dbtRunner(callbacks=[listen]).invoke(words)
    return (0 if result.success else 1), "".join(lines) + str(result.exception or "")


def _vcs(words: list[str]) -> tuple[int, str]:
    result = CliRunner().invoke(main, words[1:])
    return result.exit_code, result.output
