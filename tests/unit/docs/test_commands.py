"""Every command that a page shows is one: its name, its options and its arguments are known."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
import yaml
from dbt.cli.main import cli as dbt

from dbt.adapters.vcs.cli import main as dbt_vcs
from dbt.adapters.vcs.commands import COMMANDS
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.project.operations import OPERATIONS, prepare_operation

CHECKOUT = Path(__file__).parents[3]
PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *sorted((CHECKOUT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^( *)```(?:console|sh|yaml)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
# What begins a command: the line, a shell's prompt or operator, a workflow's key.
BEGINS = re.compile(r"(?:^|\$ |\$\(|; |&& |\|\| |^(?:- )?run: )(?:\w+=\S+ )*(dbt(?:-vcs)? [^#;]*)")
# In a sentence or a cell; <name>, [option], NAME and … stand for what a reader fills in.
INLINE = re.compile(r"(?<!`)`(dbt(?:-vcs)? [^`<\[…A-Z]+)`(?!`)")
PARAMETERS = re.compile(r"{%-?\s*macro (?:default__)?(\w+)\((.*?)\)\s*-?%}", re.DOTALL)


def commands(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield each command, and whether it is whole: a sentence may name it without arguments."""
    for fence in FENCE.finditer(text):
        for line in fence[2].splitlines():
            for found in BEGINS.finditer(re.sub(r"\$\{\{.*?\}\}", "x", line.strip())):
                yield words_of(found[1]), True
    for inline in INLINE.finditer(FENCE.sub("", text)):
        yield words_of(inline[1]), False


def words_of(command: str) -> list[str]:
    words = shlex.split(re.sub(r"\$\w+|\$\(.*?\)", "x", command).rstrip(")"))
    ends = [place for place, word in enumerate(words) if word in ("|", "||", "&&", ">")]
    return words[: min(ends, default=len(words))]


SHOWN = [
    pytest.param(words, whole, id=f"{page.name}: {' '.join(words)}"[:90])
    for page in PAGES
    for words, whole in commands(page.read_text(encoding="utf-8"))
]


@cache
def parameters_of_macros() -> dict[str, set[str]]:
    texts = [path.read_text(encoding="utf-8") for path in (CHECKOUT / "macros").rglob("*.sql")]
    return {
        name: {item.partition("=")[0].strip() for item in parameters.split(",")}
        for text in texts
        for name, parameters in PARAMETERS.findall(text)
    }


@pytest.fixture(autouse=True)
def _a_folder_of_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options are looked at with their defaults, and dbt's default is a folder that must exist."""
    commands: list[click.Command] = [dbt]
    for command in commands:
        commands.extend(command.commands.values() if isinstance(command, click.Group) else ())
        for option in command.params:
            if option.name == "profiles_dir":
                monkeypatch.setattr(option, "default", str(tmp_path))


def parse(words: list[str]) -> None:
    """Parse a command line as the command itself would, without running it.

    Raises:
        click.UsageError: It is none.
    """
    command: click.Command = dbt_vcs if words[0] == "dbt-vcs" else dbt
    rest, context = words[1:], None
    while True:
        context = command.make_context(words[0], list(rest), parent=context)
        left = [*context.protected_args, *context.args]
        if not isinstance(command, click.Group) or not left:
            return
        _, found, rest = command.resolve_command(context, left)
        assert found is not None
        command = found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("words", "whole"), SHOWN)
def test_a_command_is_known(words: list[str], whole: bool) -> None:
    try:
        parse(words)
    except click.UsageError as error:
        # Others than these miss what a sentence may leave out: an argument, a sub-command.
        if whole or type(error) in (click.UsageError, click.NoSuchOption):
            raise
    if words[:2] == ["dbt", "run-operation"] and words[2:]:
        given = yaml.safe_load(words[words.index("--args") + 1]) if "--args" in words else {}
        assert set(given) <= parameters_of_macros()[words[2]]


@pytest.mark.parametrize(
    "words",
    [
        ["dbt-vcs", "revert", "main", "--dry-run"],
        ["dbt-vcs", "merg", "a"],
        ["dbt", "build", "--targt", "prod"],
    ],
)
def test_a_command_that_is_none_is_seen(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)


def test_commands_are_found_wherever_they_stand() -> None:
    page = "`dbt-vcs tag` and `dbt-vcs show <id>`\n```sh\nA=b dbt build -s a+ || x # no\n```\n"
    assert list(commands(page)) == [
        (["dbt", "build", "-s", "a+"], True),
        (["dbt-vcs", "tag"], False),
    ]
    assert len(SHOWN) > 150


def test_every_command_is_described() -> None:
    page = (CHECKOUT / "docs/cli.md").read_text(encoding="utf-8")
    described = re.findall(r"^### `([a-z-]+)", page, re.MULTILINE)
    assert sorted(described) == sorted(COMMANDS)


def test_every_operation_has_a_macro_that_is_described() -> None:
    page = (CHECKOUT / "docs/cli.md").read_text(encoding="utf-8").partition("## Inside dbt")[2]
    macros = {
        verb: path.stem
        for path in (CHECKOUT / "macros/operations").glob("*.sql")
        for verb in re.findall(r"vcs_verb\('([\w-]+)'", path.read_text(encoding="utf-8"))
    }
    assert macros.keys() == set(OPERATIONS)
    described = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert set(macros.values()) <= described


def arguments_of(verb: str) -> set[str]:
    """The arguments of an operation, as it names them itself, and its action."""
    command = dbt_vcs.get_command(click.Context(dbt_vcs), verb)
    actions = command.commands if isinstance(command, click.Group) else {None: command}
    found = {"action"} if isinstance(command, click.Group) else set()
    for action in actions:
        with pytest.raises(InputError) as refused:
            # Nothing is run, so nobody has to call.
            prepare_operation(None, verb, {"action": action, "no such": 1})  # type: ignore[arg-type]
        found |= set(str(refused.value).rpartition(" takes ")[2].rstrip(".").split(", "))
    return found


@pytest.mark.parametrize("path", sorted((CHECKOUT / "macros/operations").glob("*.sql")))
def test_an_operation_takes_what_its_macro_passes(path: Path) -> None:
    passed = re.findall(r"vcs_verb\('([\w-]+)', \{(.*?)\}", path.read_text("utf-8"), re.DOTALL)
    for verb, arguments in passed:
        assert set(re.findall(r"'(\w+)':", arguments)) <= arguments_of(verb)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_that_loads_no_command_is_its_own(name: str) -> None:
    command = dbt_vcs.get_command(click.Context(dbt_vcs), name)
    assert command is not None
    assert COMMANDS[name] == command.get_short_help_str(limit=100)
