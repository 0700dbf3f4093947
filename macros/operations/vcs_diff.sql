{#- Show how two commits, or two versions of a table, differ: revisions as `a..b`, `a...b` or `a b`.
    -#}
{% macro vcs_diff(
    revisions=none, relation=none, output=none, columns=none, shape=none, limit=none
) %}
  {{
    return(
      adapter.dispatch('vcs_diff', 'dbt')(revisions, relation, output, columns, shape, limit, **kwargs)
    )
  }}
{% endmacro %}

{% macro default__vcs_diff(revisions, relation, output, columns, shape, limit) %}
  {% do vcs_verb('diff', {
    'revisions': revisions, 'relation': relation, 'output': output, 'columns': columns,
    'shape': shape, 'limit': limit
  }, kwargs) %}
{% endmacro %}
