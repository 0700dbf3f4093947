{# Each is answered by the nearest dialect that has it. #}
{% macro nearest() %}{{ return(adapter.dispatch('nearest', 'audit')()) }}{% endmacro %}
{% macro vcs__nearest() %}{{ return('vcs') }}{% endmacro %}
{% macro spark__nearest() %}{{ return('spark') }}{% endmacro %}
{% macro default__nearest() %}{{ return('default') }}{% endmacro %}

{% macro sparks() %}{{ return(adapter.dispatch('sparks', 'audit')()) }}{% endmacro %}
{% macro spark__sparks() %}{{ return('spark') }}{% endmacro %}
{% macro default__sparks() %}{{ return('default') }}{% endmacro %}

{% macro anybodys() %}{{ return(adapter.dispatch('anybodys', 'audit')()) }}{% endmacro %}
{% macro default__anybodys() %}{{ return('default') }}{% endmacro %}
{% macro postgres__anybodys() %}{{ return('postgres') }}{% endmacro %}
