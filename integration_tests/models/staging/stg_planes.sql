select
    tailnum as tail_number,
    cast(year as int) as built_in,
    manufacturer,
    model,
    cast(engines as int) as engines,
    cast(seats as int) as seats
from {{ source('raw', 'planes') }}
