"""Client help: what to type into each client to read a catalog, and to write to it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from dbt.adapters.vcs.core.model import RelationName

_SPARK = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
_SPARK_S3 = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A catalog as clients need to know it.

    Attributes:
        url: The server's address.
        warehouse: The revision to read; None for all branches.
        example: A table that is there.
        location: URI of the repository.
        has_tokens: True if requests need a token.
        authority: The file of the certificate, if clients have to be told to trust it.
        vended: True if clients are given credentials of the object store.
        is_protected: True if the warehouse is a branch that takes promotions only.
        format_version: Format version of tables that don't say theirs.
    """

    url: str
    warehouse: str | None
    example: RelationName
    location: str
    has_tokens: bool = False
    authority: str | None = None
    vended: bool = False
    is_protected: bool = False
    format_version: int = 2

    @property
    def is_bucket(self) -> bool:
        """True if the files are in an object store."""
        return "://" in self.location and not self.location.startswith("file:")

    @property
    def table(self) -> tuple[str, ...]:
        """The levels of the example's name."""
        levels = (self.example.schema, self.example.identifier)
        return levels if self.warehouse is not None else ("main", *levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHelp:
    """What to type into one client.

    Attributes:
        client: Its name.
        lines: Commands or settings; comments say what else it takes.
        writes: Commands that change rows, with `...` for what they depend on, or a comment.
    """

    client: str
    lines: tuple[str, ...]
    writes: tuple[str, ...]


def client_help(served: Served) -> list[ClientHelp]:
    """Return what to type into Spark, Trino, DuckDB, PyIceberg and Snowflake."""
    *namespace, name = served.table
    quoted_table = f"vcs.{_quoted('.'.join(namespace))}.{name}"
    makers = (
        ("Spark", _spark, _sql_writes(served, f"vcs.{_dotted(served.table)}")),
        ("Trino", _trino, _sql_writes(served, quoted_table)),
        ("DuckDB", _duckdb, _sql_writes(served, quoted_table)),
        ("PyIceberg", _pyiceberg, _python_writes(served)),
        ("Snowflake", _snowflake, ["-- To write from Snowflake has not been tried."]),
    )
    return [
        ClientHelp(client=client, lines=tuple(make(served)), writes=tuple(writes))
        for client, make, writes in makers
    ]


def _note(served: Served) -> str | None:
    """Return what else a change of rows takes; None for nothing."""
    if served.is_protected:
        return (
            f"{served.warehouse} is protected. Make a branch, use it as the warehouse, and "
            f"promote it: dbt-vcs branch create NAME {shlex.quote(str(served.warehouse))}"
        )
    return "TOKEN needs the role writer on the branch." if served.has_tokens else None


def _sql_writes(served: Served, table: str) -> Iterator[str]:
    note = _note(served)
    if note:
        yield f"-- {note}"
    if served.is_protected:
        return
    yield f"insert into {table} values (...);"
    yield f"update {table} set ... where ...;"
    yield f"delete from {table} where ...;"
    yield f"merge into {table} as t using ... on ... when matched then update set ...;"


def _python_writes(served: Served) -> Iterator[str]:
    note = _note(served)
    if note:
        yield f"# {note}"
    if served.is_protected:
        return
    if served.format_version > 2:
        yield "# PyIceberg 0.12 reads tables of format version 3, and does not write them."
        return
    yield f"table = catalog.load_table({served.table!r})"
    yield "table.append(...)  # an Arrow table"
    yield "table.delete(...)  # a condition, such as 'id = 1'"
    yield "table.overwrite(..., overwrite_filter=...)"


def _spark(served: Served) -> Iterator[str]:
    packages = f"{_SPARK},{_SPARK_S3}" if served.is_bucket else _SPARK
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": served.url}
    if served.warehouse is not None:
        settings[".warehouse"] = served.warehouse
    if served.has_tokens:
        settings[".token"] = "TOKEN"
    if served.is_bucket:
        settings[".io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
    yield f"spark-sql --packages {packages} \\"
    *first, last = settings.items()
    for name, value in first:
        yield f"  --conf spark.sql.catalog.vcs{name}={shlex.quote(value)} \\"
    yield f"  --conf spark.sql.catalog.vcs{last[0]}={shlex.quote(last[1])}"
    yield f"select * from vcs.{_dotted(served.table)};"
    if served.authority:
        yield f"-- Java must trust {served.authority}: keytool -importcert"


def _trino(served: Served) -> Iterator[str]:
    yield "# etc/catalog/vcs.properties"
    yield "connector.name=iceberg"
    yield "iceberg.catalog.type=rest"
    yield f"iceberg.rest-catalog.uri={served.url}"
    if served.warehouse is None:
        yield "iceberg.rest-catalog.nested-namespace-enabled=true"
    else:
        yield f"iceberg.rest-catalog.warehouse={served.warehouse}"
    if served.has_tokens:
        yield "iceberg.rest-catalog.security=OAUTH2"
        yield "iceberg.rest-catalog.oauth2.token=TOKEN"
    if served.vended:
        yield "iceberg.rest-catalog.vended-credentials-enabled=true"
    if served.is_bucket:
        yield "fs.native-s3.enabled=true"
    else:
        yield "fs.hadoop.enabled=true"
    *namespace, name = served.table
    yield f"-- then: select * from vcs.{_quoted('.'.join(namespace))}.{name};"


def _duckdb(served: Served) -> Iterator[str]:
    yield "install iceberg; load iceberg;"
    kind = "authorization_type 'none'"
    if served.has_tokens:
        yield "create secret vcs_token (type iceberg, token 'TOKEN');"
        kind = "secret vcs_token"
    warehouse = (served.warehouse or "").replace("'", "''")
    yield f"attach '{warehouse}' as vcs (type iceberg, endpoint '{served.url}', {kind});"
    *namespace, name = served.table
    yield f"select * from vcs.{_quoted('.'.join(namespace))}.{name};"


def _pyiceberg(served: Served) -> Iterator[str]:
    yield "from pyiceberg.catalog import load_catalog"
    arguments = {"type": "rest", "uri": served.url}
    if served.warehouse is not None:
        arguments["warehouse"] = served.warehouse
    if served.has_tokens:
        arguments["token"] = "TOKEN"
    shown = [f"{name}={value!r}" for name, value in arguments.items()]
    if served.authority:
        shown.append(f"ssl={{'cabundle': {served.authority!r}}}")
    yield f"catalog = load_catalog('vcs', {', '.join(shown)})"
    yield f"catalog.load_table({served.table!r}).scan().to_arrow()"


def _snowflake(served: Served) -> Iterator[str]:
    warehouse = served.warehouse or "main"
    yield "-- Snowflake reaches public addresses alone, by https, and buckets, and needs a token."
    yield "create catalog integration vcs"
    yield "  catalog_source = iceberg_rest table_format = iceberg enabled = true"
    yield f"  catalog_namespace = '{served.example.schema}'"
    yield f"  rest_config = (catalog_uri = '{served.url}' warehouse = '{warehouse}')"
    yield "  rest_authentication = (type = bearer bearer_token = 'TOKEN');"
    yield f"create iceberg table {served.example.identifier}"
    yield "  catalog = 'vcs' external_volume = 'VOLUME'"
    yield f"  catalog_table_name = '{served.example.identifier}';"


def _dotted(levels: tuple[str, ...]) -> str:
    return ".".join(_quoted(name, "`") for name in levels)


def _quoted(name: str, quote: str = '"') -> str:
    return name if name.replace("_", "a").isalnum() else f"{quote}{name}{quote}"
