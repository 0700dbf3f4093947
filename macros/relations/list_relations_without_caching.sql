{#- dbt-spark's; a relation without a schema refers to the session's, as in every statement. -#}
{% macro vcs__list_relations_without_caching(relation) %}
  {%- if relation.schema -%}
    {{ return(spark__list_relations_without_caching(relation)) }}
  {%- endif -%}
  {{ return(run_query("show table extended like '*'")) }}
{% endmacro %}
