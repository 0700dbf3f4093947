"""One project a test module or a test, made on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.daily.project import Project


@pytest.fixture(scope="module")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Project]]:
    """Return a maker of projects, each with its own repository."""
    made: list[Project] = []

    def make(files: dict[str, str] | None = None, **arguments: Any) -> Project:
        folder = tmp_path_factory.mktemp("shop") / "project"
        made.append(Project(folder, files or {}, **arguments))
        return made[-1]

    yield make
    for project in made:
        project.close()
