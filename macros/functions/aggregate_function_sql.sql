{% macro vcs__aggregate_function_sql(target_relation) %}
    {{ exceptions.raise_compiler_error(
      "Spark's SQL functions can't aggregate: write " ~ model.name ~ " in Python, as a class with "
      ~ "accumulate and finish, or make the expression a macro."
    ) }}
{% endmacro %}
