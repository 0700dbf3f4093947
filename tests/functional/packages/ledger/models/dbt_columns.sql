{{ config(unique_key='unique_id') }}
{{ ledger.empty_table('dbt_columns') }}
