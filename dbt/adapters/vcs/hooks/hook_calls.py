"""Calls of hooks: commands, and posts that are signed and repeated, within bounds.

What a hook is told has happened already, so one that fails is a warning. Each hook is called at
most once for an event: a process that dies in between leaves calls out, and nothing makes up for
them. A post may arrive more than once, since it is repeated when no answer came.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple
from urllib.parse import urlsplit

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.changes.merges.hook_rules import MOST_SECONDS, Hook, HookRules, why_no_url
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.hooks.branch_event import BranchEvent, Occurrence, reason_of
from dbt.adapters.vcs.workspace.run_branch import PREFIX

TRIES: Final = 4
"""Times that a post is tried."""

# Doubled each time, and up to half of it more or less, so that many don't come at once.
_PAUSE: Final = 0.5
_ANSWER: Final = 10.0
_TAIL: Final = 4_000
_SHOWN: Final = 200
# Any other answer says that the same post would be refused again.
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


def call_hooks(
    rules: HookRules,
    kind: str,
    branch: str,
    event: Callable[[], BranchEvent],
    warn: Callable[[str], object],
) -> None:
    """Call the hooks of an event, one after the other; what fails is a warning.

    Args:
        rules: The project's hooks.
        kind: The event's type.
        branch: The branch that it is about.
        event: Makes the event, if a hook is called for it.
        warn: Takes a sentence.
    """
    hooks = rules.of(kind, branch)
    if not hooks:
        return
    if variables.EVENT in os.environ:
        # A hook that merges would be called for that merge, and so on without end.
        warn(
            f"The hooks for {kind} of {branch} are not called, since a hook called this command. "
            "What they do has to be done by that hook."
        )
        return
    try:
        told = event()
    # The branch has moved, so nothing that goes wrong here may look as if it had not.
    except Exception as error:
        kind_of_error = "" if isinstance(error, VcsError) else f"{type(error).__name__}: "
        warn(f"The hooks for {kind} of {branch} are not called: {kind_of_error}{error}")
        return
    until = time.monotonic() + MOST_SECONDS
    for number, hook in enumerate(hooks):
        try:
            why = _called(hook, told, rules, min(hook.timeout, until - time.monotonic()))
        except KeyboardInterrupt:
            left = ", ".join(item.place for item in hooks[number:])
            warn(f"Interrupted. Hooks for {kind} of {branch} that did not end: {left}.")
            raise
        except Exception as error:
            why = reason_of(error)
        if why is not None:
            warn(
                f"The hook {hook.place} ({_shown(hook)}) failed for {kind} of {branch}: {why}. "
                f"Nothing is undone, and it is not called again for this event. See {told.step}"
            )


def _called(hook: Hook, event: BranchEvent, rules: HookRules, seconds: float) -> str | None:
    """Call a hook; return why that failed, None if it did not."""
    if seconds <= 0:
        return f"the hooks before it took {MOST_SECONDS} seconds"
    if hook.run is not None:
        return _run(hook.run, event, rules, seconds)
    return _post(hook, event, time.monotonic() + seconds)


def _shown(hook: Hook) -> str:
    """Return what a hook calls, without what may be a secret: a program, host or variable."""
    if isinstance(hook.run, tuple):
        return os.path.basename(hook.run[0]) if hook.run else "run"
    if hook.run is not None:
        return "run"
    return urlsplit(hook.url).hostname or "url" if hook.url else f"${hook.url_env}"


def _run(
    command: tuple[str, ...] | str, event: BranchEvent, rules: HookRules, seconds: float
) -> str | None:
    # Files, not pipes: a command that doesn't read, writes much, or leaves a process behind
    # blocks nobody.
    with TemporaryFile() as given, TemporaryFile() as said:
        given.write(event.payload)
        given.seek(0)
        try:
            process = subprocess.Popen(
                command,
                shell=isinstance(command, str),
                stdin=given,
                stdout=said,
                stderr=subprocess.STDOUT,
                cwd=rules.folder,
                env={**os.environ, **_facts(event)},
                # A group of its own, which can be stopped as a whole.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"it can't be started ({reason_of(error)})"
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _stop(process)
            return f"it was stopped after {seconds:.3g} seconds{_last_line(said)}"
        except BaseException:
            _stop(process)
            raise
        return None if code == 0 else f"it ended with exit code {code}{_last_line(said)}"


def _facts(event: BranchEvent) -> dict[str, str]:
    """Return the variables of a command: those that shell scripts ask for most."""
    data = event.data
    facts = {
        variables.EVENT: event.type,
        "DBT_VCS_EVENT_ID": event.id,
        "DBT_VCS_EVENT_BRANCH": event.branch,
        "DBT_VCS_EVENT_SOURCE": data.get("source"),
        "DBT_VCS_EVENT_BEFORE": data.get("before") or data.get("head"),
        "DBT_VCS_EVENT_AFTER": data.get("after") or data.get("head"),
    }
    return {name: value or "" for name, value in facts.items()}


def _stop(process: subprocess.Popen[bytes]) -> None:
    # Killed, since what doesn't end in time may not end when it is asked to, either.
    if sys.platform == "win32":
        process.kill()
    else:
        # It may have ended by itself meanwhile.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(said: IO[bytes]) -> str:
    """Return the last line that a command wrote, as the end of a sentence."""
    said.seek(0, os.SEEK_END)
    said.seek(max(0, said.tell() - _TAIL))
    text = said.read().decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    shown = "".join(
        item if item.isprintable() else "\N{REPLACEMENT CHARACTER}" for item in lines[-1]
    )
    return f": {shown.strip()[:_SHOWN]}"


class HookQueue:
    """What happened in one command, whose hooks are called at its end, when all else is done."""

    def __init__(self, rules: HookRules, warn: Callable[[str], object]) -> None:
        """`rules` are the project's, and `warn` takes a sentence about what failed."""
        self._rules = rules
        self._warn = warn
        self._waiting: list[Occurrence] = []

    def add(self, item: Occurrence) -> None:
        """Add what happened, for `call`; on the branch of a shared run, nothing has yet."""
        if not item.branch.startswith(PREFIX):
            self._waiting.append(item)

    def call(self) -> None:
        """Call the hooks of what was added, once, and tell OpenLineage."""
        while self._waiting:
            item = self._waiting.pop(0)
            if self._rules.openlineage:
                # Most projects do without, and it is an extra package.
                from dbt.adapters.vcs.hooks.lineage_events import tell_openlineage

                tell_openlineage(item, self._warn)
            call_hooks(self._rules, item.type, item.branch, item.event, self._warn)


class _Answer(NamedTuple):
    """Why a post failed, None if it did not, and whether to try it again."""

    why: str | None
    again: bool = False


def _post(hook: Hook, event: BranchEvent, until: float) -> str | None:
    """Post an event until it is accepted; return why it was not."""
    try:
        url, secret = _address(hook), _secret(hook)
    except _UnusableError as error:
        return str(error)
    body, why = event.payload, None
    for number in range(TRIES):
        if number:
            pause = _PAUSE * 2**number * (0.5 + random.random())
            time.sleep(max(0.0, min(pause, until - time.monotonic())))
        seconds = min(_ANSWER, until - time.monotonic())
        # The first try has all the time of the hook, which is more than none.
        if seconds <= 0:
            break
        why, again = _answer(url, body, _headers(event, body, secret), seconds)
        if not again:
            break
    return why


class _UnusableError(Exception):
    """A hook can't be called as it is set up."""


def _address(hook: Hook) -> str:
    if hook.url is not None:
        return hook.url
    found = os.environ.get(hook.url_env or "", "").strip()
    why = "not set" if not found else why_no_url(found)
    if why is not None:
        raise _UnusableError(f"the variable {hook.url_env} is {why}")
    return found


def _secret(hook: Hook) -> bytes | None:
    """Return the key to sign with: what `whsec_` precedes is in base64, other text is the key."""
    if hook.secret_env is None:
        return None
    found = os.environ.get(hook.secret_env, "")
    if not found:
        # A post without the signature that the receiver expects would help nobody.
        raise _UnusableError(f"the variable {hook.secret_env} is not set")
    encoded = found.removeprefix("whsec_")
    if encoded == found:
        return found.encode()
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        # Without its cause, which may repeat the secret.
        why = f"the variable {hook.secret_env} has no base64 after whsec_"
        raise _UnusableError(why) from None


def _headers(event: BranchEvent, body: bytes, secret: bytes | None) -> dict[str, str]:
    """Return the headers of a post, as Standard Webhooks 1.0.0 has them."""
    # Of this attempt, since receivers refuse old ones.
    moment = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"dbt-vcs/{version}",
        "webhook-id": event.id,
        "webhook-timestamp": moment,
    }
    if secret is not None:
        signed = b".".join((event.id.encode(), moment.encode(), body))
        digest = hmac.new(secret, signed, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers


def _answer(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> _Answer:
    """Post once, within so many seconds, however slowly the other side answers."""
    found: list[_Answer] = []
    # In a thread: a timeout of a socket is for each read, and looking up a name has none.
    thread = threading.Thread(
        target=lambda: found.append(_posted(url, body, headers, seconds)), daemon=True
    )
    thread.start()
    thread.join(seconds)
    return found[0] if found else _Answer(f"no answer within {seconds:.3g} seconds", True)


def _posted(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> _Answer:
    # Imported here, since most commands call no hook.
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            """Refuse: the signature is for the address of the project alone."""

    try:
        request = Request(url, body, dict(headers), method="POST")
        with build_opener(NoRedirects).open(request, timeout=seconds):
            return _Answer(None)
    except HTTPError as error:
        with error:
            if 300 <= error.code < 400:
                why = f"it answered {error.code}, and redirects are not followed"
                return _Answer(f"{why}: give the address that it leads to")
            return _Answer(f"it answered {error.code}", error.code in _PASSING)
    # In a thread, so whatever it is would be lost.
    except Exception as error:
        return _Answer(f"it can't be reached ({reason_of(error)})", isinstance(error, OSError))
