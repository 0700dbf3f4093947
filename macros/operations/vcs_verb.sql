{#- Run a verb of the dbt-vcs command and log its output; the other operations call this. -#}
{% macro vcs_verb(verb, arguments) %}
  {{ return(adapter.dispatch('vcs_verb', 'dbt')(verb, arguments)) }}
{% endmacro %}

{% macro default__vcs_verb(verb, arguments) %}
  {% for line in adapter.vcs_verb(verb, arguments) %}
    {% do log(line, info=true) %}
  {% endfor %}
{% endmacro %}
