select
    origin,
    time_hour as observed_hour,
    temp as temperature_f,
    wind_speed as wind_mph,
    precip as rain_inches,
    visib as visibility_miles
from {{ source('raw', 'weather') }}
