"""Defaults of the installed Spark: what its file of settings says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_LINE: Final = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[=:\s]\s*(.*?)\s*")


def installed_defaults(env: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in `spark-defaults.conf`, which any Spark that starts here takes.

    It is in the folder `SPARK_CONF_DIR`, or in `conf` of the Spark that would start.
    """
    folder = env.get("SPARK_CONF_DIR")
    if folder is None:
        found = find_spec("pyspark")
        home = env.get("SPARK_HOME") or (found and found.origin and Path(found.origin).parent)
        folder = str(Path(home or "") / "conf")
    try:
        text = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {match[1]: match[2] for match in map(_LINE.fullmatch, text.splitlines()) if match}
