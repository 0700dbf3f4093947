"""What a profile says: where the repository is, which branch, and how Spark runs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.vcs import storage_configs as storage
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.factory import check_method

PUBLISH_MODES = ("on_success", "after_tests", "manual", "always")


@dataclass
class VcsCredentials(Credentials):
    """One output of a profile.

    Attributes:
        repository: Folder or URI (`s3://`, `gs://`, `az://`) that holds tables and history; made
            by the first run. A relative folder is meant from the project's folder.
        branch: The branch that this target reads and publishes to.
        base: The branch that a missing `branch` is created from, and that differences are taken
            from where nothing else is said.
        publish: When a run that ended well is published: `on_success`, at once; `after_tests`,
            once `dbt build` or a later `dbt test` has passed; `manual`, when somebody does it.
            `always` also publishes a run in which something failed, without what failed.
        storage_configs: What happens to models that ask for a storage that versioned tables don't
            have, by `file_format`, `clustered_by` with `buckets`, or `location_root`: `refuse`,
            an error that lists them before anything runs; `ignore`, tables as any other, with one
            warning.
        auto_optimize: `true` compacts tables after the node that made them due for it. A model's
            config wins.
        method: Where Spark runs: `session` is dbt's own process; `spark.master` in `spark_config`
            may name a cluster.
        spark_config: Any Spark setting.
        storage_options: Settings of the object store, credentials included; never stored, never
            shown. The environment variables of the store work as well.
        schema: Where dbt builds. It must be given.
        database: The same as `schema`, if given at all: on Spark they are one.
    """

    repository: str = "./warehouse"
    branch: str = "main"
    base: str = "main"
    publish: str = "on_success"
    storage_configs: str = storage.REFUSE
    auto_optimize: bool = False
    method: str = "session"
    spark_config: dict[str, Any] = field(default_factory=dict)
    storage_options: dict[str, Any] = field(default_factory=dict)
    database: str | None = None  # type: ignore[assignment]
    schema: str = ""

    @classmethod
    def __pre_deserialize__(cls, data: dict[Any, Any]) -> dict[Any, Any]:
        """Let `database` be left out, as dbt-spark does."""
        read: dict[Any, Any] = super().__pre_deserialize__(data)  # type: ignore[no-untyped-call]
        read.setdefault("database", None)
        return read

    @classmethod
    def validate(cls, data: dict[str, Any]) -> None:
        """Check the names in the profile: a misspelt `branch` must not mean the default one.

        Raises:
            DbtRuntimeError: A name is unknown.
        """
        super().validate(data)
        known = sorted({field.name for field in fields(cls)})
        for name in data:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                raise DbtRuntimeError(
                    f"{name} is unknown to type: vcs"
                    + (f"; did you mean {near[0]}?" if near else f"; expected {', '.join(known)}.")
                )

    def __post_init__(self) -> None:
        """Check what the profile says.

        Raises:
            DbtRuntimeError: A value can't be used.
        """
        if not self.schema:
            raise DbtRuntimeError(
                "The profile names no schema; say where dbt builds, such as schema: analytics."
            )
        try:
            check_method(self.method)
        except InputError as error:
            raise DbtRuntimeError(str(error)) from error
        if self.publish not in PUBLISH_MODES:
            raise DbtRuntimeError(
                f"publish: {self.publish} is unknown; expected one of {', '.join(PUBLISH_MODES)}."
            )
        if self.storage_configs not in storage.MODES:
            raise DbtRuntimeError(
                f"storage_configs: {self.storage_configs} is unknown; expected one of "
                f"{', '.join(storage.MODES)}."
            )
        if self.database is not None and self.database != self.schema:
            raise DbtRuntimeError(
                f"database: {self.database} differs from schema: {self.schema}; "
                "on Spark they are one. Leave database out."
            )
        self.database = None
        self.spark_config = {str(key): _text(value) for key, value in self.spark_config.items()}
        self.storage_options = {str(k): _text(v) for k, v in self.storage_options.items()}

    @property
    def type(self) -> str:
        """Name of the adapter."""
        return "vcs"

    @property
    def unique_field(self) -> str:
        """What tells one installation from another."""
        return self.repository

    def _connection_keys(self) -> tuple[str, ...]:
        # With `database`, which is none, packages can pass target.database on.
        return (
            "repository",
            "branch",
            "base",
            "database",
            "schema",
            "publish",
            "storage_configs",
            "auto_optimize",
            "method",
        )


def _text(value: Any) -> str:
    """Return a setting as Spark spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
