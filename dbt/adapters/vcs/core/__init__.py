"""The version-control core: knows neither dbt nor Spark nor SQL."""
