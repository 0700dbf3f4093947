"""Start: from the options of `dbt-vcs serve` to a server that answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Final, TextIO

from starlette.types import ASGIApp

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.failures import shown_location
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import is_yes
from dbt.adapters.vcs.iceberg.serve.access import LOOPBACK, TokenList, read_tokens
from dbt.adapters.vcs.iceberg.serve.catalog_api import rest_app
from dbt.adapters.vcs.iceberg.serve.client_help import ClientHelp, Served, client_help
from dbt.adapters.vcs.iceberg.serve.documents import Documents, IcebergDocuments
from dbt.adapters.vcs.iceberg.serve.http_server import (
    Certificate,
    ServerLimits,
    answering,
    is_loopback,
    listen,
    run,
    url_of,
)
from dbt.adapters.vcs.iceberg.serve.observed import ServerLog

_EXAMPLE = RelationName("analytics", "orders")

_S3: Final = frozenset({"s3", "s3a"})
_PLACE: Final = {
    "endpoint": "s3.endpoint",
    "endpoint_url": "s3.endpoint",
    "region": "s3.region",
    "default_region": "s3.region",
}
_CREDENTIALS: Final = {
    "access_key_id": "s3.access-key-id",
    "secret_access_key": "s3.secret-access-key",
    "session_token": "s3.session-token",
    "token": "s3.session-token",
}
_KEY_PAIR: Final = frozenset({"s3.access-key-id", "s3.secret-access-key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where and how a server listens.

    Attributes:
        host: The address.
        port: The port; 0 for a free one.
        tokens: The file of who may use it; None for anybody on this machine.
        certificate: The PEM file of a chain; None for plain HTTP.
        key: The PEM file of its private key.
    """

    host: str
    port: int
    tokens: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class Serving:
    """A server that is set up and does not run yet."""

    def __init__(
        self,
        repository: Repository,
        listening: Listening,
        *,
        storage_options: Mapping[str, str],
        environment: Mapping[str, str],
        vended: bool = False,
        format_version: int = 2,
        limits: ServerLimits | None = None,
    ) -> None:
        """Check all settings of a server.

        Args:
            repository: What it serves.
            storage_options: Settings of the object store; they go before the environment.
            environment: The server's environment variables.
            vended: Hand the server's own credentials on to clients.
            format_version: Format version of the tables whose properties say none.
            limits: How many may connect, and for how long they may keep it waiting.

        Raises:
            InputError: A setting is wrong; or without tokens others than this machine could ask.
        """
        if listening.tokens is None and not is_loopback(listening.host):
            raise InputError(
                f"Without --tokens anybody who reaches {listening.host} could read every branch, "
                "so the server listens on this machine alone: --host 127.0.0.1. To serve others, "
                "give it a file of tokens."
            )
        self.repository = repository
        self.listening = listening
        self.tokens = None if listening.tokens is None else read_tokens(listening.tokens)
        self.certificate = _certificate(listening)
        self.vended = vended
        self.format_version = format_version
        self._properties = store_properties(
            repository.uri, storage_options, environment, vended=vended
        )
        self._limits = limits or ServerLimits()

    def run(self, stream: TextIO) -> None:
        """Answer requests until SIGTERM or SIGINT, with a log on a stream.

        Raises:
            InputError: The address can't be used.
        """
        with self._listening(stream) as (log, app, listener, url):
            log(f"Serving {shown_location(self.repository.uri)} at {url}")
            if self.certificate is None and not is_loopback(self.listening.host):
                log(
                    "Tokens are sent without TLS. Give --certificate and --key, unless a proxy "
                    "before this server has them."
                )
            run(app, listener, self.certificate, limits=self._limits, log=log.stranger)
            log("Stopped.")

    @contextmanager
    def beside(self, tokens: TokenList, stream: TextIO) -> Iterator[str]:
        """Answer requests with these tokens while the block runs, and yield the address.

        Raises:
            InputError: The address can't be used.
        """
        self.tokens = tokens
        with (
            self._listening(stream) as (log, app, listener, url),
            answering(app, listener, log.stranger),
        ):
            yield url

    @contextmanager
    def _listening(self, stream: TextIO) -> Iterator[tuple[ServerLog, ASGIApp, socket, str]]:
        log = ServerLog(stream)
        try:
            app = self.app(log)
            with listen(self.listening.host, self.listening.port) as listener:
                yield log, app, listener, self._url(listener.getsockname()[1])
        finally:
            log.end()

    def app(self, log: ServerLog) -> ASGIApp:
        """Return the application that answers the catalog's clients."""
        maker = IcebergDocuments(self.repository, self.format_version)
        documents = Documents(maker, self._properties)
        return rest_app(
            self.repository,
            documents,
            tokens=self.tokens,
            hosts=LOOPBACK | {self.listening.host.lower()},
            log=log,
            stranger=log.stranger,
        )

    def help(self, branch: str) -> list[ClientHelp]:
        """Return what clients need to type to read a branch, and to write to it.

        Raises:
            InputError: The port isn't known before the server runs.
            NotFoundError: There is no such branch.
        """
        if not self.listening.port:
            raise InputError(
                "With --port 0 the server picks a port when it starts, so what clients need to "
                "type isn't known before. Give the port."
            )
        served = Served(
            url=self._url(self.listening.port),
            warehouse=branch,
            example=self._example(branch),
            location=self.repository.uri,
            has_tokens=self.tokens is not None,
            authority=None if self.certificate is None else str(self.certificate.chain),
            vended=self.vended,
            is_protected=self.repository.branch(branch).protection is not None,
            format_version=self.format_version,
        )
        return client_help(served)

    def _url(self, port: int) -> str:
        return url_of(self.listening.host, port, is_secure=self.certificate is not None)

    def _example(self, branch: str) -> RelationName:
        """Return a table of a branch, and a name for one if there is none yet."""
        tree = self.repository.tree(self.repository.branch(branch).head)
        for schema in tree.schemas():
            for name, entry in sorted(tree.relations(schema).items()):
                if isinstance(entry, TableEntry):
                    return RelationName(schema, name)
        return _EXAMPLE


def _certificate(listening: Listening) -> Certificate | None:
    if listening.certificate is None and listening.key is None:
        return None
    if listening.certificate is None or listening.key is None:
        raise InputError("TLS takes both --certificate and --key. Give both, or neither.")
    found = Certificate(chain=listening.certificate, key=listening.key)
    found.check()
    return found


def store_properties(
    location: str,
    options: Mapping[str, str],
    environment: Mapping[str, str],
    *,
    vended: bool = False,
) -> dict[str, str]:
    """Return the properties that clients are given with each table.

    Region and endpoint are always among them, credentials only if they are to be handed on.

    Args:
        location: URI of the repository.
        options: Settings of the object store; they go before the environment.
        environment: The server's environment variables.
        vended: Hand the server's own credentials on.

    Raises:
        InputError: They are to be handed on, and there are none that can be.
    """
    scheme = location.partition("://")[0].lower() if "://" in location else "file"
    if scheme not in _S3:
        if vended:
            raise InputError(
                f"--vended hands credentials of S3 on, and the repository is in {scheme}://. "
                "Leave it out, and give clients access to the files themselves."
            )
        return {}
    settings = _settings(environment, "aws_") | _settings(options)
    found = _client_settings(settings, _PLACE)
    # Iceberg's Java clients look for the region there, and PyIceberg for the other.
    if "s3.region" in found:
        found["client.region"] = found["s3.region"]
    if "s3.endpoint" in found:
        virtual = is_yes(settings.get("virtual_hosted_style_request", ""))
        # Stores other than AWS seldom have a host name for each bucket.
        found["s3.path-style-access"] = "false" if virtual else "true"
    if vended:
        found |= _credentials(settings)
    return found


def _credentials(settings: Mapping[str, str]) -> dict[str, str]:
    found = _client_settings(settings, _CREDENTIALS)
    if not found.keys() >= _KEY_PAIR:
        raise InputError(
            "--vended hands on the credentials in the storage options or in AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY, and there are none. A machine's role can't be handed on: "
            "leave --vended out, and give clients access to the files themselves."
        )
    return found


def _settings(given: Mapping[str, str], only: str = "") -> dict[str, str]:
    """Return settings by their names in lower case, without `aws_`."""
    return {
        key.lower().removeprefix("aws_"): str(value)
        for key, value in given.items()
        if key.lower().startswith(only) and value
    }


def _client_settings(settings: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return settings under the names of Iceberg's clients; of several the first one counts."""
    found: dict[str, str] = {}
    for key, name in names.items():
        if key in settings:
            found.setdefault(name, settings[key])
    return found
