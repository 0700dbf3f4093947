-- Two incremental models with different strategies must have the same count.
select
    months.flights as flights_by_month,
    days.flights as flights_by_day
from (select sum(flights) as flights from {{ ref('monthly_traffic') }}) as months
cross join (
    select count(*) as flights
    from {{ ref('stg_flights') }}
    where flight_date <= date '{{ var("loaded_until") }}'
) as days
where months.flights <> days.flights
