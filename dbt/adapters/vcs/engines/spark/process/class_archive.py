"""Class archive: the classes of Spark as Java maps them into memory, instead of loading each anew.

Java calls it class data sharing (JEP 350): a process writes the classes that it has loaded as it
ends. Later ones take them from there if version of Java and jars are the same, which Java checks,
as it does the archive's checksums. The name of a file has its size: Java dies of one cut short.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.dataframes.session_settings import (
    JAVA_OPTIONS,
    SUBMIT_OPTIONS,
    java_options,
)
from dbt.adapters.vcs.engines.installed_spark import default_settings, installed_defaults
from dbt.adapters.vcs.engines.spark.process.home import spark_jars
from dbt.adapters.vcs.engines.spark.process.java import find_java
from dbt.adapters.vcs.variables import cache_folder

_CHOSEN: Final = re.compile(r"SharedArchiveFile|ArchiveClassesAtExit|AutoCreateShared|-Xshare")
_UNUSED_DAYS: Final = 30
_SAID_LINES: Final = 5
_FOLDER: Final = "non-empty directory"
_FOLDER_HINT: Final = (
    " It can't as long as a folder with files is on Spark's class path: unset SPARK_CONF_DIR, or "
    "empty the folder, and have the settings in the dbt profile."
)
_REASON: Final = re.compile(r"\[error *\]|^Error|^Cannot ")


def archive_of(env: Mapping[str, str]) -> Path | None:
    """Return the archive for the Java and the Spark that would start; None if there is none.

    Raises:
        EngineError: There is no Java.
    """
    return next((file for file in _like(env) if _is_whole(file)), None)


def with_archive(settings: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for starting Spark's process, with the archive if there is one.

    Raises:
        EngineError: There is no Java.
    """
    found = default_settings(env) | dict(settings)
    if any(map(_CHOSEN.search, java_options(found, env))):
        return dict(settings)
    if installed_defaults(env):
        # With a folder of settings on its class path Java would take nothing from the archive.
        return dict(settings)
    archive = archive_of(env)
    if archive is None:
        return dict(settings)
    # When it was last used; it may be somebody else's.
    with suppress(OSError):
        os.utime(archive)
    reading = f'-XX:+VerifySharedSpaces "-XX:SharedArchiveFile={archive}"'
    options = f"{found.get(JAVA_OPTIONS, '')} {reading}"
    return {**settings, JAVA_OPTIONS: options.strip()}


def make_archive(work: Sequence[str], env: Mapping[str, str]) -> Path:
    """Make the archive of the classes that a command needs, and return it.

    Archives that were of no use for a month are deleted.

    Args:
        work: A command that starts Spark, and ends after Spark's process has ended.
        env: Its environment.

    Raises:
        EngineError: There is no folder for it, or no Java, or Java made none.
    """
    name = _name(env)
    if name is None:
        raise EngineError(
            "There is no folder for the archive: this user has no home. Set XDG_CACHE_HOME."
        )
    folder = name.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as new:
            part = Path(new) / "classes.jsa"
            options = f'{env.get(SUBMIT_OPTIONS, "")} "-XX:ArchiveClassesAtExit={part}"'
            done = subprocess.run(
                work,
                env={**env, SUBMIT_OPTIONS: options.strip()},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
            if done.returncode or not part.exists():
                raise EngineError(_refusal(done.stdout + done.stderr))
            archive = folder / f"{name.name}.{part.stat().st_size}.jsa"
            os.replace(part, archive)
        _drop_unused(folder)
    except OSError as error:
        raise EngineError(
            f"The archive of Spark's classes can't be written: {error}. Make room, or set "
            "XDG_CACHE_HOME to a folder that you may write to."
        ) from error
    return archive


def _like(env: Mapping[str, str]) -> list[Path]:
    name = _name(env)
    return [] if name is None else sorted(name.parent.glob(f"{name.name}.*.jsa"))


def _name(env: Mapping[str, str]) -> Path | None:
    """Return the archive's path without its size; it stands for what the archive is made from."""
    cache = cache_folder(env)
    if cache is None:
        return None
    java = Path(find_java(env)).resolve()
    jars = spark_jars(env).resolve()
    signs = [_sign(java.parents[1] / "lib" / "modules"), *map(_sign, sorted(jars.glob("*.jar")))]
    told = repr((str(java), str(jars), signs))
    return cache / "classes" / hashlib.sha256(told.encode()).hexdigest()[:32]


def _sign(file: Path) -> tuple[str, int, int]:
    """Return what tells that a file is as it was."""
    try:
        found = file.stat()
    except OSError:
        return (file.name, -1, -1)
    return (file.name, found.st_size, found.st_mtime_ns)


def _is_whole(archive: Path) -> bool:
    try:
        return archive.stat().st_size == int(archive.suffixes[-2].removeprefix("."))
    except (OSError, ValueError, IndexError):
        return False


def _drop_unused(folder: Path) -> None:
    old = time.time() - _UNUSED_DAYS * 24 * 3600
    for file in folder.iterdir():
        # It may be gone already, or somebody else's. Whoever was killed left a folder.
        with suppress(OSError):
            if file.stat().st_mtime < old:
                shutil.rmtree(file) if file.is_dir() else file.unlink()


def _refusal(said: str) -> str:
    lines = [line.strip() for line in said.splitlines()]
    reasons = [line for line in lines if _REASON.search(line)] or lines[-_SAID_LINES:]
    told = "\n".join(reasons[:_SAID_LINES])
    hint = _FOLDER_HINT if _FOLDER in said else ""
    return f"Java made no archive of Spark's classes.{hint} What was said:\n{told}"
