"""The classes of the installed dbt-tests-adapter that have tests."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import dbt.tests

PACKAGE = "dbt.tests.adapter"


def modules() -> Iterator[ModuleType]:
    """Return every module of the suite; its folders are no packages, so their files are walked."""
    root = Path(dbt.tests.__path__[0]) / "adapter"
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[-1] != "__init__":
            yield importlib.import_module(".".join([PACKAGE, *parts]))


def classes() -> Iterator[type]:
    """Return every class of the suite with a test of its own, or one that it inherits."""
    for module in modules():
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == module.__name__ and has_tests(value):
                yield value


def has_tests(cls: type) -> bool:
    """Return whether pytest would find a test in a class if it were named Test…."""
    return any(
        name.startswith("test") and inspect.isfunction(getattr(cls, name)) for name in dir(cls)
    )
