"""Where the package's macros lie, and the project to start from."""

from pathlib import Path

_HERE = Path(__file__).parent

PACKAGE_PATH = str(_HERE if (_HERE / "dbt_project.yml").is_file() else _HERE.parents[2])
"""The dbt package `dbt_vcs`: this folder in an installed wheel, else the checkout's root."""

STARTER_PROJECT = _HERE / "starter_project"
"""What `dbt-vcs init --project` writes."""
