"""Projects as in the tests of daily work."""

from __future__ import annotations

from tests.functional.daily.conftest import make_project

__all__ = ["make_project"]
