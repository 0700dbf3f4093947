"""Engine context: the settings of an engine on which the results of statements depend."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import Final

from dbt.adapters.vcs.engines.methods import default_settings
from dbt.adapters.vcs.engines.session_settings import session_defaults
from dbt.adapters.vcs.sql.syntax.canonical import without_margins
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.parser import SparkCommand, Statement

SEMANTICS: Final = 3
"""Raised when a version of dbt-vcs computes something in another way than the one before."""

_SQL: Final = "spark.sql."
# Redaction changes what `show tblproperties` answers.
_ANSWERING: Final = (_SQL, "spark.redaction.")
# Settings below `spark.sql.` that change how long a statement takes, and never its rows.
_OF_SPEED: Final = (
    "adaptive.",
    "autoBroadcastJoinThreshold",
    "broadcastTimeout",
    "catalogImplementation",
    "cbo.",
    "codegen.",
    "debug.",
    "execution.arrow.",
    "files.max",
    "files.min",
    "files.openCostInBytes",
    "inMemoryColumnarStorage.",
    "join.preferSortMergeJoin",
    "maxMetadataStringLength",
    "parquet.compression.codec",
    "parquet.enableVectorizedReader",
    "repl.",
    "shuffle.partitions",
    "sources.commitProtocolClass",
    "statistics.",
    "streaming.",
    "ui.",
    "warehouse.dir",
)

_SET: Final = re.compile(r"\s*set\s+([\w.-]+)\s*=\s*(.*?)\s*;?\s*", re.IGNORECASE | re.DOTALL)
# Commands of Spark after which later statements give what they gave before.
_WITHOUT_EFFECT: Final = re.compile(
    r"\s*(analyze|cache|clear|desc|describe|explain|refresh|show|uncache|use)\b", re.IGNORECASE
)


@cache
def _engine_version() -> str:
    # Once: where `importlib_metadata` is installed, each question keeps the names of all packages
    # in memory.
    return ".".join(version("pyspark").split(".")[:2])


@dataclass(frozen=True, kw_only=True)
class EngineContext:
    """What an engine is like, as far as results depend on it; known before it starts.

    Attributes:
        settings: The settings of a profile.
        engine_version: `major.minor` of Spark.
        server: The address of a server that computes; empty for this process.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    engine_version: str
    server: str = ""

    @classmethod
    def of(cls, settings: Mapping[str, str], server: str = "") -> EngineContext:
        """Return those of the Spark that is installed here, with the settings of a profile.

        A server's own defaults aren't known from here: they count through its address.
        """
        return cls(
            # A server's defaults are set where it was started.
            settings=settings if server else default_settings(os.environ) | dict(settings),
            # A patch of Spark does not change answers on purpose.
            engine_version=_engine_version(),
            server=server,
        )

    @cached_property
    def _answering(self) -> Mapping[str, str]:
        master = self.settings.get("spark.master", "local[*]")
        return {**session_defaults(master), **self.settings}

    def setting(self, key: str) -> str | None:
        """Return the value of a setting, None if it is Spark's own default."""
        return self._answering.get(key)

    def digest(self, changed: Mapping[str, str]) -> str:
        """Return one text for everything that counts, with settings that a session changed."""
        return hashlib.sha256(repr(self.counted(changed)).encode()).hexdigest()[:32]

    def counted(self, changed: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return the names and values that count, sorted."""
        # What a session set wins, as it does in Spark.
        settings = {**self._answering, **changed}
        found = [
            (key, value)
            for key, value in settings.items()
            if key.startswith(_ANSWERING) and not key.removeprefix(_SQL).startswith(_OF_SPEED)
        ]
        return sorted(
            [
                *found,
                ("dbt-vcs", str(SEMANTICS)),
                ("server", self.server),
                ("spark", self.engine_version),
            ]
        )


def machine_zone() -> str:
    """Return the time zone in which Python code of this machine reads times without one."""
    return repr((time.tzname, time.timezone))


@dataclass(slots=True)
class SessionFacts:
    """What a session was told.

    Attributes:
        changed: Settings that statements changed, with their values.
        doubt: Why results may depend on something that is not known; None if they don't.
    """

    changed: dict[str, str] = field(default_factory=dict)
    doubt: str | None = None

    def clear(self) -> None:
        """Forget everything: the session is closed."""
        self.changed.clear()
        self.doubt = None

    def follow(self, statement: Statement) -> None:
        """Take notice of a statement that the session is sent."""
        if not isinstance(statement, SparkCommand):
            return
        setting = setting_of(statement)
        if setting is not None:
            self.changed[setting[0]] = setting[1]
        # Anything else may have changed what statements mean. Nobody knows, so nothing is reused
        # after it.
        elif not _WITHOUT_EFFECT.match(without_margins(statement.text)) and self.doubt is None:
            self.doubt = f"`{excerpt(statement.text, 40)}` was carried out before"


def setting_of(statement: Statement) -> tuple[str, str] | None:
    """Return the setting and the value of `set setting = value`; None for all others."""
    if not isinstance(statement, SparkCommand):
        return None
    found = _SET.fullmatch(without_margins(statement.text))
    # `set variable` is a statement of its own, whose name is no setting.
    if found is None or found[1].lower() in ("var", "variable"):
        return None
    return found[1], found[2]
