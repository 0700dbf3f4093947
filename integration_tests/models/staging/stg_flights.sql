select
    concat_ws('-', carrier, flight, date_format(time_hour, 'yyyyMMddHH')) as flight_id,
    make_date(cast(year as int), cast(month as int), cast(day as int)) as flight_date,
    carrier,
    cast(flight as int) as flight_number,
    tailnum as tail_number,
    origin,
    dest,
    time_hour as scheduled_hour,
    cast(distance as int) as distance_miles,
    cast(dep_delay as int) as departure_delay,
    cast(arr_delay as int) as arrival_delay,
    cast(air_time as int) as air_minutes,
    dep_time is null as is_cancelled
from {{ source('raw', 'flights') }}
