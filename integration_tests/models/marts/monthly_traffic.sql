{{
    config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by=['flight_month']
    )
}}

select
    origin,
    carrier,
    count(*) as flights,
    count_if(is_cancelled) as cancelled_flights,
    sum(distance_miles) as miles_scheduled,
    date_format(flight_date, 'yyyy-MM') as flight_month
from {{ ref('stg_flights') }}
where flight_date <= date '{{ var("loaded_until") }}'
{% if is_incremental() %}
  {# The last month may have been loaded in part: recompute it. #}
  and date_format(flight_date, 'yyyy-MM') >= (select coalesce(max(flight_month), '') from {{ this }})
{% endif %}
group by origin, carrier, date_format(flight_date, 'yyyy-MM')
