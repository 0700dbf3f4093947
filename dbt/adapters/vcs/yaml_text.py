"""YAML that a project's files hold, read safely."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

from dbt.adapters.vcs.core.errors import InputError

MAX_DEPTH: Final = 100
"""Levels of nesting that are read."""

# PyYAML lacks the fast one where it was built without libyaml.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str, place: str) -> Any:
    """Return the value of a text; `place` is its file, for the message.

    Raises:
        InputError: It is not YAML, or is nested too deeply. The message does not repeat the text,
            which may contain credentials.
    """
    try:
        _check_depth(text, place)
        return yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it does not parse"
        # Without its cause, which repeats the text.
        raise InputError(f"{place}{line} is not valid YAML: {problem}.") from None


def mapping_at(value: Any, where: str) -> Mapping[str, Any]:
    """Return a value that should have names.

    Raises:
        InputError: It has none; the message says where.
    """
    if not isinstance(value, Mapping):
        raise InputError(f"Found {value!r} at {where}; expected names with values.")
    return {str(key): item for key, item in value.items()}


def setting_text(value: Any) -> str:
    """Return a value as the text of a setting: truth values as YAML and Spark write them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_keys(given: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Check that a mapping has known keys only.

    Raises:
        InputError: One is unknown.
    """
    unknown = [key for key in given if key not in known]
    if unknown:
        raise InputError(f"Found {unknown[0]!r} in {where}; expected one of {', '.join(known)}.")


def _check_depth(text: str, place: str) -> None:
    # Loading calls itself for each level, and the parser in C overflows the stack of the process.
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise InputError(
                f"{place}, line {event.start_mark.line + 1} is nested more than {MAX_DEPTH} "
                "levels deep. Write it with fewer."
            )
