"""Signatures: a verb's options and help, read from its file without importing what it runs.

A verb's file imports what the verb computes with: merges, Parquet, pyarrow. Whoever asks for help
or mistypes an option should not wait for that. So the command line is made from a part of the
file: its functions under `@verb` and `@verbs`, without their bodies, and the definitions that
their decorators, annotations and defaults mention. The file is imported when the verb runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import click

_DECORATORS: Final = frozenset({"verb", "verbs"})


@cache
def command_of(module: str, name: str) -> click.Command:
    """Return the command that a module defines; the module is imported when it is run.

    Args:
        module: Dotted name of the module.
        name: Name of the function in it, such as `merge_command`.
    """
    source = None if module in sys.modules else _source_of(module)
    # It is there anyway, or it was installed as bytecode alone.
    commands = vars(import_module(module)) if source is None else _read(module, source)
    command = commands[name]
    assert isinstance(command, click.Command)
    return command


def _source_of(module: str) -> str | None:
    spec = find_spec(module)
    read: Callable[[str], str | None] | None = getattr(spec and spec.loader, "get_source", None)
    return None if read is None else read(module)


def _read(module: str, source: str) -> dict[str, Any]:
    """Return the names of the part of a module that its commands' signatures need."""
    tree = ast.parse(source)
    functions = {
        item.name: item
        for item in tree.body
        if isinstance(item, ast.FunctionDef)
        and any(_DECORATORS & set(_mentioned(each)) for each in item.decorator_list)
    }
    for function in functions.values():
        _drop_body(function)
    kept = _needed(tree, list(functions.values()))
    # Annotations stay texts, as in the file: `compile` takes over this module's future imports.
    code = compile(ast.Module(kept, type_ignores=[]), f"<signatures of {module}>", "exec")
    names: dict[str, Any] = {"__name__": module}
    exec(code, names)
    for name in functions:
        command = names[name]
        if not isinstance(command, click.Group):
            command.callback = partial(_run, module, name)
    return names


def _run(module: str, name: str, /, **given: Any) -> Any:
    command = getattr(import_module(module), name)
    return command.callback(**given)


def _drop_body(function: ast.FunctionDef) -> None:
    """Leave a function its documentation; what it takes first and returns is no option."""
    is_documented = ast.get_docstring(function) is not None
    function.body = [function.body[0] if is_documented else ast.Pass()]
    function.returns = None
    if function.args.args and function.args.args[0].arg == "session":
        function.args.args[0].annotation = None


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield each name that a module defines, and the statement that does."""
    for item in tree.body:
        match item:
            case ast.Import() | ast.ImportFrom():
                for alias in item.names:
                    yield (alias.asname or alias.name).partition(".")[0], item
            case ast.FunctionDef() | ast.ClassDef():
                yield item.name, item
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, item


def _needed(tree: ast.Module, roots: list[ast.FunctionDef]) -> list[ast.stmt]:
    """Return the statements of a module that the given ones need, and these, in their order."""
    definitions = dict(_definitions(tree))
    found: list[ast.stmt] = []
    left: list[ast.stmt] = [*roots]
    while left:
        item = left.pop()
        if item not in found:
            found.append(item)
            left.extend(definitions[name] for name in _mentioned(item) if name in definitions)
    return [item for item in tree.body if item in found]


def _mentioned(node: ast.AST) -> Iterator[str]:
    return (item.id for item in ast.walk(node) if isinstance(item, ast.Name))
