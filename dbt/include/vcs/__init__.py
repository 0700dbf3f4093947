"""Where the package's macros lie."""

from pathlib import Path

_HERE = Path(__file__).parent

PACKAGE_PATH = str(_HERE if (_HERE / "dbt_project.yml").is_file() else _HERE.parents[2])
"""The dbt package `dbt_vcs`: this folder in an installed wheel, else the checkout's root."""
