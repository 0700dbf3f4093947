"""A test of a dbt project as a condition, from what dbt last compiled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.statements.parser import split
from dbt.adapters.vcs.verbs.bisecting.condition import BisectCondition

_SHOWN: Final = 10
_PLAIN: Final = ("count(*)", "!= 0")


def find_test(target: Path, name: str) -> BisectCondition:
    """Return a test as the condition that it passes.

    A test with the severity `warn` passes if it doesn't warn, another one if it is no error.

    Args:
        target: The folder that dbt writes to, `target`.
        name: Name of the test, or its unique id.

    Raises:
        NotFoundError: There is no such test.
        InputError: dbt has written nothing there, has not compiled the test, or several tests have
            the name.
    """
    tests = _tests(target)
    wanted = name.strip()
    found = [test for test in tests if wanted in (test["unique_id"], test.get("name"))]
    if not found:
        raise NotFoundError(
            f"There is no test {wanted!r} in {target / 'manifest.json'}. {_known(wanted, tests)}"
        )
    if len(found) > 1:
        ids = ", ".join(sorted(test["unique_id"] for test in found))
        raise InputError(f"{len(found)} tests are named {wanted!r}. Give the id of one: {ids}.")
    (test,) = found
    text = test.get("compiled_code") or _compiled(target, test)
    statements = split(text or "")
    if len(statements) != 1:
        raise InputError(
            f"The test {wanted!r} is not compiled in {target}. Run: dbt compile --select "
            f"{test.get('name')}"
        )
    return _condition(test, statements[0])


def _condition(test: Mapping[str, Any], text: str) -> BisectCondition:
    config: Mapping[str, Any] = test.get("config") or {}
    warns = str(config.get("severity") or "error").lower() == "warn"
    counts = str(config.get("fail_calc") or "count(*)").strip()
    fails = str(config.get("warn_if" if warns else "error_if") or "!= 0").strip()
    label = str(test["unique_id"])
    if (counts.lower(), fails) == _PLAIN:
        return BisectCondition(label=label, text=text, kind="failures")
    limit = f"\nlimit {int(config['limit'])}" if config.get("limit") else ""
    # As in dbt, a test without a number of failures passes.
    wrapped = (
        f"select coalesce(not ({counts} {fails}), true) as is_good from (\n"
        f"select * from (\n{text}\n) as dbt_internal_rows{limit}\n) as dbt_internal_test"
    )
    return BisectCondition(label=label, text=wrapped, kind="truth")


def _tests(target: Path) -> list[Mapping[str, Any]]:
    path = target / "manifest.json"
    try:
        nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    except FileNotFoundError:
        raise InputError(
            f"Expected what dbt compiled in {path}, found no such file. Run dbt compile in the "
            "project, or give --project-dir."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} can't be read: {error}. Run: dbt compile") from error
    return [node for node in nodes.values() if node.get("resource_type") == "test"]


def _compiled(target: Path, test: Mapping[str, Any]) -> str | None:
    """Return what dbt wrote when it last compiled the test; a later manifest may lack it."""
    source, path = Path(test["original_file_path"]), Path(test["path"])
    inner = source if source.name == path.name else source / path
    file = target / "compiled" / test["package_name"] / inner
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _known(wanted: str, tests: Iterable[Mapping[str, Any]]) -> str:
    names = sorted(str(test.get("name")) for test in tests)
    near = [name for name in names if wanted.lower() in name.lower()] or names
    if not near:
        return "The project has no tests."
    more = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
    return f"There are {', '.join(near[:_SHOWN])}{more}. For new tests run: dbt compile"
