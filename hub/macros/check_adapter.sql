{#-
  Whether the adapter brings what this package hands on to. A project that also has other targets
  can be parsed with them; a test or model that needs the difference fails when it runs.
-#}
{% macro check_adapter(name) %}
  {% if adapter.type() == 'vcs' %}
    {% do return(true) %}
  {% endif %}
  {% if execute %}
    {% do exceptions.raise_compiler_error(
      "dbt_vcs_diff." ~ name ~ " needs a target of type vcs; the target '" ~ target.name
      ~ "' is of type " ~ adapter.type() ~ ". Choose another target, or leave it out with --exclude."
    ) %}
  {% endif %}
  {% do return(false) %}
{% endmacro %}
