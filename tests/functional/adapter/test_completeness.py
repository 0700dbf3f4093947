"""No class of the suite is left out, in this release of it or in a later one."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from . import suite
from .part import PART

HERE = Path(__file__).parent


def ours() -> Iterator[tuple[str, type]]:
    """Return group and class of everything that pytest runs in this folder's groups."""
    for path in sorted(HERE.glob("*/test_*.py")):
        group = path.parent.name
        module = importlib.import_module(f"{__package__}.{group}.{path.stem}")
        for name, value in vars(module).items():
            if inspect.isclass(value) and name.startswith("Test") and suite.has_tests(value):
                yield group, value


def is_plain(cls: type) -> bool:
    """Return whether a class only gives another one a name that pytest collects."""
    return not [name for name in vars(cls) if not name.startswith("__")]


def test_every_class_of_the_suite_is_here() -> None:
    covered = {base for _, cls in ours() for base in cls.__mro__}
    missing: dict[str, list[str]] = defaultdict(list)
    for cls in suite.classes():
        if cls not in covered and not (is_plain(cls) and covered.issuperset(cls.__bases__)):
            missing[cls.__module__.removeprefix(f"{suite.PACKAGE}.")].append(cls.__name__)
    lines = [f"{module}: {', '.join(names)}" for module, names in missing.items()]
    assert not missing, "Subclass these, or skip them with a reason:\n" + "\n".join(lines)


def test_the_part_has_something_of_every_group() -> None:
    suites = {(cls.__module__.split(".")[3], cls.__name__) for cls in suite.classes()}
    assert set(PART) == {group for group, _ in suites}
    assert {(group, name) for group, names in PART.items() for name in names} <= suites
