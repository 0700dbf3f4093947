{{ config(incremental_strategy='append') }}
{{ ledger.empty_table('dbt_run_results') }}
