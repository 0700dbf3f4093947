"""Views of versions in a session that several threads use."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.dataframes.name_registry import NameRegistry
from dbt.adapters.vcs.engines.dataframes.session_views import SessionViews, ViewRelations
from dbt.adapters.vcs.engines.port import TableMount


def test_a_version_is_made_by_one_thread(tmp_path: Path) -> None:
    made = []

    class SlowRelations(ViewRelations):
        def table(self, name: Any, *_: Any, **__: Any) -> None:
            time.sleep(0.01)
            made.append(self.own_name(name))

    registry = NameRegistry(tag="_x")
    fields = (Field(id="c1", name="a", type="int"),)
    registry.versions["s_v1"] = TableMount(id="v1", folder="d", files=(), fields=fields)
    views = SessionViews(
        None,
        registry,
        blobs=LocalBlobs(tmp_path),
        root=lambda: "",
        translated=nullcontext,
        relations=SlowRelations,
    )
    start = threading.Barrier(4)

    def make(_: int) -> str:
        start.wait()
        return views.version("s_v1")

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(make, range(4))) == {"`__vcs_s_v1_p_x`"}
    assert made == ["__vcs_s_v1_p_x"]
