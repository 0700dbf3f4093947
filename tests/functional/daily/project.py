"""A dbt project in a temporary folder: dbt runs in this process, branches are read back."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from dbt.cli.main import dbtRunner

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.model import Block, RelationName, Snapshot, TableEntry, View, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs

SPARK = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": 2}
# From dbt-core 1.12 on, nodes whose results are known have the second status.
BUILT = {"success", "reused"}
LEFT_BY_OTHERS = {"metastore_db", "derby.log", "spark-warehouse"}


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How one dbt command ended.

    Attributes:
        success: dbt's own verdict.
        error: The exception that ended the command, as text; empty if none did.
        said: Everything that dbt logged at info level and above.
        nodes: Status and message by node name, the last part of a unique id for tests.
        result: What dbtRunner gave back.
    """

    success: bool
    error: str
    said: str
    nodes: Mapping[str, tuple[str, str]]
    result: Any

    def status(self, node: str) -> str:
        return self.nodes[node][0]

    def message(self, node: str) -> str:
        return self.nodes[node][1]

    @property
    def statuses(self) -> dict[str, str]:
        return {name: status for name, (status, _) in self.nodes.items()}


@dataclass
class Project:
    """A dbt project and its repository.

    Attributes:
        folder: The project; its repository is `warehouse` in the folder above.
        output: The profile's output.
        config: What `dbt_project.yml` says beyond the names.
    """

    folder: Path
    files: Mapping[str, str] = field(default_factory=dict)
    output: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)
    _clients: dict[tuple[str, str], Client] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.output = {
            "type": "vcs",
            "method": "session",
            "repository": str(self.root),
            "branch": "main",
            "schema": "analytics",
            "threads": 4,
            "spark_config": dict(SPARK),
        } | self.output
        self.configure(**self.config)
        self.write(self.files)

    @property
    def root(self) -> Path:
        """Folder of the repository."""
        return self.folder.parent / "warehouse"

    @property
    def repository(self) -> Repository:
        """The repository, opened again."""
        return Repository.open(open_blobs(str(self.root)))

    def configure(self, **config: Any) -> None:
        """Write dbt_project.yml and profiles.yml with these settings added."""
        self.config = {**self.config, **config}
        settings = {
            "name": "shop",
            "profile": "shop",
            "version": "1.0",
            "flags": {"send_anonymous_usage_stats": False, "use_colors": False},
            **self.config,
        }
        (self.folder / "dbt_project.yml").write_text(yaml.safe_dump(settings))
        profile = {"shop": {"target": "dev", "outputs": {"dev": self.output}}}
        (self.folder / "profiles.yml").write_text(yaml.safe_dump(profile))

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files into the project, dedented."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, bytes):
                path.write_bytes(text)
            else:
                path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")

    def remove(self, *names: str) -> None:
        """Delete files of the project."""
        for name in names:
            (self.folder / name).unlink()

    def dbt(self, *arguments: str, ok: bool | None = True) -> Ran:
        """Run dbt; it must succeed, or fail, or may do either if `ok` is None."""
        said: list[str] = []

        def listen(event: Any) -> None:
            if event.info.level in ("info", "warn", "error"):
                said.append(event.info.msg)

        places = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        result = dbtRunner(callbacks=[listen]).invoke([*arguments, *places])
        found = getattr(result.result, "results", None) or []
        nodes = {
            item.node.name: (str(item.status), item.message or "")
            for item in found
            if hasattr(item, "node") and hasattr(item, "status")
        }
        ran = Ran(
            success=result.success,
            error=str(result.exception or ""),
            said="\n".join(said),
            nodes=nodes,
            result=result.result,
        )
        if ok is not None and ran.success != ok:
            wanted = "succeed" if ok else "fail"
            text = f"dbt {' '.join(arguments)} was to {wanted}:\n{ran.said}\n{ran.error}"
            pytest.fail(text, pytrace=False)
        return ran

    def json(self, name: str) -> Any:
        """Return a JSON file below `target/`."""
        return json.loads((self.folder / "target" / name).read_text(encoding="utf-8"))

    def head(self, branch: str = "main") -> str:
        """Return what a branch points to."""
        return self.repository.branch(branch).head

    def refs(self) -> dict[str, str]:
        """Return every branch's head."""
        return {branch.name: branch.head for branch in self.repository.branches()}

    def runs(self) -> list[str]:
        """Return the names of the run branches."""
        return [name for name in self.refs() if name.startswith("runs/")]

    def run_branch(self) -> str:
        """Return the branch of the last command."""
        return f"runs/{self.json('run_results.json')['metadata']['invocation_id']}"

    def entry(self, name: str, branch: str = "main") -> TableEntry | ViewEntry | None:
        """Return the entry of `schema.identifier`, or of an identifier in `analytics`."""
        schema, _, identifier = name.rpartition(".")
        tree = self.repository.tree(self.head(branch))
        return tree.entry(RelationName(schema or "analytics", identifier))

    def kinds(self, schema: str = "analytics", branch: str = "main") -> dict[str, str]:
        """Return `table` or `view` by identifier."""
        found = self.repository.tree(self.head(branch)).relations(schema)
        return {
            name: "table" if isinstance(entry, TableEntry) else "view"
            for name, entry in found.items()
        }

    def snapshot(self, name: str, branch: str = "main") -> Snapshot:
        """Return the version of a table."""
        entry = self.entry(name, branch)
        assert isinstance(entry, TableEntry), f"{name} is {entry}"
        return self.repository.objects.snapshot(entry.snapshot)

    def view(self, name: str, branch: str = "main") -> View:
        """Return the version of a view."""
        entry = self.entry(name, branch)
        assert isinstance(entry, ViewEntry), f"{name} is {entry}"
        return self.repository.objects.view(entry.view)

    def blocks(self, name: str, branch: str = "main") -> list[Block]:
        """Return the blocks of a table, in order."""
        objects = self.repository.objects
        refs = self.snapshot(name, branch).segments
        return [block for ref in refs for block in objects.segment(ref.id).blocks]

    def data_files(self) -> set[str]:
        """Return the paths of every block file there is."""
        return {str(path.relative_to(self.root)) for path in self.root.glob("data/**/*.parquet")}

    def sql(self, text: str, branch: str = "main") -> pa.Table:
        """Return the rows of a query on a branch."""
        client = self._clients.get((str(self.root), branch))
        if client is None:
            settings = {key: str(value) for key, value in SPARK.items()}
            client = self._open.enter_context(connect(str(self.root), branch, spark=settings))
            self._clients[str(self.root), branch] = client
        return client.sql(text)

    def rows(self, text: str, branch: str = "main") -> list[tuple[Any, ...]]:
        """Return the rows of a query, or of a relation named by one word, sorted."""
        text = f"select * from {text}" if " " not in text.strip() else text
        table = self.sql(text, branch)
        return sorted(
            zip(*(column.to_pylist() for column in table.columns), strict=True),
            key=lambda row: [(value is not None, str(value)) for value in row],
        )

    def column(self, text: str, branch: str = "main") -> list[Any]:
        """Return the first column of a query's rows, sorted."""
        return [row[0] for row in self.rows(text, branch)]

    def close(self) -> None:
        """Close the connections."""
        self._open.close()
