{#- Who may read a repository is a matter of the place where it lies. -#}
{% macro vcs__apply_grants(relation, grant_config, should_revoke=True) -%}
  {%- if grant_config -%}
    {%- do exceptions.warn(
      "The grants of " ~ relation ~ " are not applied: a repository has no users of its own. "
      ~ "Set permissions where it lies, and remove the config grants."
    ) -%}
  {%- endif -%}
{%- endmacro %}
