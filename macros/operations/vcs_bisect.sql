{#- Find the commit, run and model that broke a condition between a good and a bad revision, by
    default the target's branch. The condition is sql, or the name of a test. -#}
{% macro vcs_bisect(good, bad=none, sql=none, test=none) %}
  {{ return(adapter.dispatch('vcs_bisect', 'dbt')(good, bad, sql, test, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_bisect(good, bad, sql, test) %}
  {% do vcs_verb('bisect', {'good': good, 'bad': bad, 'sql': sql, 'test': test}, kwargs) %}
{% endmacro %}
