"""Journal: what a worker intends and what it was told, outside the repository."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]


class Journal:
    """Lines that survive the death of their writer, one JSON object each."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tell(self, **line: Any) -> None:
        """Append a line with one call of the system, so that it is there wholly or not at all."""
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, json.dumps(line).encode() + b"\n")
        finally:
            os.close(handle)

    def lines(self) -> list[Line]:
        """Return all lines, oldest first."""
        if not self._path.exists():
            return []
        return [json.loads(line) for line in self._path.read_text().splitlines()]


class Memo:
    """A journal in memory."""

    def __init__(self) -> None:
        self._lines: list[Line] = []

    def tell(self, **line: Any) -> None:
        """Append a line."""
        self._lines.append(json.loads(json.dumps(line)))

    def lines(self) -> list[Line]:
        """Return all lines, oldest first."""
        return list(self._lines)
