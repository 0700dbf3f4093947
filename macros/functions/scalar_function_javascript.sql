{% macro vcs__scalar_function_javascript(target_relation) %}
    {{ exceptions.raise_compiler_error(
      "Functions in JavaScript are not supported: Spark has no engine for it. Write "
      ~ model.name ~ " in SQL or Python."
    ) }}
{% endmacro %}


{% macro vcs__aggregate_function_javascript(target_relation) %}
    {{ vcs__scalar_function_javascript(target_relation) }}
{% endmacro %}
