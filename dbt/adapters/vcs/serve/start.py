"""Start: from the options of `dbt-vcs serve` to a server that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.secrets import shown_location
from dbt.adapters.vcs.serve.client_help import ClientHelp, Served, client_help
from dbt.adapters.vcs.serve.documents import Documents
from dbt.adapters.vcs.serve.gate import LOOPBACK
from dbt.adapters.vcs.serve.http_server import (
    Certificate,
    ServerLimits,
    is_loopback,
    listen,
    run,
    url_of,
)
from dbt.adapters.vcs.serve.iceberg_documents import IcebergDocuments
from dbt.adapters.vcs.serve.observed import ServerLog
from dbt.adapters.vcs.serve.rest_app import rest_app
from dbt.adapters.vcs.serve.store_properties import store_properties
from dbt.adapters.vcs.serve.token_file import TokenList, read_tokens

_EXAMPLE = RelationName("analytics", "orders")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A server that is set up and does not run yet.

    Attributes:
        repository: What it serves.
        listening: Where and how it listens.
        tokens: Who may use it; None for anybody on this machine.
        certificate: What it shows for TLS; None for plain HTTP.
        properties: What clients are told of the object store.
        vended: True if credentials are among these.
        format_version: Format version of the tables whose properties say none.
        limits: How many may connect, and for how long they may keep it waiting.
    """

    repository: Repository
    listening: Listening
    tokens: TokenList | None
    certificate: Certificate | None
    properties: Mapping[str, str]
    vended: bool
    format_version: int
    limits: ServerLimits

    @classmethod
    def of(
        cls,
        repository: Repository,
        listening: Listening,
        *,
        storage_options: Mapping[str, str],
        environment: Mapping[str, str],
        vended: bool = False,
        format_version: int = 2,
        limits: ServerLimits | None = None,
    ) -> Serving:
        """Return a server, all of whose settings were checked.

        Raises:
            InputError: A setting is wrong; or without tokens others than this machine could ask.
        """
        if listening.tokens is None and not is_loopback(listening.host):
            raise InputError(
                f"Without --tokens anybody who reaches {listening.host} could read every branch, "
                "so the server listens on this machine alone: --host 127.0.0.1. To serve others, "
                "give it a file of tokens."
            )
        return cls(
            repository=repository,
            listening=listening,
            tokens=None if listening.tokens is None else read_tokens(listening.tokens),
            certificate=_certificate(listening),
            properties=store_properties(
                repository.uri, storage_options, environment, vended=vended
            ),
            vended=vended,
            format_version=format_version,
            limits=limits or ServerLimits(),
        )

    def run(self, stream: TextIO) -> None:
        """Answer requests until SIGTERM or SIGINT, with a log on a stream.

        Raises:
            InputError: The address can't be used.
        """
        log = ServerLog(stream)
        try:
            self._run(log)
        finally:
            log.end()

    def _run(self, log: ServerLog) -> None:
        maker = IcebergDocuments(self.repository, self.format_version)
        documents = Documents(maker, self.properties)
        app = rest_app(
            self.repository,
            documents,
            tokens=self.tokens,
            hosts=LOOPBACK | {self.listening.host.lower()},
            log=log,
            stranger=log.stranger,
        )
        with listen(self.listening.host, self.listening.port) as listener:
            url = self._url(listener.getsockname()[1])
            log(f"Serving {shown_location(self.repository.uri)} at {url}")
            if self.certificate is None and not is_loopback(self.listening.host):
                log(
                    "Tokens are sent without TLS. Give --certificate and --key, unless a proxy "
                    "before this server has them."
                )
            run(app, listener, self.certificate, limits=self.limits, log=log.stranger)
        log("Stopped.")

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
