{#- Carry out a verb of the dbt-vcs command and log what it says; the other operations call it. -#}
{% macro vcs_verb(verb, arguments) %}
  {{ return(adapter.dispatch('vcs_verb', 'dbt')(verb, arguments)) }}
{% endmacro %}

{% macro default__vcs_verb(verb, arguments) %}
  {% for line in adapter.vcs_verb(verb, arguments) %}
    {% do log(line, info=true) %}
  {% endfor %}
{% endmacro %}
