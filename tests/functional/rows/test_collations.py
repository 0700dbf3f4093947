"""Text counts byte by byte, whatever its collation: in a small table and in a large one."""

from collections.abc import Iterator

import pytest

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.writes import checks, rebuild, stage_write
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Snapshot
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.table.limits import Limits

from .shop import Shop

pytestmark = pytest.mark.spark

NOTHING = Limits(rows=-1, bytes=-1)
TEXT = "string collate utf8_lcase"
TYPES = {
    TEXT: "{} collate utf8_lcase",
    "string collate unicode_ci": "{} collate unicode_ci",
    "string collate unicode_ci_rtrim": "{} collate unicode_ci_rtrim",
    f"array<{TEXT}>": "array({} collate utf8_lcase)",
    f"struct<x:int,y:{TEXT}>": "named_struct('x', 1, 'y', {} collate utf8_lcase)",
    f"map<string,{TEXT}>": "map('k', {} collate utf8_lcase)",
    f"array<map<string,struct<`a b`:{TEXT}>>>": (
        "array(map('k', named_struct('a b', {} collate utf8_lcase)))"
    ),
}


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Take every table for a small one, or for one that is too large for this process."""
    if request.param == "large":
        monkeypatch.setattr(checks, "_MOST_NEW", -1)
        monkeypatch.setattr(stage_write, "MAX_STAGED_IN_PROCESS", -1)
        monkeypatch.setattr(rebuild, "LIMITS", NOTHING)
    yield request.param


def changed(shop: Shop, before: Snapshot, after: Snapshot) -> tuple[int, int]:
    found = delta(before, after, shop.repository.objects.segments)
    return found.rows_removed, found.rows_added


def columns(*words: str) -> str:
    """Return a value for each type, the place of its word among some for the words."""
    word = f"case id {' '.join(words)} else 'Ann' end"
    return ", ".join(
        f"{value.format(word.replace('PLACE', str(place)))} as c{place}"
        for place, value in enumerate(TYPES.values())
    )


def make(shop: Shop) -> str:
    types = ", ".join(f"c{place} {type_}" for place, type_ in enumerate(TYPES))
    return shop.make(f"id bigint, {types}", properties="'vcs.write_mode' = 'merge_on_read'")


SAME = columns("when 30 then ''")
# Row 0 has another case in column 0, row 1 in column 1, and so on.
OTHER = columns("when PLACE then 'ANN'")


@pytest.mark.parametrize("key", ["'primary_key' = 'id'", "'by' = 'nothing'"])
def test_a_rebuild_stores_a_change_of_case(shop: Shop, size: str, key: str) -> None:
    name = make(shop)

    def rebuild(values: str) -> Snapshot:
        shop.sql(
            f"create or replace table {name} tblproperties ('vcs.rebuild' = 'delta', "
            f"'vcs.write_mode' = 'merge_on_read', {key}) as select id, {values} from range(30)"
        )
        return shop.version(name)

    first, second, third = (rebuild(values) for values in (SAME, OTHER, OTHER))
    assert changed(shop, first, second) == (len(TYPES), len(TYPES))
    assert changed(shop, second, third) == (0, 0)


def test_an_update_stores_a_change_of_case(shop: Shop, size: str) -> None:
    name = make(shop)
    shop.sql(f"insert into {name} select id, {SAME} from range(30)")
    first = shop.version(name)
    shop.sql(
        f"merge into {name} t using (select id, {OTHER} from range(30)) s on t.id = s.id "
        "when matched then update set *"
    )
    assert changed(shop, first, shop.version(name)) == (len(TYPES), len(TYPES))


@pytest.mark.parametrize("limits", [Limits(rows=1_000, bytes=1 << 30), NOTHING])
def test_a_difference_shows_a_change_of_case(shop: Shop, limits: Limits) -> None:
    name = make(shop)
    shop.sql(f"insert into {name} select id, {SAME} from range(30)")
    before = shop.version(name)
    shop.sql(f"insert overwrite {name} select id, {OTHER} from range(30)")
    difference = Difference(
        repository=shop.repository, before=before, after=shop.version(name), shape="signed"
    )
    session = shop._connection.session()
    text = difference.relation(session, limits=limits)
    found = session.query(f"select id, diff_count from {text}").fetch()
    assert sorted(found) == [(id, count) for id in range(len(TYPES)) for count in (-1, 1)]


def test_keys_that_differ_in_case_are_two_keys(shop: Shop, size: str) -> None:
    name = shop.make(f"name {TEXT}, id int", properties="'primary_key' = 'name'")
    shop.sql(f"insert into {name} values ('a', 1), ('A', 2)")
    shop.sql(f"insert into {name} values ('B', 3)")
    shop.sql(f"insert into {name} values ('b', 4)")
    with pytest.raises(InputError, match=r"already have: 'B'\."):
        shop.sql(f"insert into {name} values ('B', 5)")
    with pytest.raises(InputError, match=r"the same primary key \(name\): 'c'\."):
        shop.sql(f"insert into {name} values ('c', 5), ('c', 6)")
    assert shop.rows(f"select count(*) from {name}") == [(4,)]


def test_a_rebuild_pairs_rows_by_the_bytes_of_their_key(shop: Shop, size: str) -> None:
    name = shop.make(f"name {TEXT}, id int")

    def rebuild(values: str) -> Snapshot:
        shop.sql(
            f"create or replace table {name} tblproperties ('vcs.rebuild' = 'delta', "
            "'vcs.write_mode' = 'merge_on_read', 'primary_key' = 'name') as "
            f"select name collate utf8_lcase as name, id from values {values} as t(name, id)"
        )
        return shop.version(name)

    rest = ", ".join(f"('n{number}', 0)" for number in range(20))
    first = rebuild(f"('a', 1), ('A', 2), {rest}")
    second = rebuild(f"('A', 2), ('a', 3), {rest}")
    assert changed(shop, first, second) == (1, 1)
    assert shop.rows(f"select string(name), id from {name} where name = 'a'") == [
        ("A", 2),
        ("a", 3),
    ]
