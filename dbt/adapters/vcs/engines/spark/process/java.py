"""The Java that Spark needs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError

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
    version = int(match[2] or 0) if match[1] == "1" else int(match[1])
    if version < OLDEST:
        raise EngineError(f"Spark needs Java {OLDEST} or later; {java} is Java {version}. " + _HOW)
    return version


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
