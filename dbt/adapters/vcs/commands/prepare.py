"""`dbt-vcs prepare`: let Spark start sooner on this machine."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from typing import Annotated, Final

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.commands.layout import line, size
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import verb
from dbt.adapters.vcs.engines.factory import end_process
from dbt.adapters.vcs.engines.java import archive_classes, archived_classes

# A process of its own, since Java writes an archive when it ends.
_WORK = ("-m", "dbt.adapters.vcs.commands.prepare")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The archive of Spark's classes.

    Attributes:
        archive: Its path.
        bytes: Its size.
        is_new: False if it was there.
    """

    archive: str
    bytes: int
    is_new: bool


@verb()
def prepare_command(
    session: CommandSession, *, force: Annotated[bool, "Make the archive again."] = False
) -> None:
    """Let Spark start sooner on this machine.

    Half of what a command's first statement waits for is Java, which reads and checks the same
    classes each time. This archives them, once for each Java and Spark, in some 200 MB of the
    cache folder, where dbt and dbt-vcs find them. It takes half a minute, and needs no repository.
    """
    found = None if force else archived_classes(os.environ)
    session.progress.show("Archiving Spark's classes")
    archive = found or archive_classes([sys.executable, *_WORK], os.environ)
    done = Prepared(archive=str(archive), bytes=archive.stat().st_size, is_new=found is None)
    verb = "Archived" if done.is_new else "Found"
    session.show(done, [line(f"{verb} Spark's classes in {archive}, {size(done.bytes)}.")])


# The log's level lets Java speak, which says why it made no archive.
_SETTINGS: Final = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "WARN",
}

# What dbt's builds run most, so that the classes of all of it are loaded when Java writes its
# archive (decision 35).
_STATEMENTS: Final = (
    "create schema if not exists work",
    "create table sales as select id, concat('sale ', id) name, cast(id % 7 as decimal(10, 2)) "
    "amount, id / 3 share, date'2024-01-01' + cast(id % 30 as int) day, "
    "timestamp'2024-01-01 10:00:00' at, id % 2 = 0 is_even from range(1000)",
    "create table parts partitioned by (day) as select * from sales",
    "insert into sales select id + 1000, name, amount, share, day, at, is_even from sales",
    "update sales set amount = amount + 1 where id % 5 = 0",
    "delete from sales where id = 3",
    "merge into sales using (select id, amount from parts where id < 10) more "
    "on sales.id = more.id when matched then update set amount = more.amount "
    "when not matched then insert (id, amount) values (more.id, more.amount)",
    "create view totals as select day, count(*) n, sum(amount) total, max(name) last "
    "from sales group by day having count(*) > 0",
    "select sales.name, totals.n, row_number() over (partition by sales.day order by sales.id) r, "
    "upper(sales.name), date_trunc('month', sales.at), coalesce(sales.amount, 0) "
    "from sales join totals on sales.day = totals.day left join parts on parts.id = sales.id "
    "where sales.name like 'sale 1%' or sales.id in (select id from parts where amount > 2) "
    "order by r, sales.name limit 20",
    "select distinct amount from sales union all select total from totals",
    "select count(*), sum(to_amount) from snapshot_diff('work.sales', 'work.parts')",
    "describe table sales",
    "show tables in work",
)


def main() -> None:
    """Do it in a repository that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-") as folder:
        with connect(folder, "main", "work", create=True, spark=_SETTINGS) as client:
            for statement in _STATEMENTS:
                client.sql(statement)
        end_process()


if __name__ == "__main__":
    main()
