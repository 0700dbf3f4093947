"""A dbt project of any number of small models, made up, the same each time.

Models lie in layers; each reads one or two of the layers before. Seven of ten are tables, two are
views, one is incremental, and all have the columns ``id, part, amount``.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet
import yaml
from projects import PLAIN_SPARK, SCHEMA, Copy, run_python, write_profile

from dbt.adapters.vcs.api import connect

NAME = "generated"
FIRST, AGAIN = "49", "99"
"""Where the incremental models stop in the first build and in the next one."""

_IDS = 100
_WIDTH = 25
_KINDS = ("table",) * 7 + ("view",) * 2 + ("incremental",)
_TOGETHER = 50

_PROJECT = {
    "name": NAME,
    "version": "1.0.0",
    "config-version": 2,
    "profile": NAME,
    "flags": {"send_anonymous_usage_stats": False},
    "vars": {"loaded_until": AGAIN},
}
_BASE = "select id, id % 7 as part, id * {number} as amount from range({ids})"
_JOIN = """\
select a.id, a.part, pmod(a.amount + b.amount, 1000003) as amount
from {{{{ ref('{0}') }}}} as a
inner join {{{{ ref('{1}') }}}} as b on a.id = b.id"""
_VIEW = "select id, part, amount + 1 as amount from {{{{ ref('{0}') }}}}"
_INCREMENTAL = """\
select id, part, amount from {{{{ ref('{0}') }}}} where id <= {{{{ var('loaded_until') }}}}
{{% if is_incremental() %}}
and id > (select coalesce(max(id), -1) from {{{{ this }}}})
{{% endif %}}"""


class Model(NamedTuple):
    """One model: its name, how it is materialized, its text."""

    name: str
    kind: str
    text: str


def write_project(folder: Path, models: int, target: str, output: object) -> Copy:
    """Write a project of so many models, with a profile of one output."""
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(_PROJECT), encoding="utf-8")
    for model in made_up(models):
        config = f"{{{{ config(materialized='{model.kind}') }}}}\n"
        (folder / "models" / f"{model.name}.sql").write_text(f"{config}{model.text}\n")
    write_profile(folder, NAME, {target: output})
    return Copy(folder=folder, target=target)


def made_up(models: int) -> Iterator[Model]:
    """Yield the models, parents before children.

    A view reads only tables, so that views are not stacked.
    """
    chance = random.Random(5)
    layers: list[list[Model]] = [[]]
    for number in range(models):
        if len(layers[-1]) == _WIDTH:
            layers.append([])
        kind = _KINDS[number % len(_KINDS)]
        model = _model(number, kind, layers[:-1], chance)
        layers[-1].append(model)
        yield model


def _model(number: int, kind: str, before: list[list[Model]], chance: random.Random) -> Model:
    name = f"model_{number:04d}"
    if not before:
        text = _BASE.format(number=number + 1, ids=_IDS)
        return Model(name, "view" if kind == "view" else "table", text)
    near = chance.choice([model for model in before[-1] if model.kind == "table"])
    far = chance.choice([model for layer in before[-3:] for model in layer])
    match kind:
        case "table":
            return Model(name, kind, _JOIN.format(near.name, far.name))
        case "view":
            return Model(name, kind, _VIEW.format(near.name))
        case _:
            return Model(name, kind, _INCREMENTAL.format(near.name))


def together(names: Sequence[str]) -> Iterator[str]:
    """Yield queries that between them give the rows of all models, each with its name."""
    for start in range(0, len(names), _TOGETHER):
        yield " union all ".join(
            f"select '{name}' as model, id, part, amount from {SCHEMA}.{name}"
            for name in names[start : start + _TOGETHER]
        )


def plain_rows(copy: Copy, names: Sequence[str]) -> pa.Table:
    """Read what plain dbt-spark built, in order."""
    run_python(copy.folder, str(PLAIN_SPARK), "queries", "rows.parquet", *together(names))
    return _in_order(pa.parquet.read_table(copy.folder / "rows.parquet"))


def vcs_rows(copy: Copy, names: Sequence[str]) -> pa.Table:
    """Read what ``vcs`` built, in order, from its branch."""
    with connect(str(copy.repository), branch="main", schema=SCHEMA) as branch:
        return _in_order(pa.concat_tables([branch.sql(query) for query in together(names)]))


def _in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in ("model", "id", "part", "amount")])
