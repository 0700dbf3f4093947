select
    faa as airport,
    replace(name, '\\', '') as airport_name,
    cast(lat as double) as latitude,
    cast(lon as double) as longitude,
    cast(alt as int) as altitude_feet,
    tzone as time_zone
from {{ source('raw', 'airports') }}
