select * from {{ ref('int_flights') }}
