-- The key tells a changed row from a new one, in differences and merges.
{{ config(materialized='table', primary_key='id') }}

select id, ordered_on, customer, amount
from {{ ref('raw_orders') }}
where customer is not null
