{#- Check the repository for missing or damaged files; with data, also read data files, or with
    sample ('1%') a share of them, chosen by seed. -#}
{% macro vcs_fsck(data=false, sample=none, seed=none) %}
  {{ return(adapter.dispatch('vcs_fsck', 'dbt')(data, sample, seed, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_fsck(data, sample, seed) %}
  {% do vcs_verb('fsck', {'data': data, 'sample': sample, 'seed': seed}, kwargs) %}
{% endmacro %}
