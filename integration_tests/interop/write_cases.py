"""Statements of Spark that write rows, by case: `{t}` is the table, `{modes}` its properties."""

from __future__ import annotations

from typing import Final

from tests.functional.rows.test_open_tables import PARTS, VALUES

MODES: Final = ("copy-on-write", "merge-on-read")

_KEYED: Final = "create table {t} (id bigint, v string, n int) using iceberg {modes}"
_PARTED: Final = (
    "create table {t} (id bigint, part string, v int) using iceberg partitioned by (part) {modes}"
)
_ROWS: Final = (
    "insert into {t} select id, concat('p', id % 4), cast(id * 10 as int) from range(40)"
)
_NULLS: Final = "insert into {t} values (null, null, null), (100, null, 1), (101, 'p1', null)"
_MERGE: Final = (
    "merge into {t} as t using (select id * 3 as id, concat('p', id % 5) as part,"
    " cast(id as int) as v from range(30)) as s on t.id = s.id"
)

_VECTORS: Final = _PARTED.replace(
    "{modes}",
    "tblproperties ('format-version' = '{version}', 'write.delete.mode' = 'merge-on-read',"
    " 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')",
)
_UPSERT: Final = (
    f"{_MERGE} when matched and s.id % 2 = 0 then delete when matched then update set v = -s.v"
    " when not matched then insert *"
)

# Each is run once for copy-on-write, and once for merge-on-read.
CHANGES: Final[dict[str, tuple[str, ...]]] = {
    "update": (
        _PARTED,
        _ROWS,
        _NULLS,
        "update {t} set v = v + 1 where id % 7 = 0",
        "update {t} set part = 'moved' where id between 3 and 9",
        "update {t} set part = null, v = null where id = 12",
        "update {t} set v = 0",
    ),
    "delete": (
        _PARTED,
        _ROWS,
        _NULLS,
        "delete from {t} where id = 5",
        "delete from {t} where id in (6, 7, 8) and v > 60",
        "delete from {t} where part = 'p3'",
        "delete from {t} where part is null and id is null",
        "delete from {t} where v is null",
        "delete from {t} where id = 1000",
        "delete from {t}",
        _ROWS,
    ),
    "delete_without_partitions": (
        _KEYED,
        "insert into {t} select id, concat('v', id), cast(id as int) from range(1000)",
        "delete from {t} where id % 10 = 1",
        "delete from {t} where id % 10 = 2",
        "insert into {t} select id, 'again', 0 from range(5)",
        "delete from {t} where v = 'again' or id > 900",
        "update {t} set v = concat(v, '!') where id % 3 = 0",
    ),
    "merge": (
        _PARTED,
        _ROWS,
        _NULLS,
        _UPSERT,
        f"{_MERGE} when matched then update set * when not matched and s.id > 80 then insert"
        " (id, part) values (s.id, 'late') when not matched by source and t.id < 10 then delete"
        " when not matched by source and t.id > 30 then update set v = 1",
        f"{_MERGE} when not matched then insert *",
        "merge into {t} as t using {t} as s on t.id = s.id"
        " when matched then update set v = s.v + 1",
    ),
    "types": (
        f"create table {{t}} using iceberg {{modes}} as {VALUES}",
        f"insert into {{t}} {VALUES}",
        "insert into {t} (id) values (70)",
        "update {t} set v = 'changed', l = array(7), s = named_struct('x', 9, 'Y', null)"
        " where id = 2",
        "delete from {t} where n is null or isnan(n)",
        "update {t} set m = map('k', null), b = null, d = null where id > 4",
    ),
    "evolved": (
        _KEYED,
        "insert into {t} values (1, 'a', 10), (2, 'b', 20), (3, null, 30)",
        "alter table {t} add columns (more array<int>, price decimal(9, 2))",
        "insert into {t} values (4, 'd', 40, array(1, null), 4.25)",
        "update {t} set price = 1.5 where id = 1",
        "alter table {t} alter column n type bigint",
        "alter table {t} alter column price type decimal(12, 2)",
        "insert into {t} values (5, 'e', 5000000000, null, 1234567890.12)",
        "alter table {t} drop column more",
        "insert into {t} values (6, 'f', 60, 6)",
        "delete from {t} where id in (1, 4)",
        "alter table {t} alter column price first",
        "insert into {t} (id, v) values (7, 'g')",
        "merge into {t} as t using (select 2 as id union all select 8) as s on t.id = s.id"
        " when matched then update set v = 'm' when not matched then insert (id) values (s.id)",
    ),
    "renamed": (
        _KEYED,
        "insert into {t} values (1, 'a', 10), (2, 'b', 20)",
        "alter table {t} rename column v to w",
        "insert into {t} values (3, 'c', 30)",
        "update {t} set w = 'z' where id = 1",
        "delete from {t} where w = 'b'",
        "alter table {t} rename column n to v",
        "insert into {t} values (4, null, 40)",
        "alter table {t} drop column w",
        "alter table {t} add column w string",
        "insert into {t} values (5, 50, 'another column of the old name')",
        "update {t} set w = 'x' where v < 40",
    ),
    "parts_of_types": (
        "create table {t} (id bigint, day date, n int, yes boolean, s string) using iceberg"
        " partitioned by (day, n, yes, s) {modes}",
        "insert into {t} select id, date'2026-11-20' + cast(id % 2 as int), id % 3, id % 2 = 0,"
        " concat('k/', id % 2, '=ü%') from range(12)",
        "insert into {t} values (50, null, null, null, null), (51, null, 1, true, ' ')",
        "delete from {t} where s = 'k/1=ü%' and id > 6",
        "update {t} set day = null where id = 4",
        "delete from {t} where n is null",
    ),
    "parts_of_times": (
        "create table {t} (id bigint, at timestamp, local timestamp_ntz, price decimal(18, 10))"
        " using iceberg partitioned by (at, local, price) {modes}",
        "insert into {t} select id, timestamp'2026-11-20 12:00:00.5' + make_dt_interval(id % 2),"
        " timestamp_ntz'1969-12-31 23:59:59.999999', id % 3 / 10000000 from range(12)",
        "insert into {t} values (50, null, null, null), (51, timestamp'0999-01-01 00:00:00',"
        " null, 99999999.9999999999), (52, null, timestamp_ntz'2026-11-20 00:00:00', 0)",
        "delete from {t} where at = timestamp'2026-11-21 12:00:00.5' and id > 6",
        "update {t} set price = 0.0000000001 where id in (4, 50)",
        "delete from {t} where price is null or price = 0",
        "update {t} set id = id + 1 where local < timestamp_ntz'2000-01-01 00:00:00'",
    ),
}

# Each is run once.
WRITES: Final[dict[str, tuple[str, ...]]] = {
    "insert": (
        _PARTED,
        "insert into {t} values (1, 'a', 1), (2, 'b/c=%', 2), (3, null, null)",
        "insert into {t} (v, id) values (4, 4)",
        "insert into {t} by name select 5 as id, 50 as v, 'a' as part",
        "insert into {t} select id + 100, part, v from {t}",
        "insert into {t} select * from {t} where false",
    ),
    "overwrite_static": (
        _PARTED,
        _ROWS,
        "insert overwrite {t} partition (part = 'p1') select 1, 11",
        "insert overwrite {t} partition (part = 'new') select 2, 22",
        "insert overwrite {t} partition (part = 'p2') select id, v from {t} where id is null",
        "insert overwrite {t} select id, part, v from {t} where v > 100",
        "insert overwrite {t} values (1, 'a', 1), (2, null, 2)",
    ),
    "overwrite_dynamic": (
        _PARTED,
        _ROWS,
        _NULLS,
        "set spark.sql.sources.partitionOverwriteMode = dynamic",
        "insert overwrite {t} values (1, 'p1', 1), (2, 'p2', 2), (3, 'new', 3)",
        "insert overwrite {t} values (4, null, 4)",
        "insert overwrite {t} select * from {t} where false",
        "insert overwrite {t} select id + 1, part, v from {t} where part = 'p3'",
        "set spark.sql.sources.partitionOverwriteMode = static",
    ),
    "overwrite_unpartitioned": (
        _KEYED,
        "insert into {t} values (1, 'a', 1), (2, 'b', 2)",
        "insert overwrite {t} values (3, 'c', 3)",
        "insert overwrite {t} select id + 1, v, n from {t}",
        "truncate table {t}",
        "insert into {t} values (4, null, null)",
    ),
    "replace_where": (
        _PARTED,
        _ROWS,
        "insert into {t} replace where part = 'p1' select 1, 'p1', 1",
        "insert into {t} replace where part = 'p2' and id > 1000 select 2, 'p2', 2 from range(0)",
    ),
    "create_as_select": (
        "create table {t} using iceberg partitioned by (part) tblproperties ('note' = 'a')"
        " as select id, concat('p', id % 3) as part, concat('n', id) as name from range(30)",
        "insert into {t} values (100, 'p1', 'n')",
        "insert into {t} select * from {t} where part = 'p2'",
        "alter table {t} add column more string",
        "insert into {t} values (101, 'p2', 'n', 'm')",
    ),
    "replace_as_select": (
        "create or replace table {t} using iceberg as select id, concat('a', id) as name,"
        " id % 2 as part from range(9)",
        "create or replace table {t} using iceberg partitioned by (part) as select id,"
        " concat('b', id) as name, id % 3 as part from range(20)",
        "insert into {t} values (100, 'new', 1)",
        "delete from {t} where id = 4",
        "replace table {t} using iceberg as select name, id, part = 2 as new from {t}"
        " where id > 3",
        "insert into {t} values ('v', 0, null)",
        "create or replace table {t} using iceberg as select name, id from {t}",
        "insert into {t} values ('x', 1)",
        "create or replace table {t} (a int, name string) using iceberg partitioned by (a)",
        "insert into {t} values (1, 'b'), (2, null)",
        "create or replace table {t} using iceberg as select a, name from {t} where false",
    ),
    "parts_of_every_value": (
        f"create table {{t}} using iceberg partitioned by (k) as select id, k from ({PARTS})",
        f"insert into {{t}} select id + 100, k from ({PARTS})",
    ),
    "nothing": (
        "create table {t} (id bigint) using iceberg",
        "insert into {t} select id from range(0)",
        "delete from {t} where id = 1",
        "create or replace table {t} using iceberg as select id from range(0)",
    ),
    "nested": (
        "create table {t} (id bigint, s struct<a: int, b: array<struct<c: string, d: date>>>,"
        " m map<string, array<bigint>>) using iceberg",
        "insert into {t} values (1, named_struct('a', 1, 'b', array(named_struct('c', 'x', 'd',"
        " date'2026-01-01'), null)), map('k', array(1, null))), (2, null, null),"
        " (3, named_struct('a', null, 'b', null), map())",
        "update {t} set s.a = 5 where id = 1",
        "delete from {t} where s is null",
    ),
    "rewritten_files": (
        _PARTED,
        _ROWS,
        _ROWS.replace("id, ", "id + 100, "),
        "delete from {t} where id = 5",
        "call {catalog}.system.rewrite_data_files(table => '{s}', options =>"
        " map('rewrite-all', 'true'))",
        "insert into {t} values (1, 'after', 1)",
        "call {catalog}.system.rewrite_manifests('{s}')",
        "insert into {t} values (2, 'after', 1)",
    ),
    "rewritten_deletes": (
        _PARTED.replace(
            "{modes}",
            "tblproperties ('write.delete.mode' = 'merge-on-read',"
            " 'write.delete.granularity' = 'partition')",
        ),
        _ROWS,
        "delete from {t} where id in (4, 5)",
        "delete from {t} where id in (8, 9)",
        "call {catalog}.system.rewrite_position_delete_files(table => '{s}', options =>"
        " map('rewrite-all', 'true'))",
        "call {catalog}.system.rewrite_data_files(table => '{s}', options =>"
        " map('rewrite-all', 'true'))",
        "delete from {t} where id in (12, 13)",
    ),
    "format_3": (
        _VECTORS.replace("{version}", "3"),
        _ROWS,
        "delete from {t} where id in (5, 9)",
        "delete from {t} where id = 13",
        "update {t} set v = v + 1 where id % 7 = 0",
        _UPSERT,
        "insert into {t} values (200, 'p1', 1)",
        "delete from {t} where part = 'p1'",
    ),
    "raised_to_format_3": (
        _VECTORS.replace("{version}", "2"),
        _ROWS,
        "delete from {t} where id in (5, 9)",
        "alter table {t} set tblproperties ('format-version' = '3')",
        "delete from {t} where id = 13",
        "update {t} set v = 0 where id = 17",
        "insert into {t} values (200, 'p1', 1)",
        _UPSERT,
    ),
}

# Statements before, the one that is refused, and what its error says.
REFUSED: Final[dict[str, tuple[tuple[str, ...], str, str]]] = {
    "partitions by days": (
        (),
        "create table {t} (id bigint, at timestamp) using iceberg partitioned by (days(at))",
        "values of columns",
    ),
    "partitions by bucket": (
        (),
        "create table {t} using iceberg partitioned by (bucket(4, id)) as select id from range(4)",
        "values of columns",
    ),
    "rows partitioned by a double": (
        ("create table {t} (id bigint, x double) using iceberg partitioned by (x)",),
        "insert into {t} values (1, 0.5D)",
        "only Spark knows",
    ),
    "an empty string as a partition": (
        (_PARTED,),
        "insert into {t} values (1, '', 1)",
        "holds an empty string",
    ),
    "a branch of the table": (
        (_KEYED, "insert into {t} values (1, 'a', 1)"),
        "alter table {t} create branch other",
        "are the repository's",
    ),
    "a tag of the table": (
        (_KEYED, "insert into {t} values (1, 'a', 1)"),
        "alter table {t} create tag v9",
        "are the repository's",
    ),
    "going back to a snapshot": (
        (_KEYED, "insert into {t} values (1, 'a', 1)", "insert into {t} values (2, 'b', 2)"),
        "call {catalog}.system.rollback_to_timestamp('{s}', timestamp'{between}')",
        "dbt-vcs restore|Cannot roll back",
    ),
    "expiry of snapshots": (
        (_KEYED, "insert into {t} values (1, 'a', 1)", "insert into {t} values (2, 'b', 2)"),
        "call {catalog}.system.expire_snapshots(table => '{s}', older_than => now(),"
        " retain_last => 1)",
        "GC is disabled",
    ),
    "removal of orphan files": (
        (_KEYED, "insert into {t} values (1, 'a', 1)"),
        "call {catalog}.system.remove_orphan_files(table => '{s}')",
        "GC is disabled",
    ),
    "drop table purge": (
        (_KEYED, "insert into {t} values (1, 'a', 1)"),
        "drop table {t} purge",
        "GC is disabled",
    ),
    "partitioning that changes in place": (
        (_PARTED, _ROWS),
        "alter table {t} add partition field v",
        "can't be changed in place",
    ),
    "a sort order": (
        (_KEYED,),
        "alter table {t} write ordered by id",
        "sort order",
    ),
    "a location": (
        (),
        "create table {t} (id bigint) using iceberg location '/tmp/elsewhere'",
        "location",
    ),
    "files of another format": (
        (_KEYED,),
        "alter table {t} set tblproperties ('write.format.default' = 'orc')",
        "write.format.default",
    ),
    "registering a table": (
        (_KEYED, "insert into {t} values (1, 'a', 1)"),
        "call {catalog}.system.register_table(table => 's.registered', metadata_file =>"
        " '/nowhere/v1.metadata.json')",
        "register",
    ),
    "a view that names a catalog": (
        (_KEYED,),
        "create view {t}_view as select * from {t}",
        "reads the catalog",
    ),
}
