"""Data frames of an engine, which the Python models of dbt work with."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Frames(Protocol):
    """Gives a Python model frames, and makes what it returns a view."""

    @property
    def handle(self) -> Any:
        """What a model is given as its session."""

    def running(self) -> AbstractContextManager[None]:
        """Run a block as one statement, which `Session.cancel` stops."""

    def read(self, name: str) -> Any:
        """Return a relation as a frame, named as SQL names it."""

    def show(self, name: str, frame: object) -> bool:
        """Make a frame of the engine a temporary view; False if it is not one of the engine's."""

    def hide(self, name: str) -> None:
        """Drop a temporary view."""

    def words_of(self, error: Exception) -> str:
        """Return what an exception of a model says, the engine's without its stack."""
