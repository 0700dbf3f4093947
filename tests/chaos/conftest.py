"""What all plays need."""

import pytest

from dbt.adapters.vcs.core import maintenance, turns
from dbt.adapters.vcs.core.store import relations
from dbt.adapters.vcs.core.store.blobs import Parallel


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for nobody: whoever is overtaken in a play stands still until the others are done."""
    monkeypatch.setattr(turns, "PATIENCE", 0.0)
    monkeypatch.setattr(maintenance, "PATIENCE", 0.0)
    monkeypatch.setattr(Parallel, "is_serial", True)
    # Campaigns change them; the next test has them as they are.
    monkeypatch.setattr(relations, "WHOLE", relations.WHOLE)
    monkeypatch.setattr(relations, "BITS", relations.BITS)
