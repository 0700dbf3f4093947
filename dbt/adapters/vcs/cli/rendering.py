"""Rendering: the Jinja features that profiles use."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from dbt.adapters.vcs.core.errors import InputError


def render(value: Any, place: str) -> Any:
    """Return a value with `{{ env_var(...) }}` filled in; values that aren't text are unchanged.

    `place` describes the value in messages; the text itself is never repeated, because it may
    contain a secret.

    Raises:
        InputError: A variable is not set and has no default, or the text uses other Jinja
            features.
    """
    if not isinstance(value, str) or "{" not in value:
        return value
    # Most profiles don't need it, and it is slower to import than the rest of the command.
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined)
    environment.globals["env_var"] = partial(_env_var, place)
    for name in ("as_text", "as_bool", "as_number", "as_native"):
        environment.filters[name] = _same
    try:
        return environment.from_string(value).render()
    except TemplateError as error:
        raise InputError(
            f"The {place} can't be rendered: {error.message}. Outside dbt, only env_var() is "
            "supported there. Use --repository instead."
        ) from None


def _env_var(place: str, name: str, default: Any = None) -> str:
    found = os.environ.get(name, default)
    if found is None:
        raise InputError(
            f"The environment variable {name!r} is not set, and the {place} has no default for "
            "it. Set it, or use --repository."
        )
    return str(found)


def _same(value: Any) -> Any:
    return value
