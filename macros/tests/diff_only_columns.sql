{#- Only these columns differ: comparing the others, no row was added, removed or modified. -#}
{% test diff_only_columns(model, columns, compared_to=none) %}
  {{ adapter.dispatch('test_diff_only_columns', 'dbt')(model, columns, compared_to) }}
{% endtest %}

{% macro default__test_diff_only_columns(model, columns, compared_to) %}
  {% set known = adapter.get_columns_in_relation(model) | map(attribute='name') | list %}
  {% set lowered = known | map('lower') | list %}
  {% set allowed = [columns] if columns is string else columns %}
  {% for name in allowed if known and name | lower not in lowered %}
    {% do exceptions.raise_compiler_error(
      "diff_only_columns: there is no column '" ~ name ~ "' in " ~ model.schema ~ '.'
      ~ model.identifier ~ "; the columns are: " ~ known | join(', ') ~ "."
    ) %}
  {% endfor %}
  {% set allowed = allowed | map('lower') | list %}
  {% set others = [] %}
  {% for name in known if name | lower not in allowed %}
    {% do others.append('`' ~ name | replace('`', '``') ~ '`') %}
  {% endfor %}
  {% if others or not known %}

select * from {{ vcs_tested_changes(model, compared_to, columns=others) }}

  {% else %}

select 1 as every_column_may_differ where false

  {% endif %}
{% endmacro %}
