"""Data frames of an engine, for dbt's Python models."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Frames(Protocol):
    """Gives frames to a Python model, and makes a view of the frame that it returns."""

    @property
    def handle(self) -> Any:
        """The object that a model gets as its session."""

    def running(self) -> AbstractContextManager[None]:
        """Run a block as one statement that `Session.cancel` can stop."""

    def read(self, name: str) -> Any:
        """Return the relation with a name, as written in SQL, as a frame."""

    def show(self, name: str, frame: object) -> bool:
        """Make a frame a temporary view; return False if it is not one of the engine's."""

    def hide(self, name: str) -> None:
        """Drop a temporary view."""

    def words_of(self, error: Exception) -> str:
        """Return the message of a model's exception; one of the engine's without its stack."""
