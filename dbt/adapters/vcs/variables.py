"""Environment variables that dbt-vcs reads beside those of Spark, Java and the object stores."""

from __future__ import annotations

from typing import Final

REPOSITORY: Final = "DBT_VCS_REPOSITORY"
"""The repository of the command `dbt-vcs`, if `--repository` is not given."""

AUTHOR: Final = "DBT_VCS_AUTHOR"
"""Who commits and moves branches, for dbt and the command alike; else the name of the user."""

PROJECT_DIR: Final = "DBT_PROJECT_DIR"
"""As for dbt: the project's folder, if `--project-dir` is not given."""

PROFILES_DIR: Final = "DBT_PROFILES_DIR"
"""As for dbt: the folder of `profiles.yml`, if `--profiles-dir` is not given."""

PROFILE: Final = "DBT_PROFILE"
"""As for dbt: the profile, if `--profile` is not given; else the one that the project names."""

TARGET: Final = "DBT_TARGET"
"""As for dbt: the target, if `--target` is not given; else the profile's own."""
