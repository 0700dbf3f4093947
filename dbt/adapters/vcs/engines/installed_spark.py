"""Defaults of the Spark that would start here: what its file of settings says, and its arguments.

Spark's launcher gets the arguments from `PYSPARK_SUBMIT_ARGS`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_WITH_VALUE: Final = ("--properties-file", "--driver-java-options", "--conf", "-c")
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
