"""What Spark's process starts from: a Java, the installed Spark, and the archive of its classes.

Java calls it class data sharing (JEP 350): a process writes the classes that it has loaded as it
ends. Later ones take them from there if version of Java and jars are the same, which Java checks,
as it does the archive's checksums. The name of a file has its size: Java dies of one cut short.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.methods import default_settings, installed_defaults
from dbt.adapters.vcs.engines.session_settings import JAVA_OPTIONS, SUBMIT_OPTIONS, java_options
from dbt.adapters.vcs.variables import cache_folder

OLDEST: Final = 17
"""Spark 4 runs on this version of Java and on later ones."""

_VERSION: Final = re.compile(r'version "(\d+)(?:\.(\d+))?')
_HOW: Final = (
    f"Install Java {OLDEST} or later (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) and set JAVA_HOME to its folder or put `java` on the PATH."
)


def ensure_java(env: Mapping[str, str]) -> int:
    """Return the major version of the Java that Spark's launcher would start.

    It is the one in JAVA_HOME if that is set, else the first on the PATH.

    Raises:
        EngineError: There is no Java, it doesn't start, or it is older than 17.
    """
    java = find_java(env)
    said = _ask(java, env)
    match = _VERSION.search(said)
    if match is None:
        raise EngineError(
            f"Spark needs Java {OLDEST} or later; `{java} -version` does not report its version. "
            + _HOW
        )
    # Java 8 calls itself 1.8.
    version = int(match[2] or 0) if match[1] == "1" else int(match[1])
    if version < OLDEST:
        raise EngineError(f"Spark needs Java {OLDEST} or later; {java} is Java {version}. " + _HOW)
    return version


def ensure_address(env: MutableMapping[str, str]) -> None:
    """Give Spark this machine's own address, if the machine's name has none.

    Spark looks its name up when it starts, and fails where nothing resolves it: in a container
    without an entry for itself, or after the machine was renamed.
    """
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        env.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def find_java(env: Mapping[str, str]) -> str:
    """Return the Java that Spark's launcher would start.

    Raises:
        EngineError: There is none.
    """
    home = env.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not java.exists():
            raise EngineError(
                f"Spark needs Java {OLDEST} or later; JAVA_HOME is {home}, where there is no "
                "bin/java. " + _HOW
            )
        return str(java)
    found = shutil.which("java", path=env.get("PATH", ""))
    if found is None:
        raise EngineError(
            f"Spark needs Java {OLDEST} or later; JAVA_HOME is not set and there is no `java` "
            "on the PATH. " + _HOW
        )
    return found


def _ask(java: str, env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, env=dict(env)
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineError(
            f"Spark needs Java {OLDEST} or later; {java} does not start ({error}). " + _HOW
        ) from error
    return done.stderr + done.stdout


def ensure_spark_home(env: Mapping[str, str], version: str) -> None:
    """Check that SPARK_HOME, if set, is a Spark that this PySpark can use.

    Raises:
        EngineError: It is another minor version, or not a Spark at all.
    """
    home = env.get("SPARK_HOME")
    if not home:
        return
    found = [jar.stem.rpartition("-")[2] for jar in spark_jars(env).glob("spark-core_*.jar")]
    if any(one.split(".")[:2] == version.split(".")[:2] for one in found):
        return
    what = f"Spark {found[0]}" if found else "no Spark"
    raise EngineError(
        f"SPARK_HOME is {home}, where there is {what}; PySpark here is {version}. Unset "
        "SPARK_HOME, or install the PySpark of that version."
    )


def spark_jars(env: Mapping[str, str]) -> Path:
    """Return the folder of the jars of the Spark that PySpark would start."""
    import pyspark

    return Path(env.get("SPARK_HOME") or Path(pyspark.__file__).parent, "jars")


# Options by which somebody has already decided about archives.
_CHOSEN: Final = re.compile(r"SharedArchiveFile|ArchiveClassesAtExit|AutoCreateShared|-Xshare")
_UNUSED_DAYS: Final = 30
_SAID_LINES: Final = 5
_FOLDER: Final = "non-empty directory"
_FOLDER_HINT: Final = (
    " It can't as long as a folder with files is on Spark's class path: unset SPARK_CONF_DIR, or "
    "empty the folder, and have the settings in the dbt profile."
)
_REASON: Final = re.compile(r"\[error *\]|^Error|^Cannot ")


def archived_classes(env: Mapping[str, str]) -> Path | None:
    """Return the archive for the Java and the Spark that would start; None if there is none.

    Raises:
        EngineError: There is no Java.
    """
    name = _name(env)
    files = [] if name is None else sorted(name.parent.glob(f"{name.name}.*.jsa"))
    # Java 17 maps an archive without looking at its size, and dies of one that was cut short.
    return next(filter(_is_whole, files), None)


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
    archive = archived_classes(env)
    if archive is None:
        return dict(settings)
    # When it was last used; it may be somebody else's.
    with suppress(OSError):
        os.utime(archive)
    # Java would use a damaged archive; verifying takes no time that can be measured. At an address
    # other than the archive's own, all its pointers would be written again.
    reading = (
        "-XX:+VerifySharedSpaces -XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0 "
        f'"-XX:SharedArchiveFile={archive}"'
    )
    options = f"{found.get(JAVA_OPTIONS, '')} {reading}"
    return {**settings, JAVA_OPTIONS: options.strip()}


def archive_classes(work: Sequence[str], env: Mapping[str, str]) -> Path:
    """Make the archive of the classes that a command needs, and return it.

    Archives that were of no use for a month are deleted.

    Args:
        work: A command that starts Spark, and ends after Spark's process has ended.

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
            # The work is a command with settings of its own: the environment reaches its JVM.
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
            # Readers see a whole archive or none, and its name tells its size (decision 35).
            os.replace(part, archive)
        _drop_unused(folder)
    except OSError as error:
        raise EngineError(
            f"The archive of Spark's classes can't be written: {error}. Make room, or set "
            "XDG_CACHE_HOME to a folder that you may write to."
        ) from error
    return archive


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
