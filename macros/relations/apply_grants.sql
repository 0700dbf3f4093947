{#- Access to a repository is controlled by the storage that it is in. -#}
{% macro vcs__apply_grants(relation, grant_config, should_revoke=True) -%}
  {%- if grant_config -%}
    {%- do exceptions.warn(
      "The grants of " ~ relation ~ " are not applied: a repository has no user accounts. "
      ~ "Set permissions on its storage, and remove the config grants."
    ) -%}
  {%- endif -%}
{%- endmacro %}
