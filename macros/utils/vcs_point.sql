{#- A version of a table in the form that `snapshot_diff` in SQL reads: schema.table@version. -#}
{% macro vcs_point(relation, version=none) %}
  {% if version is not none and version is not string and version is mapping %}
    {% do return(vcs_point(version)) %}
  {% endif %}
  {% set parts = [] %}
  {% for part in [relation.schema, relation.identifier] if part %}
    {% set is_plain = modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', part | string) %}
    {% do parts.append(part if is_plain else '`' ~ part | replace('`', '``') ~ '`') %}
  {% endfor %}
  {% do return(parts | join('.') ~ ('' if version is none else '@' ~ version)) %}
{% endmacro %}
