"""Hooks: what a project's `vcs.yml` calls when a branch moved, or when that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.yaml_text import check_keys, mapping_at

EVENTS: Final[Mapping[str, str]] = {
    "publish": "What to call when the work of a dbt run is on a branch, a list.",
    "merge": "Likewise when a merge, a promotion, a pick, a revert or a restoration is.",
    "conflict": "Likewise when a merge stopped: for conflicts, or because it was refused.",
    "fail": "Likewise when a dbt run failed, and nothing of it was published.",
}
"""The events that hooks are for."""

OF_HOOK: Final[Mapping[str, str]] = {
    "run": "A command: a list of words, or a text for the shell. It runs in the project's folder "
    "and gets the event as JSON on standard input.",
    "url": "An address, `http` or `https`, to which the event is posted as JSON.",
    "url_env": "Name of the environment variable that holds the address, in the place of `url`, "
    "for an address that is a secret itself.",
    "secret_env": "Name of the environment variable that holds the secret to sign posts with.",
    "branches": "Names or patterns (`*`, `?`, `[...]`) of the branches that it is for, a list. "
    "Default: all.",
    "timeout": "Seconds that it may take, repetitions included, up to 600. Default: `30`.",
}
"""What the file may say of a hook: one of `run`, `url` and `url_env`, and the rest."""

MOST_SECONDS: Final = 600
_SECONDS: Final = 30.0
_TARGETS: Final = ("run", "url", "url_env")
# What POSIX shells take, so that a secret that was put here is refused and not printed.
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A command or an address, and the events that it is called for.

    Attributes:
        place: Where the file has it, `on.publish[1]`.
        run: The command: words, or a text for the shell; None to post.
        url: The address; None if a variable holds it.
        url_env: That variable.
        secret_env: The variable with the secret that signs; None to post without a signature.
        branches: Patterns of branches.
        timeout: Seconds that a call may take.
    """

    event: str
    place: str
    run: tuple[str, ...] | str | None = None
    url: str | None = None
    url_env: str | None = None
    secret_env: str | None = None
    branches: tuple[str, ...] = ("*",)
    timeout: float = _SECONDS

    def fits(self, event: str, branch: str) -> bool:
        """Return whether it is called for an event of a branch."""
        # Not `fnmatch`, which ignores case on Windows.
        return event == self.event and any(fnmatchcase(branch, item) for item in self.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRules:
    """Whom a project tells about its branches.

    Attributes:
        openlineage: Whether an OpenLineage client is told of everything.
        folder: The project's folder, in which commands run.
    """

    hooks: tuple[Hook, ...] = ()
    openlineage: bool = False
    folder: Path = field(default_factory=Path)

    def __bool__(self) -> bool:
        return bool(self.hooks) or self.openlineage

    def of(self, event: str, branch: str) -> tuple[Hook, ...]:
        """Return the hooks that an event of a branch calls."""
        return tuple(hook for hook in self.hooks if hook.fits(event, branch))

    def events_of(self, branch: str) -> tuple[str, ...]:
        """Return the events of a branch that call a hook."""
        return tuple(event for event in EVENTS if self.of(event, branch))

    def named_branches(self) -> Iterator[tuple[str, str]]:
        """Yield the place and pattern of each branch that a hook names."""
        for hook in self.hooks:
            for pattern in hook.branches:
                if pattern != "*":
                    yield hook.place, pattern


def read_hooks(top: Mapping[str, Any], path: Path) -> HookRules:
    """Read `on` and `openlineage` of a project's rules.

    Raises:
        InputError: A key or a value is unknown. The message repeats no address, which may be a
            secret.
    """
    given = mapping_at(top.get("on") or {}, f"on in {path}")
    check_keys(given, EVENTS, f"on in {path}")
    hooks: list[Hook] = []
    for event in given:
        items = given[event] or []
        if not isinstance(items, list):
            raise InputError(
                f"on.{event} in {path} is no list. Write each hook as an item: - run: [...]"
            )
        hooks += (_hook(item, event, number, path) for number, item in enumerate(items, 1))
    is_told = top.get("openlineage", False)
    if not isinstance(is_told, bool):
        raise InputError(f"Found openlineage: {is_told!r} in {path}; expected true or false.")
    if not (hooks or is_told):
        return HookRules()
    return HookRules(hooks=tuple(hooks), openlineage=is_told, folder=path.parent)


def _hook(given: Any, event: str, number: int, path: Path) -> Hook:
    place = f"on.{event}[{number}]"
    where = f"{place} in {path}"
    if not isinstance(given, Mapping):
        raise InputError(f"{where} has no names. Expected one of {', '.join(_TARGETS)} in it.")
    rule = {str(key): value for key, value in given.items()}
    check_keys(rule, OF_HOOK, where)
    targets = [name for name in _TARGETS if rule.get(name)]
    if len(targets) != 1:
        found = " and ".join(targets) or "none"
        raise InputError(f"Found {found} in {where}; expected one of {', '.join(_TARGETS)}.")
    if "secret_env" in rule and "run" in targets:
        raise InputError(f"{where} has secret_env, which signs posts. Leave it out for a command.")
    return Hook(
        event=event,
        place=place,
        run=_command(rule.get("run"), where),
        url=_url(rule.get("url"), where),
        url_env=_variable(rule, "url_env", where),
        secret_env=_variable(rule, "secret_env", where),
        branches=_patterns(rule.get("branches", ["*"]), where),
        timeout=_seconds(rule.get("timeout", _SECONDS), where),
    )


def _command(given: Any, where: str) -> tuple[str, ...] | str | None:
    if given is None or isinstance(given, str):
        return given
    words = given if isinstance(given, list) else [given]
    if not all(isinstance(word, str) for word in words):
        raise InputError(
            f"Found run: {given!r} in {where}; expected a text, or a list of texts. Put numbers "
            "in quotes."
        )
    return tuple(words)


def _url(given: Any, where: str) -> str | None:
    if given is None:
        return None
    why = why_no_url(given) if isinstance(given, str) else "no text"
    if why is not None:
        raise InputError(
            f"The url in {where} is {why}; expected one such as https://example.org/hook."
        )
    return str(given)


def why_no_url(text: str) -> str | None:
    """Return why a text is no address to post to, None if it is; the text isn't repeated."""
    try:
        parts = urlsplit(text)
        # It is read here, as it raises an error of its own.
        is_whole = parts.port != 0 and bool(parts.hostname)
    except ValueError:
        return "no address"
    if parts.scheme not in ("http", "https") or not is_whole:
        return "no http or https address"
    if parts.username or parts.password:
        return "one with a user or a password in it, which a committed file must not have"
    return None


def _variable(rule: Mapping[str, Any], key: str, where: str) -> str | None:
    name = rule.get(key)
    if name is not None and not (isinstance(name, str) and _VARIABLE.fullmatch(name)):
        raise InputError(f"{key} in {where} is no name of an environment variable.")
    return name


def _patterns(given: Any, where: str) -> tuple[str, ...]:
    items = [given] if isinstance(given, str) else given
    if not (isinstance(items, list) and items and all(isinstance(item, str) for item in items)):
        raise InputError(f"Found branches: {given!r} in {where}; expected a list of names.")
    return tuple(items)


def _seconds(given: Any, where: str) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not (is_number and 0 < given <= MOST_SECONDS):
        raise InputError(
            f"Found timeout: {given!r} in {where}; expected seconds, at most {MOST_SECONDS}."
        )
    return float(given)
