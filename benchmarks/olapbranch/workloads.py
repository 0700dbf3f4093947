"""Part 2 of OlapBranchBench: four workloads of an agent that branches before each attempt.

Each starts from a root branch with a fixture, neither of which is timed. Each attempt is a branch:
it is kept if its checks pass, and deleted otherwise. The workloads follow the descriptions in the
README of https://github.com/samweldon9393/OlapBranchBenchPart2; no figures of them were published.
DuckDB computes the rows in this process, and the client writes them.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.commands.restore import restore_branch
from dbt.adapters.vcs.core.errors import RetryError
from olapbranch.site import AUTHOR, Site, Times, build, tables_of, value

RIGHT = 0.7
"""The chance that an attempt is right."""
ROOT = "root"


@dataclass(slots=True)
class Agent:
    """Whoever tries things out.

    Attributes:
        site: Where.
        times: Of the operations.
        attempts: How many there were.
        kept: How many of them were kept.
    """

    site: Site
    times: Times = field(default_factory=Times)
    attempts: int = 0
    kept: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def attempt(
        self,
        origin: str,
        name: str,
        work: Callable[[Client], None],
        check: Callable[[Client], bool],
    ) -> bool:
        """Branch, work and check; the branch stays only if the check passes."""
        with self.site.client() as main:
            with self.times.of("create_branch"):
                branch = main.create(name, origin)
            with branch, self.times.of("run"):
                work(branch)
                passed = check(branch)
            if not passed:
                with self.times.of("delete_branch"):
                    main.delete(name, force=True)
        with self._lock:
            self.attempts += 1
            self.kept += passed
        return passed

    def merge(self, name: str) -> None:
        """Merge a branch into the root; whoever loses every race tries again."""
        with self.site.client(ROOT) as root:
            while True:
                with self.times.of("merge_branch"):
                    try:
                        root.merge(name)
                    except RetryError:
                        continue
                    return

    def expect(self, what: str, right: bool) -> None:
        """Stop if a result is wrong.

        Raises:
            SystemExit: It is.
        """
        if not right:
            raise SystemExit(f"{what}: the root doesn't hold what it should")


def run(site: Site, workload: str, *, seed: int = 0, workers: int = 8, steps: int = 16) -> Agent:
    """Make the root, run one workload, check what it published, and delete its branches.

    Args:
        site: Where the eight tables are.
        workload: One of `WORKLOADS`.
        seed: Of the agent's choices.
        workers: Threads that attempt steps at once, where the workload has several.
        steps: Batches to publish, or good commits after the bad one.
    """
    agent, chance = Agent(site), random.Random(seed)
    with site.client() as main:
        main.create(ROOT).close()
    WORKLOADS[workload](agent, chance, workers, steps)
    with site.client() as main:
        for branch in main.branches():
            if branch.name != "main":
                main.delete(branch.name, force=True)
    return agent


STAGED = "order_key, cust_key, order_date, net_price, tax_amount"
_FACTS = """
    select o_orderkey order_key, o_custkey cust_key, o_orderdate order_date,
        sum(l_extendedprice)::decimal(18,4) gross,
        sum(l_extendedprice * l_discount)::decimal(18,4) discount,
        sum(l_extendedprice * (1 - l_discount) * l_tax)::decimal(18,4) tax
    from orders join lineitem on l_orderkey = o_orderkey group by all"""
_MART = """
    select n_name nation_name, {period} order_quarter, sum(net_price)::decimal(28,4) net_revenue,
        sum(tax_amount)::decimal(28,4) tax_amount, count(*) order_count
    from {source} join customer on c_custkey = cust_key join nation on n_nationkey = c_nationkey
    group by all"""
_UNION = " union all ".join(
    f"select *, '{source}' as source from stg_{source}"
    for source in ("americas", "europe", "asia")
)
_STAGING = (
    "select order_key, cust_key, order_date, {price} net_price, {tax} tax_amount from {feed}"
)
_MODELS = {
    # A model, what it reads, its right text and its wrong one.
    "stg_americas": (
        (),
        _STAGING.format(
            price="(gross - discount)::decimal(18,4)",
            tax="null::decimal(18,4)",
            feed="feed_americas",
        ),
        _STAGING.format(price="gross", tax="null::decimal(18,4)", feed="feed_americas"),
    ),
    "stg_europe": (
        (),
        _STAGING.format(price="net", tax="tax", feed="feed_europe"),
        _STAGING.format(price="(net + tax)::decimal(18,4)", tax="tax", feed="feed_europe"),
    ),
    "stg_asia": (
        (),
        "select distinct o_key order_key, o_cust cust_key, o_date order_date, o_net net_price,"
        " null::decimal(18,4) tax_amount from feed_asia",
        "select o_key order_key, o_cust cust_key, o_date order_date, o_net net_price,"
        " null::decimal(18,4) tax_amount from feed_asia",
    ),
    "orders_unified": (
        ("stg_americas", "stg_europe", "stg_asia"),
        _UNION,
        _UNION.rpartition(" union all ")[0],
    ),
    "revenue_by_nation_quarter": (
        ("orders_unified",),
        _MART.format(period="date_trunc('quarter', order_date)::date", source="orders_unified"),
        _MART.format(period="date_trunc('month', order_date)::date", source="orders_unified"),
    ),
}


def data_engineering(agent: Agent, chance: random.Random, _workers: int, _steps: int) -> None:
    """Repair a pipeline of five models, one on top of the other, and publish it once."""
    with agent.site.client(ROOT) as root:
        build(root, "facts", _FACTS)
        for name, part in (
            ("feed_americas", "select order_key, cust_key, order_date, gross, discount"),
            ("feed_europe", "select order_key, cust_key, order_date,"
                            " (gross - discount)::decimal(18,4) net, tax"),
            ("feed_asia", "select order_key o_key, cust_key o_cust, order_date o_date,"
                          " (gross - discount)::decimal(18,4) o_net"),
        ):  # fmt: skip
            source = ("feed_americas", "feed_europe", "feed_asia").index(name)
            build(root, name, f"{part} from facts where order_key % 3 = {source}")
        # A feed that repeats one row in a hundred.
        build(root, "feed_asia", "from feed_asia where o_key % 100 = 2", "append")
        build(root, "gold_orders_unified", """
            select order_key, cust_key, order_date, (gross - discount)::decimal(18,4) net_price,
                case when order_key % 3 = 1 then tax end tax_amount,
                ['americas', 'europe', 'asia'][order_key % 3 + 1] as source
            from facts""")  # fmt: skip
        build(root, "gold_revenue_by_nation_quarter", _MART.format(
            period="date_trunc('quarter', order_date)::date", source="gold_orders_unified"
        ))  # fmt: skip
    fixed: set[str] = set()
    origin = ROOT
    for step in count():
        ready = [m for m, (reads, _, _) in _MODELS.items() if m not in fixed and fixed >= {*reads}]
        if not ready:
            break
        model, right = chance.choice(ready), chance.random() < RIGHT
        versions = {each: each in fixed or (each == model and right) for each in _MODELS}

        def work(branch: Client, versions: dict[str, bool] = versions) -> None:
            for each, is_right in versions.items():
                build(branch, each, _MODELS[each][1 if is_right else 2])

        def check(branch: Client, judged: Sequence[str] = (*fixed, model)) -> bool:
            return all(value(branch, _matches_gold(each)) for each in judged)

        name = f"engineering/{step}"
        if agent.attempt(origin, name, work, check):
            fixed.add(model)
            origin = name
    agent.merge(origin)
    with agent.site.client(ROOT) as root:
        right = all(value(root, _matches_gold(model)) for model in _MODELS)
        agent.expect("data engineering", right)


def _matches_gold(model: str) -> str:
    columns, gold = "*", f"gold_{model}"
    if model.startswith("stg_"):
        columns = STAGED
        gold = f"gold_orders_unified where source = '{model.removeprefix('stg_')}'"
    # `except all` counts rows that are there twice.
    return f"""
        with expected as (select {columns} from {gold}), actual as (select {columns} from {model})
        select (select count(*) from (from expected except all from actual))
             + (select count(*) from (from actual except all from expected)) = 0"""


def write_audit_publish(agent: Agent, chance: random.Random, workers: int, steps: int) -> None:
    """Append batches of orders to one table, each audited on its own branch, and merge them."""
    batches = f"select *, (o_orderkey % {steps})::integer batch from orders"
    with agent.site.client(ROOT) as root:
        build(root, "batches", batches)
        build(root, "landed", f"{batches} limit 0")
    seeds = [chance.random() for _ in range(steps)]

    def publish(batch: int) -> None:
        own = random.Random(seeds[batch])
        rows = f"select * from batches where batch = {batch}"
        audits = f"""
            with landing as (select * from landed where batch = {batch})
            select (select count(*) = count(distinct o_orderkey) from landing)
               and (select count(*) = 0 from landing where o_custkey is null)
               and (select count(*) = 0
                    from landing anti join customer on o_custkey = c_custkey)"""
        for number in count():
            name = f"wap/{batch}/{number}"
            text = rows if own.random() < RIGHT else f"{rows} union all {rows}"

            def work(branch: Client, text: str = text) -> None:
                build(branch, "landed", text, "append")

            def check(branch: Client) -> bool:
                return bool(value(branch, audits))

            if agent.attempt(ROOT, name, work, check):
                agent.merge(name)
                return

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(publish, range(steps)))
    with agent.site.client(ROOT) as root:
        same = """select (select count(*) from (from batches except all from landed))
                       + (select count(*) from (from landed except all from batches)) = 0"""
        agent.expect("write-audit-publish", bool(value(root, same)))


FEATURES = ("ship_delay", "quantity", "discount", "priority")
THRESHOLD = 0.1
"""How much of the held-out rows' variance a candidate must explain to be refined."""
DEPTH = 3
_FEATURES = """
    select l_orderkey % 5 = 0 held_out, (l_receiptdate > l_commitdate)::integer late, {columns}
    from lineitem join orders on o_orderkey = l_orderkey"""
_COLUMNS = {
    "ship_delay": "(l_shipdate - o_orderdate)::double ship_delay",
    "quantity": "l_quantity::double quantity",
    "discount": "l_discount::double discount",
    "priority": "o_priority::double priority",
}


def data_science(agent: Agent, chance: random.Random, workers: int, _steps: int) -> None:
    """Search features that say which lines arrive late, and refine those that do."""
    frontier = [
        (ROOT, model, (feature,)) for model in ("tree", "regression") for feature in FEATURES
    ]
    chance.shuffle(frontier)
    survivors: list[str] = []
    with ThreadPoolExecutor(workers) as pool:
        while frontier:
            kept = list(pool.map(lambda candidate: _candidate(agent, *candidate), frontier))
            reached = [
                (name, model, features)
                for name, (_, model, features) in zip(kept, frontier, strict=True)
                if name is not None
            ]
            survivors += [name for name, _, _ in reached]
            frontier = [
                (name, model, (*features, feature))
                for name, model, features in reached
                for feature in FEATURES
                if feature not in features and len(features) < DEPTH
            ]
    scores: dict[str, float] = {}
    with agent.times.of("aggregate"):
        for name in survivors:
            with agent.site.client(name) as branch:
                scores[name] = branch.table("ds_metrics").to_arrow()["score"][0].as_py()
    best = max(scores, key=scores.__getitem__)
    agent.merge(best)
    with agent.site.client(ROOT) as root:
        found = root.table("ds_metrics").to_arrow()["score"][0].as_py()
    agent.expect("data science", found == scores[best] and "ship_delay" in best)


def _candidate(agent: Agent, origin: str, model: str, features: tuple[str, ...]) -> str | None:
    name = f"science/{model}/{'+'.join(features)}"

    def work(branch: Client) -> None:
        # All versions of the table have the same columns; the model sees those it asked for.
        columns = ", ".join(
            text if feature in features else f"0::double {feature}"
            for feature, text in _COLUMNS.items()
        )
        build(branch, "ds_features", _FEATURES.format(columns=columns))
        rows = branch.table("ds_features").to_arrow()
        score = _score(model, rows, features)
        told = {"model": [model], "features": ["+".join(features)], "score": [score]}
        branch.write("ds_metrics", pa.table(told), "overwrite")

    def check(branch: Client) -> bool:
        return branch.table("ds_metrics").to_arrow()["score"][0].as_py() >= THRESHOLD

    return name if agent.attempt(origin, name, work, check) else None


def _score(model: str, rows: pa.Table, features: Sequence[str]) -> float:
    """Return the share of the held-out rows' variance that a fitted model explains."""
    held, late = rows["held_out"].to_numpy(), rows["late"].to_numpy().astype(float)
    inputs = np.column_stack([rows[name].to_numpy() for name in features])
    fit = _best_split if model == "tree" else _least_squares
    predicted = fit(inputs[~held], late[~held])(inputs[held])
    actual = late[held]
    return float(1 - ((actual - predicted) ** 2).sum() / ((actual - actual.mean()) ** 2).sum())


def _least_squares(x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def with_one(inputs: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(inputs)), inputs])

    weights = np.linalg.lstsq(with_one(x), y, rcond=None)[0]
    return lambda inputs: with_one(inputs) @ weights


def _best_split(x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def candidates() -> Iterator[tuple[float, int, float, float, float]]:
        for column in range(x.shape[1]):
            for at in np.unique(np.quantile(x[:, column], np.linspace(0.05, 0.95, 19))):
                low = x[:, column] <= at
                if low.all():
                    continue
                means = y[low].mean(), y[~low].mean()
                error = ((y - np.where(low, *means)) ** 2).sum()
                yield float(error), column, float(at), float(means[0]), float(means[1])

    _, column, at, low, high = min(candidates())
    return lambda inputs: np.where(inputs[:, column] <= at, low, high)


BASE = 24
"""Months that are loaded before the bad commit."""
REPAIRS = tuple(
    (strategy, scope)
    for strategy in ("dedupe", "rederive", "filter")
    for scope in ("batch", "quarter", "all")
)
_MONTH = "datediff('month', date '1992-01-01', l_shipdate)"
_LINES = "select *, {month}::integer batch from lineitem where {month} {which}"
_REVENUE = """
    select batch, s_nationkey, sum(l_extendedprice * (1 - l_discount))::decimal(28,4) revenue,
        count(*) line_count
    from {lines} join supplier on s_suppkey = l_suppkey group by all"""


def fixing(agent: Agent, _chance: random.Random, _workers: int, steps: int) -> None:
    """Find the commit that loaded a month twice, and replay what followed with a repair."""
    head = BASE + steps
    with agent.site.client(ROOT) as root:
        build(root, "li_clean", _lines(f"< {BASE}"))
        build(root, "revenue_mart", _REVENUE.format(lines="li_clean"))
        for month in range(BASE, head + 1):
            _load(root, month, "twice" if month == BASE else "once")
    good = None
    # Newest first. Two commits a month: lines, then revenue.
    for back in range(steps + 2):
        name = f"probe/{back}"
        if agent.attempt(f"{ROOT}~{2 * back}", name, lambda _: None, _check_until(head - back)):
            good = name
            break
    agent.expect("fixing: a state before the bad commit", good == f"probe/{steps + 1}")
    assert good is not None
    survivors: dict[str, int] = {}
    for strategy, scope in REPAIRS:
        name = f"repair/{strategy}/{scope}"
        until = {"batch": BASE, "quarter": BASE - BASE % 3 + 2, "all": head}[scope]

        def work(branch: Client, strategy: str = strategy, until: int = until) -> None:
            for month in range(BASE, head + 1):
                way = "twice" if month == BASE else "once"
                _load(branch, month, strategy if month <= until else way)

        if agent.attempt(good, name, work, _check_until(head)):
            with agent.site.client(name) as branch:
                outside = (
                    f"select count(*) from li_clean where batch > {BASE} and batch <= {until}"
                )
                survivors[name] = value(branch, outside)
    best = min(survivors, key=survivors.__getitem__)
    with agent.times.of("publish"):
        restore_branch(agent.site.repository(), best, branch=ROOT, author=AUTHOR)
    with agent.site.client(ROOT) as root:
        agent.expect("fixing", _check_until(head)(root))
    agent.expect("fixing: the least disturbing repair", best.endswith("/batch"))


def _lines(which: str) -> str:
    return _LINES.format(month=_MONTH, which=which)


def _load(branch: Client, month: int, way: str) -> None:
    """Load a month: `once`, `twice`, or twice and repaired by a strategy."""
    lines = _lines(f"= {month}")
    doubled = f"{lines} union all {lines}"
    text = {
        "once": lines,
        "twice": doubled,
        "dedupe": f"select distinct * from ({doubled})",
        "rederive": lines,
        # Lines without an order are removed, of which there are none: the defect stays.
        "filter": f"select * from ({doubled}) semi join orders on o_orderkey = l_orderkey",
    }[way]
    build(branch, "li_clean", text, "append")
    build(branch, "revenue_mart", _REVENUE.format(lines=f"({text})"), "append")


def _check_until(month: int) -> Callable[[Client], bool]:
    """Compare lines and revenue with the source, as far as a state has loaded it."""
    expected = _REVENUE.format(lines=f"({_lines(f'<= {month}')})")
    text = f"""
        with expected as ({expected})
        select (select count(*) from (from expected except all from revenue_mart))
             + (select count(*) from (from revenue_mart except all from expected)) = 0
           and (select count(*) from li_clean) = (select sum(line_count) from expected)
           and (select count(*) from li_clean anti join orders on o_orderkey = l_orderkey) = 0
           and (select count(*) from li_clean anti join part on p_partkey = l_partkey) = 0"""

    def check(branch: Client) -> bool:
        with tables_of(branch) as duck:
            return bool(duck.sql(text).fetchall()[0][0])

    return check


WORKLOADS: dict[str, Callable[[Agent, random.Random, int, int], None]] = {
    "data engineering": data_engineering,
    "write-audit-publish": write_audit_publish,
    "data science": data_science,
    "fixing": fixing,
}
