"""Methods: where a profile lets rows be computed.

Here is what is known of that before an engine starts: the methods, the address of a server, and
the defaults of the Spark that would start here. Spark's launcher gets its arguments from
`PYSPARK_SUBMIT_ARGS`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from dbt.adapters.vcs.core.errors import InputError

METHODS: Final = ("session", "connect")
"""`session` is Spark in this process, `connect` a server's."""

# The other methods of dbt-spark; docs/decisions/0028-no-engine-of-sql-only.md says why not.
_SQL_ONLY: Final = ("thrift", "http", "odbc")


def method_of(settings: Mapping[str, str] | None) -> str:
    """Return the method for settings without one."""
    return "connect" if REMOTE in (settings or {}) else "session"


def check_method(method: str, settings: Mapping[str, str] | None = None) -> None:
    """Check that a profile's method is known, and that it goes with the engine's settings.

    Raises:
        InputError: It isn't, or it doesn't.
    """
    if method in _SQL_ONLY:
        raise InputError(
            f"method: {method} is not supported by type: vcs: with SQL only, nothing shows "
            "whether all rows of a write were stored. Run Spark Connect on the same cluster "
            "(start-connect-server.sh), and set method: connect with host: sc://<host>:15002; or "
            "method: session with spark.master in spark_config. See docs/clusters.md."
        )
    if method not in METHODS:
        near = get_close_matches(method, METHODS, n=1)
        raise InputError(
            f"method: {method} is unknown to type: vcs; "
            + (f"did you mean {near[0]}?" if near else f"expected {' or '.join(METHODS)}.")
        )
    if method == "session" and REMOTE in (settings or {}):
        raise InputError(
            f"A Spark Connect server ({REMOTE}, host) needs method: connect; the profile has "
            f"method: {method}."
        )


REMOTE: Final = "spark.remote"
"""Spark's setting of the address."""

_VARIABLE: Final = "SPARK_REMOTE"
_SCHEME: Final = "sc://"
_PORT: Final = 15002


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """An address as Spark Connect's clients write it; its text hides the parameters.

    Attributes:
        url: `sc://host:port/;token=...;use_ssl=true`.
    """

    url: str = field(repr=False)

    def __str__(self) -> str:
        return self.url.partition("/;")[0].rstrip("/")

    @property
    def token(self) -> str:
        """The token; empty if there is none."""
        for parameter in self.url.partition("/;")[2].split(";"):
            name, _, value = parameter.partition("=")
            if name == "token":
                return unquote(value)
        return ""


def address_of(settings: Mapping[str, str]) -> ServerAddress:
    """Return the address that the engine's settings or the environment have.

    Raises:
        InputError: There is none, or it is not a valid one; the message doesn't quote it.
    """
    url = named_server(settings)
    if not url:
        raise InputError(
            "method: connect needs the address of a Spark Connect server: set host: "
            "sc://<host>:<port> in the profile, spark.remote in spark_config, or the environment "
            f"variable {_VARIABLE}."
        )
    return ServerAddress(_valid_url(url))


def named_server(settings: Mapping[str, str]) -> str:
    """Return the address that settings or the environment have, as written; empty if none."""
    return settings.get(REMOTE) or os.environ.get(_VARIABLE) or ""


def url_of(
    host: str, *, port: int | None = None, token: str = "", user: str = "", use_ssl: bool = False
) -> str:
    """Return the address for what a profile says.

    Args:
        host: A host name, or a whole address, `sc://host:port/;...`.
        port: The port, unless the address has one.
        token: A bearer token, which is only ever sent over TLS.
        user: Whose session it is, for the server.
        use_ssl: True for TLS without a token.

    Raises:
        InputError: It is not an address, or it has a port and `port` differs.
    """
    whole = host if host.startswith(_SCHEME) else f"{_SCHEME}{host}"
    server, _, parameters = whole.partition("/;")
    parts = urlsplit(_valid_url(server))
    if port is not None:
        if parts.port not in (None, port):
            raise InputError(f"host has port {parts.port}, and port is {port}; set one of them.")
        name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        server = f"{_SCHEME}{name}:{port}"
    said = [parameters] if parameters else []
    said += [f"user_id={quote(user, safe='')}"] if user else []
    said += [f"token={quote(token, safe='')}"] if token else []
    # A token must not go over an open line.
    said += ["use_ssl=true"] if use_ssl or token else []
    return _valid_url(server.rstrip("/") + (f"/;{';'.join(said)}" if said else ""))


def with_remote(
    settings: Mapping[str, str],
    *,
    host: str | None,
    port: int | None,
    token: str | None,
    user: str | None,
    use_ssl: bool,
) -> dict[str, str]:
    """Return settings of the engine with the address that a profile gives in its own keys.

    Raises:
        InputError: The address is given twice, or a part of it without a host.
    """
    if host is None:
        if port is not None or token or user or use_ssl:
            raise InputError(
                "port, token, user and use_ssl go with host: set host: sc://<host>, or leave them "
                f"out and write them into {REMOTE}."
            )
        return dict(settings)
    if REMOTE in settings:
        raise InputError(f"The server is in host and in {REMOTE}; set one of them.")
    url = url_of(host, port=port, token=token or "", user=user or "", use_ssl=use_ssl)
    return {**settings, REMOTE: url}


def _valid_url(url: str) -> str:
    """Return an address; PySpark would quote a wrong one, token included, in its error."""
    server, _, parameters = url.partition("/;")
    try:
        parts = urlsplit(server)
        port = parts.port or _PORT
    except ValueError:
        port, parts = 0, urlsplit("")
    # PySpark takes each for a key and a value, and fails in its own words otherwise.
    pairs = [item for item in parameters.split(";") if item]
    valid = url.startswith(_SCHEME) and parts.hostname and port and parts.path in ("", "/")
    if not valid or any(item.count("=") != 1 or item.startswith("=") for item in pairs):
        raise InputError(
            "The address of the Spark Connect server should look like sc://host:15002, with "
            "parameters as in sc://host:443/;use_ssl=true. Values with `=` or `;` in them are "
            "percent-encoded; or set token, user and use_ssl in the profile."
        )
    return url


# Options of `spark-submit` that are followed by a value.
_WITH_VALUE: Final = ("--properties-file", "--driver-java-options", "--conf", "-c")
# A line of a file of Java properties, as far as Spark's settings need it.
_LINE: Final = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[=:\s]\s*(.*?)\s*")


def default_settings(env: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a Spark that starts here takes unless it is given others.

    Arguments come before their file of settings, which stands in for the installed Spark's.
    """
    given = _arguments(env)
    files = [value for name, value in given if name == "--properties-file"]
    found: dict[str, str] = {}
    if not files or any(name == "--load-spark-defaults" for name, _ in given):
        found = installed_defaults(env)
    if files:
        found |= _settings(Path(files[-1]))
    for name, value in given:
        if name == "--driver-java-options":
            found["spark.driver.extraJavaOptions"] = value
        elif name in ("--conf", "-c"):
            key, equals, setting = value.partition("=")
            if equals:
                found[key.strip()] = setting
    return found


def installed_defaults(env: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in `spark-defaults.conf` of the installed Spark.

    It is in the folder `SPARK_CONF_DIR`, or in `conf` of the Spark that would start.
    """
    # In the order in which the launcher looks.
    folder = env.get("SPARK_CONF_DIR")
    if folder is None:
        found = find_spec("pyspark")
        home = env.get("SPARK_HOME") or (found and found.origin and Path(found.origin).parent)
        folder = str(Path(home or "") / "conf")
    return _settings(Path(folder) / "spark-defaults.conf")


def _arguments(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return those of the launcher's arguments that are settings; it rejects bad ones itself."""
    try:
        words = iter(shlex.split(env.get("PYSPARK_SUBMIT_ARGS", "")))
    except ValueError:
        return []
    found = []
    for word in words:
        name, equals, value = word.partition("=")
        if name == "--load-spark-defaults":
            found.append((name, ""))
        elif name in _WITH_VALUE:
            found.append((name, value if equals else next(words, "")))
    return found


def _settings(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {match[1]: match[2] for match in map(_LINE.fullmatch, text.splitlines()) if match}
