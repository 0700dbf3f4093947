"""What a profile says: where the repository is, which branch, and how Spark runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.failures import shown_location
from dbt.adapters.vcs.engines.methods import check_method, with_remote
from dbt.adapters.vcs.yaml_text import setting_text

PUBLISH_MODES = ("on_success", "after_tests", "manual", "always")
STORAGE_MODES = ("refuse", "ignore")


@dataclass
class VcsCredentials(Credentials):
    """One output of a profile.

    Attributes:
        repository: Folder or URI (`s3://`, `gs://`, `az://`) that holds tables and history. The
            first run creates it. A relative path starts at the project's folder.
        branch: The branch that this target reads and publishes to.
        base: The branch that `branch` is created from if it doesn't exist, and the default
            starting point of differences.
        publish: When a successful run is published: `on_success`, immediately; `after_tests`,
            once `dbt build` or a later `dbt test` has passed; `manual`, when someone does it.
            `always` also publishes the successful part of a run in which something failed.
        storage_configs: What happens to models that ask for storage that versioned tables don't
            have, with `file_format`, `clustered_by` and `buckets`, or `location_root`: `refuse`
            stops with a list of them before anything runs; `ignore` builds them like any other
            table, with one warning.
        auto_optimize: `true` compacts a table right after the node that made it necessary. A
            model's config takes precedence.
        method: Where Spark runs: `session` is dbt's own process, and `spark.master` in
            `spark_config` can name a cluster; `connect` is a Spark Connect server. dbt-spark's
            `thrift`, `http` and `odbc` are refused.
        host: The server, `sc://host:port` or its name; or use `spark.remote` in `spark_config`.
        port: The server's port, if `host` doesn't have it; 15002 by default.
        token: A token for the server, sent over TLS. It is never stored or shown.
        user: Whose session it is on the server.
        use_ssl: `true` for TLS without a token.
        spark_config: Any Spark setting.
        storage_options: Settings of the object store, including credentials, which are never
            stored or shown. The environment variables of the store work as well.
        schema: Schema that dbt builds in. Required.
        database: Optional, and the same as `schema`: Spark doesn't distinguish them.
    """

    repository: str = "./warehouse"
    branch: str = "main"
    base: str = "main"
    publish: str = "on_success"
    storage_configs: str = "refuse"
    auto_optimize: bool = False
    method: str = "session"
    host: str | None = None
    port: int | None = None
    # A log that shows the profile must not show it.
    token: str | None = field(default=None, repr=False)
    user: str | None = None
    use_ssl: bool = False
    # Both may hold secrets, as `token` does.
    spark_config: dict[str, Any] = field(default_factory=dict, repr=False)
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False)
    database: str | None = None  # type: ignore[assignment]
    # Required, which is checked below: after a field with a default each needs one.
    schema: str = ""

    @classmethod
    def __pre_deserialize__(cls, data: dict[Any, Any]) -> dict[Any, Any]:
        """Allow `database` to be left out, as dbt-spark does."""
        read: dict[Any, Any] = super().__pre_deserialize__(data)  # type: ignore[no-untyped-call]
        read.setdefault("database", None)
        return read

    @classmethod
    def validate(cls, data: dict[str, Any]) -> None:
        """Check the names in the profile: a misspelt `branch` must not mean the default one.

        Raises:
            DbtRuntimeError: The method can't be used, or a name is unknown.
        """
        # First: the other names of a profile of dbt-spark's belong to its method.
        if isinstance(method := data.get("method"), str):
            with _told_to_dbt():
                check_method(method)
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
                "The profile has no schema; set where dbt builds, such as schema: analytics."
            )
        if self.publish not in PUBLISH_MODES:
            raise DbtRuntimeError(
                f"publish: {self.publish} is unknown; expected one of {', '.join(PUBLISH_MODES)}."
            )
        if self.storage_configs not in STORAGE_MODES:
            raise DbtRuntimeError(
                f"storage_configs: {self.storage_configs} is unknown; expected one of "
                f"{', '.join(STORAGE_MODES)}."
            )
        if self.database is not None and self.database != self.schema:
            raise DbtRuntimeError(
                f"database: {self.database} differs from schema: {self.schema}; "
                "on Spark they are the same. Leave database out."
            )
        # As in dbt-spark, whose relations have no database of their own.
        self.database = None
        self.spark_config = {
            str(key): setting_text(value) for key, value in self.spark_config.items()
        }
        self.storage_options = {str(k): setting_text(v) for k, v in self.storage_options.items()}
        with _told_to_dbt():
            check_method(self.method, self.engine_settings)

    @property
    def engine_settings(self) -> dict[str, str]:
        """The engine's settings, the server's address with its token among them."""
        return with_remote(
            self.spark_config,
            host=self.host,
            port=self.port,
            token=self.token,
            user=self.user,
            use_ssl=self.use_ssl,
        )

    @property
    def time_zone(self) -> str:
        """The time zone of timestamps without one."""
        return str(self.spark_config.get("spark.sql.session.timeZone", "UTC"))

    @property
    def type(self) -> str:
        """Name of the adapter."""
        return "vcs"

    @property
    def unique_field(self) -> str:
        """What distinguishes one installation from another."""
        # dbt sends a hash of it with its anonymous statistics.
        return self.repository

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """Yield what `dbt debug` shows, without credentials in the location."""
        for key, value in super().connection_info(with_aliases=with_aliases):
            yield key, shown_location(value) if key == "repository" else value

    # `target` has these in Jinja, and `dbt debug` shows them, so no secret is among them.
    def _connection_keys(self) -> tuple[str, ...]:
        # Includes `database`, which is None, so that packages can pass target.database on.
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


@contextmanager
def _told_to_dbt() -> Iterator[None]:
    """Raise what is wrong with the input as dbt's own error."""
    try:
        yield
    except InputError as error:
        raise DbtRuntimeError(str(error)) from error
