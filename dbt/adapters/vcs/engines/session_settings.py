"""Spark settings: good defaults for a laptop, which the user's settings override."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.store.opening import is_yes
from dbt.adapters.vcs.engines.methods import REMOTE, default_settings

COMMIT_PROTOCOL: Final = {
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
    )
}
"""The commit protocol of a write, in which failed tasks leave no files."""

VIEWS_OF_READERS: Final = {"spark.sql.legacy.useCurrentConfigsForView": "true"}
"""Views are read with the settings of the session that reads them.

All sessions of a catalog share its views. Spark would read one with the settings of the session
that happened to mount it.
"""

JAVA_OPTIONS: Final = "spark.driver.defaultJavaOptions"
"""The setting with options of Spark's process, before the user's own."""

SUBMIT_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""Spark's variable for options of its process."""

VERIFY_PAGES: Final = "parquet.page.verify-checksum.enabled"
"""The Hadoop setting with which a scan compares the checksum of each page that it reads."""

_GIB: Final = 1024**3
_LOCAL: Final = re.compile(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?")
# As Spark finds them itself, and what object stores call theirs.
_SECRET: Final = re.compile(
    r"(?i)secret|password|token|credential|(?:access|account|private)[._]?key"
)
# Options by which somebody chose a collector, and when methods are compiled; and ours.
_JAVA_DEFAULTS: Final = (
    # Takes a sixth less work than the JVM's default for short statements on few cores.
    (re.compile(r"-XX:[+-]Use\w+GC\b"), "-XX:+UseParallelGC"),
    # The second compiler would take a third of the work until a first answer, for methods that
    # are hardly called again. It begins at four times the JVM's numbers of calls, which loops of
    # long work reach within milliseconds.
    (
        re.compile(r"-Xint\b|-Xcomp\b|-XX:[+-]?\w*(?:Tier|CompileThreshold)"),
        "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=2400 "
        "-XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=160000",
    ),
)
# Spark would take pages of up to 64 MiB, and fill one with zeros for each task that sorts or
# groups, however few its rows: a tenth of the work of a small query. A task has 8,192 at most, so
# smaller ones are enough for the memory that is given here, and not for any.
_PAGE_SIZE: Final = "spark.buffer.pageSize"
_OF_MEMORY: Final = ("spark.driver.memory", "spark.memory.offHeap.enabled")
_OF_JAVA: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", SUBMIT_OPTIONS)
# The limit of a container, which the machine's memory does not show.
_CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")
# What Spark remembers for its pages; a process that shows none would spend a tenth of its work
# on forgetting all but the last thousand statements.
_REMEMBERED: Final = {
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "20",
}


def process_settings(user: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for starting a Spark process; the user's take precedence.

    Raises:
        InputError: The user asks for a catalog other than the in-memory one.
    """
    # Decision 4: each open branch has a catalog of its own.
    catalog = user.get("spark.sql.catalogImplementation", "in-memory")
    if catalog != "in-memory":
        raise InputError(
            f"spark.sql.catalogImplementation is {catalog!r}; dbt-vcs keeps its own catalog in "
            "memory, since the branch holds every table. Remove that setting."
        )
    master = user.get("spark.master", "local[*]")
    settings = {
        "spark.master": master,
        "spark.app.name": "dbt-vcs",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark warns at each start, of things that nobody can change.
        "spark.log.level": "ERROR",
        f"spark.hadoop.{VERIFY_PAGES}": "true",
    }
    if not is_yes(user.get("spark.ui.enabled", "")):
        settings |= _REMEMBERED
    if is_local(master):
        settings |= {
            # Spark would look its own name up, which fails without a network, and listen on all of
            # them.
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": f"{_driver_memory() // 1024**2}m",
        }
        if user.keys().isdisjoint(_OF_MEMORY):
            settings[_PAGE_SIZE] = "2m"
        settings |= _of_java(user)
    return (
        settings
        | session_defaults(master)
        | dict(user)
        | {"spark.sql.catalogImplementation": "in-memory"}
    )


def _of_java(user: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a local JVM, but for those that somebody chose."""
    installed = default_settings(os.environ)
    said = java_options({**installed, **user}, os.environ)
    # The JVM rejects a second collector.
    ours = [options for chosen, options in _JAVA_DEFAULTS if not any(map(chosen.search, said))]
    if not ours:
        return {}
    return {JAVA_OPTIONS: " ".join([installed.get(JAVA_OPTIONS, ""), *ours]).strip()}


def session_settings(
    user: Mapping[str, str], storage: Mapping[str, str], warehouse: str
) -> dict[str, str]:
    """Return the settings of one private catalog's sessions.

    Args:
        user: The user's settings, which take precedence.
        storage: Hadoop's settings for the repository's store, credentials included. They are set
            here and not for the process, to keep them off command lines.
        warehouse: The folder of Spark's own tables.
    """
    master = user.get("spark.master", "local[*]")
    return (
        session_defaults(master)
        # Decision 19: without it, 14 of 20 flipped bits gave wrong rows and no error.
        | {"spark.sql.warehouse.dir": warehouse, VERIFY_PAGES: "true"}
        | VIEWS_OF_READERS
        | dict(storage)
        | _of_sessions(user)
        | COMMIT_PROTOCOL
        | {"spark.sql.catalogImplementation": "in-memory"}
    )


def server_settings(user: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session on a server, without those of the repository's store.

    Raises:
        InputError: The user sets something that belongs to the server.
    """
    others = sorted(
        key
        for key in user
        if key != REMOTE and not key.startswith(("spark.sql.", "spark.hadoop."))
    )
    if others:
        raise InputError(
            f"A Spark Connect server has its own {', '.join(others)}. Leave out of spark_config "
            "what doesn't begin with spark.sql. or spark.hadoop., and set it where the server is "
            "started."
        )
    return session_defaults("") | {VERIFY_PAGES: "true"} | _of_sessions(user) | COMMIT_PROTOCOL


def _of_sessions(user: Mapping[str, str]) -> dict[str, str]:
    """Return the user's settings that sessions take, Hadoop's by Hadoop's names."""
    return {
        key.removeprefix("spark.hadoop."): value
        for key, value in user.items()
        if key.startswith(("spark.sql.", "spark.hadoop."))
    }


def session_defaults(master: str) -> dict[str, str]:
    """Return the defaults that apply to any session."""
    settings = {
        # So that rows do not depend on the machine that computed them.
        "spark.sql.session.timeZone": "UTC",
        # As dbt-spark sets it; statements of packages rely on it.
        "spark.sql.ansi.enabled": "false",
        "spark.sql.adaptive.enabled": "true",
        # Spark's default, INT96, has no bounds in footers.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }
    if is_local(master):
        # Spark's default, 200, is 200 tasks for the smallest join.
        settings["spark.sql.shuffle.partitions"] = str(min(200, 2 * _cores(master)))
    return settings


def java_options(settings: Mapping[str, str], env: Mapping[str, str]) -> list[str]:
    """Return all options that settings and environment give to Spark's process."""
    said = [value for key, value in settings.items() if key.endswith("JavaOptions")]
    return said + [env.get(name, "") for name in _OF_JAVA]


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that are safe on a command line, which every user can read."""
    return {key: value for key, value in settings.items() if not _SECRET.search(key)}


def is_local(master: str) -> bool:
    """Return whether a master URL means this process's own JVM."""
    return bool(_LOCAL.fullmatch(master))


def _cores(master: str) -> int:
    match = _LOCAL.fullmatch(master)
    asked = match[1] if match else None
    if asked is not None and asked != "*":
        return int(asked)
    return (os.cpu_count() or 1) if asked == "*" else 1


def _driver_memory() -> int:
    """Return a quarter of the machine's memory in bytes, between 1 GiB and 8 GiB."""
    # Others use the machine, too, and Python needs memory beside the JVM.
    return max(_GIB, min(8 * _GIB, usable_memory() // 4))


def usable_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its container's."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4 * _GIB
    try:
        limit = int(_CGROUP_LIMIT.read_text())
    except (OSError, ValueError):
        return total
    return min(total, limit)
