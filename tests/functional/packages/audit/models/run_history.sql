{{ config(materialized='incremental', unique_key='invocation') }}
select invocation, command, at from {{ source('kept', 'invocations') }}
{% if is_incremental() %}
where at >= (select max(at) from {{ this }})
{% endif %}
