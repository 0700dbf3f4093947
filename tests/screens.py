"""What a terminal shows in the end."""

from __future__ import annotations

import re


def screen(shown: str) -> str:
    """What is left on a terminal after all that was written to it."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[\??([\d;]*)([A-Za-z])|(\r\n|\n|\r)|([^\x1b\r\n]+)", shown):
        count, code, end, text = part
        if code == "A":
            row = max(0, row - int(count or 1))
        elif code == "K":
            lines[row] = "" if count == "2" else lines[row][:column]
        elif end:
            column = 0
            if end != "\r":
                row += 1
                lines.extend([""] * (row + 1 - len(lines)))
        elif text:
            lines[row] = (
                lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            )
            column += len(text)
    return "\n".join(lines).strip()
