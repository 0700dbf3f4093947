{#- Run a verb of the dbt-vcs command and log its output; the other operations call this. They also
    pass arguments that are not in their signature: the verb refuses those it doesn't know. -#}
{% macro vcs_verb(verb, arguments, others={}) %}
  {{ return(adapter.dispatch('vcs_verb', 'dbt')(verb, dict(arguments, **others))) }}
{% endmacro %}

{% macro default__vcs_verb(verb, arguments) %}
  {% for line in adapter.vcs_verb(verb, arguments) %}
    {% do log(line, info=true) %}
  {% endfor %}
{% endmacro %}
