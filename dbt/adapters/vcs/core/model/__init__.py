"""Frozen values that the repository stores; one noun a module."""

from dbt.adapters.vcs.core.model.commit import Commit, NodeRun, Run
from dbt.adapters.vcs.core.model.function import Function, Parameter
from dbt.adapters.vcs.core.model.ref import Forwarding, RefMove
from dbt.adapters.vcs.core.model.schema import Field, Schema
from dbt.adapters.vcs.core.model.segment import (
    Block,
    ColumnStats,
    Derivation,
    Replacement,
    Scalar,
    Segment,
    SegmentRef,
    Tombstone,
)
from dbt.adapters.vcs.core.model.snapshot import (
    Consumed,
    Consumption,
    Input,
    Origin,
    Snapshot,
)
from dbt.adapters.vcs.core.model.tree import (
    Absent,
    Entry,
    FunctionEntry,
    Readable,
    RelationName,
    SchemaRef,
    SchemaTree,
    TableEntry,
    Tree,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.view import View, ViewColumn

__all__ = [
    "Absent",
    "Block",
    "ColumnStats",
    "Commit",
    "Consumed",
    "Consumption",
    "Derivation",
    "Entry",
    "Field",
    "Forwarding",
    "Function",
    "FunctionEntry",
    "Input",
    "NodeRun",
    "Origin",
    "Parameter",
    "Readable",
    "RefMove",
    "RelationName",
    "Replacement",
    "Run",
    "Scalar",
    "Schema",
    "SchemaRef",
    "SchemaTree",
    "Segment",
    "SegmentRef",
    "Snapshot",
    "TableEntry",
    "Tombstone",
    "Tree",
    "View",
    "ViewColumn",
    "ViewEntry",
]
