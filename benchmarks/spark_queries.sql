select * from a.b lateral view explode(xs) e as x
----
select * from t lateral view outer explode(xs) e as x lateral view posexplode(ys) f as p, y where x = 1
----
select * from t, u lateral view explode(t.xs) as x join v on v.a = x
----
select * from t lateral view explode(array(select 1)) e
----
select * from t pivot (sum(a) as s for b in ('x' as x, 'y'))
----
select * from (select a, b, c from t) pivot (sum(a), avg(c) for (b, d) in ((1, 2) as p, (3, 4)))
----
select * from s.t pivot (sum(a) for b in (1, 2)) as p join u on p.a = u.a
----
select * from t as x pivot (sum(a) for b in (1, 2)) where a > 3
----
select * from t unpivot (v for n in (a, b as c))
----
select * from t unpivot include nulls ((v, w) for n in ((a, b) as ab, (c, d))) as u, z
----
select * from t unpivot exclude nulls (v for n in (a, b)) join r using (k)
----
select /*+ broadcast(t) */ * from t join u on t.a = u.a
----
select /*+ broadcast(t), merge(u, v) repartition(3) */ t.* from t, u, v
----
select /*+ coalesce(1) */ a from t union all select /*+ repartition(3, c) */ a from u
----
select * from t tablesample (10 percent)
----
select * from t tablesample (10 percent) repeatable (3) as s
----
select * from t tablesample (bucket 1 out of 4 on a) s join u tablesample (5 rows) on s.a = u.a
----
select * from s.t tablesample (100 rows) where a = 3
----
select * from values (1, 'a'), (2, 'b')
----
select * from values (1, 'a'), (2, 'b') as v(a, b), t
----
select * from values 1, 2 as v, t
----
values (1), (2), ((select max(a) from t))
----
select * from (values (1, 2), (3, 4)) v(a, b) join t on t.a = v.a
----
select * from values (1) v join t on true
----
select * from t version as of 'v1'
----
select * from t version as of 3 as x, u timestamp as of '2024-01-01'
----
select * from s.t for version as of 12 o join u for timestamp as of '2024-01-01' p on o.a = p.a
----
select * from t for system_version as of 1
----
select * from t for system_time as of '2024-01-01' where a in (select a from u version as of 2)
----
select * from t timestamp as of cast('2024-01-01' as timestamp)
----
select * from t timestamp as of timestamp '2024-01-01 00:00:00' x
----
from t |> where a = 1
----
from t |> select a, b |> join u using (a) |> where b > 1
----
table t |> aggregate sum(a) group by b |> order by b
----
from t |> extend a + 1 as c |> set c = c + 1 |> drop a |> as x |> select x.c
----
from s.t as x |> union all table u |> limit 3
----
from t |> union all (select * from u) |> except (table v)
----
values (1) v(a) |> join t on t.a = v.a
----
from t |> pivot (sum(a) for b in (1, 2)) |> join u on true
----
from t |> tablesample (50 percent) |> where exists (select * from u)
----
from t |> lateral join (select * from u where u.a = t.a)
----
with c as (from t |> select a) from c |> join d
----
(from t |> select a) union all from u
----
select * from t |> where a in (select a from u) |> intersect all select * from w
----
select * from identifier('s.t')
----
select * from identifier('t') as x join identifier('a.`b c`') on true
----
select * from s.identifier('t')
----
table identifier('t')
----
select * from `a.b`
----
select * from `s`.`t.u` as `x.y`
----
select * from `a``b`.`c`
----
select `from t` from `select`.`from`
----
select `a`.`b` from `a` where `a`.`b` = 'x' and `c` > 3
----
select * /* from x */ from t -- from y
----
select * /* a /* from b */ from c */ from t
----
select * from /*+ not a hint */ t
----
select * /* from /*+ broadcast(x) */ from t
----
select a -- continued \
from x
from t
----
select r'from \t' from t where a = r'\'
----
select R"from x" from t where b = "it's from y"
----
select 'it''s from x' from t
----
select 'a\'from x' from t
----
select "from ""x""" from t
----
select 'from ' 'x' from t
----
select x'1f', X'AB' from t
----
select sum(a) over w from t window w as (partition by b order by c)
----
select sum(a) over w, max(a) over (v rows between 1 preceding and current row) from t, u window w as (), v as (partition by (select max(b) from z))
----
select window, count(*) from t group by window(ts, '10 minutes')
----
select * from window(t)
----
select * from range(10)
----
select * from range(1, 10) r, t
----
select * from explode(array(1, 2)) as e(x), t
----
select * from f(table(t))
----
select * from f(table(t) partition by a order by b, 3) x
----
select * from f(table(select * from t where a = (select 1 from u)))
----
select * from f(x => table(s.t), y => 'from z') as q join w
----
select * from t, lateral (select * from u where u.a = t.a)
----
select * from t left join lateral (select * from u) x on x.a = t.a
----
select * from t, lateral explode(t.xs) as e(x)
----
select * from t join lateral f(t.a), u
----
select * from stream t
----
select * from stream(t) as x join u on x.a = u.a
----
select * from stream s.t
----
select * from stream
----
select * from stream join u
----
from t select *
----
from t insert overwrite table x select a where b = 1
----
from t a join u b on a.k = b.k select a.*, b.c where a.x > 1
----
from (select * from t) x select x.a
----
from t select a where a = 1 select b where b = 2
----
from t lateral view explode(xs) e select e.col
----
from t map a, b using 'cat' as (c, d)
----
select transform(a, b) using 'cat' as (c, d) from t
----
select transform(a) row format delimited fields terminated by ',' using 'from x' as (c string) from t where a in (select b from u)
----
with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select * from r
----
with recursive r(n) as (select a from t union all select n + 1 from r, u where n < 5), q as (select * from r) select * from q, r
----
with recursive r(n) max recursion level 100 as (values (1) union all select n + 1 from r) select * from r
----
with c as (select * from c) select * from c
----
with c as (select * from t), d as (select * from c, d) select * from d join c join s.c
----
with c as (select * from t) select * from (with c as (select * from u) select * from c) join c
----
with c as (with d as (select * from t) select * from d) select * from c, d
----
with c(a, b) as (values (1, 2)) select * from c where a in (with e as (select * from c) select a from e)
----
with c as (select 1), C as (select * from c) select * from C
----
with `c.d` as (select * from t) select * from `c.d`, c.d
----
with c (select * from t) select * from c
----
with a as (select * from b), b as (select * from a) select * from b
----
with x as (select 1) (select * from x) union all (select * from y)
----
(with x as (select * from y) select * from x) union all select * from x
----
select * from (with x as (select * from y) select * from x), x
----
select (with x as (select max(a) as m from y) select m from x) from x
----
select * from t where exists (with x as (select * from z) select * from x, t)
----
with t as (select * from t where t.a = 1) select * from t t
----
with recursive as (select 1) select * from recursive
----
with c as materialized_t select 1
----
select * from ((t))
----
select * from (t)
----
select * from (t) as x, (u join v on u.a = v.a) where x.a = 1
----
select * from ((select * from t)) x
----
select * from ((t join u) join (v cross join w)) as j
----
select * from (t join u using (a)), x
----
select * from ((select a from t) union (select a from u)) x
----
(select * from t) minus select * from u
----
((select * from t))
----
(table t) union all (values (1))
----
table s.t
----
table t union table u except table v
----
select * from table t
----
select * from t natural join u left semi join v on true left anti join w on true full outer join x on true cross join y
----
select * from t left join u on t.a = u.a and exists (select * from v where v.a = t.a)
----
select * from t join u join v on v.a = u.a on t.a = u.a
----
select a from t intersect all select a from u except distinct select a from v setminus all select a from w
----
select * except (a) from t
----
select * except (a, b), c from t union select 1
----
select t.* except (t.a) from t join u
----
select extract(year from d), trim(both 'x' from s), substring(s from 2 for 3), overlay(a placing b from 2), position('a' in s) from t
----
select trim(leading from s), trim(s) from t
----
select extract(day from (select max(d) from u)) from t
----
select a is distinct from b, a is not distinct from c from t
----
select case when a is distinct from b then (select 1 from u) end from t where not a is distinct from (select max(c) from v)
----
select * from t where a = (select max(a) from u) and b in (select b from v) and exists (select 1 from w)
----
select * from t where (a, b) in (select a, b from u) or a > all (select c from v)
----
select a, (select count(*) from u) as c from t group by a having count(*) > (select 1 from v)
----
select a from t order by (select 1 from u)
----
select * from t limit (select 1)
----
select a, b from t group by grouping sets ((a), (b), ()) order by 1
----
select a from t group by a with rollup
----
select a from t group by all having a > 1 order by all limit all
----
select a from t cluster by a
----
select a from t distribute by a sort by b desc nulls last limit 3 offset 2
----
select sum(a) filter (where b in (select c from u)) from t
----
select percentile_cont(0.5) within group (order by a) from t
----
select transform(xs, x -> x + 1), aggregate(xs, 0, (a, x) -> a + x) from t
----
select struct(a as b), map('from', a), named_struct('x', 1).x from t
----
select a:b.c, a:from, j:select.x[0] from t
----
select t.from, t.select, t.join from t
----
select from_json(a, 'b int'), left(a, 1), right(a, 2), replace(a, 'x') from t
----
select date '2024-01-01', timestamp '2024-01-01', interval '1' day, interval 3 days from t
----
select a::int, b::decimal(10, 2) from t
----
select cast(a as struct<x: int, y: array<string>>) from t
----
select 1e3, 1.5e-3, .5, 5., 3L, 2S, 1BD from t
----
select a as left_, b `from`, c values_ from t
----
select * from t as values_
----
select * from t where a between 1 and 2 and b not between 3 and 4 and c like 'x%' escape '!'
----
select * from t x(a, b) join u as y(c, d) on x.a = y.c
----
select * from t as of_
----
select * from t version
----
select * from t timestamp
----
select * from t for_
----
select * from t with ('k' = 'v')
----
select * from t with ('k' = 'v', 'split' = 5) as x join u
----
select * from t where a = :p and b = ?
----
select * from t where a = ${x}
----
select * from spark_catalog.s.t, s.t, t
----
select * from other.s.t join t
----
select * from parquet.`/data/x`, csv.`s3://b/k.csv`
----
select * from parquet.t
----
select * from s.t.c
----
select * from t sort by a
----
select * from t anti join u on t.a = u.a
----
select * from t semi join u on t.a = u.a
----
select * from t left outer join u using (a, b) right outer join v on true
----
select * from t inner join lateral (values (t.a)) x
----
select distinct a from t
----
select all a from t
----
select a from t where a in (1, 2) group by a
----
select * from t, u as x, v y, (select * from w) z
----
select 1
----
select 1 union all select 2 from t
----
select * from t where array_contains((select collect_list(a) from u), a)
----
select exists(xs, x -> x > 0) from t where exists(xs, x -> x in (select a from u))
----
select map_from_arrays(a, b) from t
----
select (select a from t), (select b from u limit 1) + 1
----
select if(a in (select a from u), (select max(b) from v), 0) from t
----
select date_from_unix_date(1), from_unixtime(a), from_utc_timestamp(a, 'UTC') from t
----
select count(*) from t where a = 'x' collate utf8_lcase
----
select a collate unicode_ci from t
----
select session_user, current_date, current_catalog() from t
----
select * from t where a is not null and b <=> 3 and 4 < c and d != 5 and not e
----
select * from t where a = -1 and b = +2 and c = 1.5 and d = true and e = date '2024-01-01' and f in ('x', 'y')
----
select * from t where (a = 1 and (b = 2 and (c = 3))) and (d = 4 or e = 5)
----
select * from t where a = 1 or b = 2 and c = 3
----
select * from t where a between 1 and 5 and b in (1, 2, 3) and c is null
----
select * from t where t.a == 1 and x.b = 2 and s.t.c = 3
----
select * from s.t where s.t.a = 1 and t.b = 2 and spark_catalog.s.t.c = 3
----
select * from s.t as x where x.a = 1 and t.b = 2
----
select * from t where a = case when b = 1 and c = 2 then 3 else 4 end and d = 5
----
select * from t where not (a = 1 and b = 2) and c = 3
----
select * from t where a = 1 and not b = 2 and c = 3
----
select * from t where a = 1 = b and c = 2
----
select * from t where a = 1 + 1 and b = 2 * 3 and c = 4
----
select * from t where a = 'it''s' and b = "x" and c = r'\n'
----
select * from t where a = 'x' 'y' and b = 3
----
select * from t where a like 'x' and b rlike 'y' and c in (1) and d not in (2)
----
select * from t where a & 1 = 1 and b | 2 = 3 and c = 4
----
select * from t where a >= 1 and a<=2 and a<>3 and a!=4 and b=-5
----
select * from t where a > 1 and (select max(b) from u where c = 1 and d = 2) = 3
----
select * from t where a = 1 AND b = 2 && c = 3
----
select * from t where a = 1 || b = 2
----
select * from t where a[0] = 1 and b.c = 2 and d:e = 3 and f = 4
----
select * from t where a is true and b is not false and c is unknown and d is distinct from 3
----
select * from t where a = null and b = 1L and c = 1e3 and d = interval 1 day
----
select * from t where exists (select 1 from u where b = 1) and a = 1
----
select * from t where ! a = 1 and b = 2
----
select * from t where a between symmetric 1 and 2 and b = 3
----
select * from t where a = any (select 1) and b = 1
----
select * from t where a ilike all ('x', 'y') and b = 1
----
select sql.a from sql, current where current.x = 1
----
select * from t as `left` left join u on true
----
select * from left join u on true
----
select * from `left` join u on true
----
select * from t offset 3
----
select * from t limit 3
----
select * from values
----
select * from (select * from t limit 3) x full join y on true
----
select count(distinct a), max(struct(a, b)) from t x where x.a in (values (1), (2))
----
select * from t where a in (table u)
----
select * from t where exists (from u select a)
----
select * from t where a = (from u |> select max(a))
----
select array(select a from t)
----
select f(select a from t)
----
select * from a join b on a.x = b.x, c join d using (y)
----
select * from a, b where a.x = b.x union select * from c, d order by 1
----
select named_window.a from named_window window w as (order by a)
----
select * from t lateral
----
select * from t watermark
----
select * from t changes from version 1 to version 3
----
select a from t qualify row_number() over (partition by a order by b) = 1
----
select *, a from t join u qualify rank() over w = 1 window w as (order by a)
----
reduce a using 'cat' from t
----
map a, b using 'cat' from t
----
select a.from from a
----
select 1 as from_, 2 as `join` from t
----
select $$from x$$ from t
----
select * from t cross apply u
----
select timestampdiff(day, a, b), dateadd(month, 1, c) from t
----
select a from t where b = date'2024-01-01' and c = timestamp'2024-01-01 10:00:00'
----
from t as x join u as y using (a) |> where x.a = 1 |> select x.b
----
from t |> call_me
----
select * from t nearest by distance(a, b) join u
----
select try_cast(a as int), nvl(b, (select 1 from u)) from t
----
select * from json.t, text.`a`, avro.`x/y` z
----
select * from information_schema.tables
----
select * from system.information_schema.tables, system.session.v
----
select * from t_1, _t, t$x
----
select * from 1t, t2
----
select * from öl, straße.größe
----
select * from 表
