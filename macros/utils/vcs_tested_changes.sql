{#- The changes that a test on a difference checks, as text to follow `from`. -#}
{% macro vcs_tested_changes(model, compared_to, columns=none) %}
  {% do return(
    snapshot_diff(
      model, from=compared_to, shape='changes', columns=columns, where=config.get('where')
    )
  ) %}
{% endmacro %}
