{{ config(materialized='incremental', incremental_strategy='append') }}

select
    flight_id,
    flight_date,
    carrier,
    origin,
    dest,
    tail_number,
    air_minutes,
    distance_miles
from {{ ref('stg_flights') }}
where air_minutes is not null
  and flight_date <= date '{{ var("loaded_until") }}'
{% if is_incremental() %}
  and flight_date > (select coalesce(max(flight_date), date '1900-01-01') from {{ this }})
{% endif %}
