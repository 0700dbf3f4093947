"""Profiles: the repository settings of the dbt project in the current folder, without dbt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.store.opening import is_yes, located
from dbt.adapters.vcs.engines.methods import check_method, with_remote
from dbt.adapters.vcs.yaml_text import load_yaml, setting_text

_HINT = "Set --repository <location> or DBT_VCS_REPOSITORY."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTarget:
    """The settings of one target of a profile.

    Attributes:
        repository: Location, absolute if it is a folder.
        branch: The branch that the target publishes to.
        base: The branch that it is created from while it doesn't exist.
        schema: The schema for unqualified names.
        storage_options: Settings of the object store.
        method: Where rows are computed, one of `engines.methods.METHODS`.
        spark_config: Settings of Spark, the address of a server with its token among them.
        project: Folder of the dbt project.
    """

    repository: str
    branch: str
    base: str
    schema: str
    storage_options: Mapping[str, str]
    method: str
    spark_config: Mapping[str, str] = field(repr=False)
    project: Path


def read_target(settings: Settings) -> ProfileTarget:
    """Return the target that dbt would use here.

    Raises:
        InputError: There is no project, profile or target, or its type is not vcs.
    """
    project = _project_folder(settings)
    name = _profile_name(settings, project)
    path = _profiles_file(settings, project)
    profile = _mapping(_load(path).get(name), f"no profile {name!r} in {path}")
    outputs = _mapping(profile.get("outputs"), f"no outputs in the profile {name!r} of {path}")
    target = (
        settings.profile_target
        or os.environ.get(variables.TARGET)
        or profile.get("target", "default")
    )
    target = str(_render(target, f"target of the profile {name!r}"))
    place = f"the target {target!r} of the profile {name!r} in {path}"
    found = outputs.get(target)
    if not isinstance(found, Mapping):
        known = ", ".join(map(str, outputs)) or "none"
        raise InputError(
            f"There is no target {target!r} in the profile {name!r} of {path}; "
            f"expected one of: {known}."
        )
    return _profile_target(found, place, project)


def target_folder(settings: Settings, target: ProfileTarget | None) -> Path:
    """Return the folder that dbt writes to, of a target's project, else the one given or here.

    Raises:
        InputError: The project's file can't be read, or a variable that it names is not set.
    """
    given = settings.project_dir or os.environ.get(variables.PROJECT_DIR) or "."
    project = target.project if target else Path(given)
    # In dbt's own order: the variable, then the project's setting, then the default.
    said = os.environ.get(variables.TARGET_PATH)
    path = project / "dbt_project.yml"
    if said is None and path.exists():
        said = _render(_load(path).get("target-path"), f"target-path in {path}")
    return project / str(said or "target")


def _profile_target(found: Mapping[Any, Any], place: str, project: Path) -> ProfileTarget:
    type_ = _render(found.get("type"), f"type in {place}")
    if type_ != "vcs":
        raise InputError(f"Found type: {type_} in {place}; expected type: vcs. {_HINT}")
    method = str(_render(found.get("method", "session"), f"method in {place}"))
    # Before host and port, which belong to the method.
    check_method(method)
    # As in the adapter's credentials, so that dbt and the command find one repository.
    repository = str(_render(found.get("repository", "./warehouse"), f"repository in {place}"))
    return ProfileTarget(
        repository=located(repository, project),
        branch=str(_render(found.get("branch", "main"), f"branch in {place}")),
        base=str(_render(found.get("base", "main"), f"base in {place}")),
        schema=str(_render(found.get("schema", "default"), f"schema in {place}")),
        storage_options=_settings(found, "storage_options", place),
        method=method,
        spark_config=_engine_settings(found, place),
        project=project,
    )


def _engine_settings(found: Mapping[Any, Any], place: str) -> dict[str, str]:
    """Return the settings of Spark, with the address of a server."""

    def said(name: str) -> str | None:
        value = _render(found.get(name), f"{name} in {place}")
        return None if value in (None, "") else str(value)

    port = said("port")
    if port is not None and not port.isdigit():
        raise InputError(f"The port in {place} should be a number, found {port!r}.")
    return with_remote(
        _settings(found, "spark_config", place),
        host=said("host"),
        port=None if port is None else int(port),
        token=said("token"),
        user=said("user"),
        use_ssl=is_yes(said("use_ssl") or ""),
    )


def _settings(found: Mapping[Any, Any], name: str, place: str) -> dict[str, str]:
    given = found.get(name) or {}
    if not isinstance(given, Mapping):
        raise InputError(f"The {name} in {place} must map names to values.")
    return {
        str(key): setting_text(_render(value, f"{name}.{key} in {place}"))
        for key, value in given.items()
    }


def _project_folder(settings: Settings) -> Path:
    given = settings.project_dir or os.environ.get(variables.PROJECT_DIR)
    here = Path.cwd()
    folders = [Path(given).expanduser()] if given else [here, *here.parents]
    for folder in folders:
        if (folder / "dbt_project.yml").is_file():
            return folder.resolve()
    where = f"in {given}" if given else f"in {here} or above it"
    raise InputError(f"There is no dbt project {where}, so no profile names a repository. {_HINT}")


def _profile_name(settings: Settings, project: Path) -> str:
    given = settings.profile or os.environ.get(variables.PROFILE)
    if given:
        return given
    path = project / "dbt_project.yml"
    found = _load(path).get("profile")
    if not found:
        raise InputError(f"{path} names no profile. Give --profile. {_HINT}")
    return str(_render(found, f"profile in {path}"))


def _profiles_file(settings: Settings, project: Path) -> Path:
    given = settings.profiles_dir or os.environ.get(variables.PROFILES_DIR)
    # dbt looks in the first two; the project's own folder is for calls from elsewhere.
    folders = [Path(given).expanduser()] if given else [Path.cwd(), Path.home() / ".dbt", project]
    for folder in folders:
        if (folder / "profiles.yml").is_file():
            return (folder / "profiles.yml").resolve()
    looked = " or ".join(str(folder) for folder in folders)
    raise InputError(f"There is no profiles.yml in {looked}. {_HINT}")


def _load(path: Path) -> Mapping[Any, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"Can't read {path}: {reason}.") from error
    found = load_yaml(text, str(path))
    return _mapping({} if found is None else found, f"no mapping in {path}")


def _mapping(value: Any, missing: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"There is {missing}. {_HINT}")
    return value


def _render(value: Any, place: str) -> Any:
    """Return a value with `{{ env_var(...) }}` filled in; values that aren't text are unchanged.

    `place` describes the value in messages; the text itself is never repeated, because it may
    contain a secret.

    Raises:
        InputError: A variable is not set and has no default, or the text uses other Jinja
            features.
    """
    if not isinstance(value, str) or "{" not in value:
        return value
    # Most profiles don't need it, and it is slower to import than the rest of the command.
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    # Strict, since a misspelt name should be an error and no empty text.
    environment = SandboxedEnvironment(undefined=StrictUndefined)
    environment.globals["env_var"] = partial(_env_var, place)
    # dbt's filters; here every value becomes a text afterwards.
    for name in ("as_text", "as_bool", "as_number", "as_native"):
        environment.filters[name] = lambda value: value
    try:
        return environment.from_string(value).render()
    except TemplateError as error:
        # Without the cause: its traceback would show the text, which may hold a secret.
        raise InputError(
            f"The {place} can't be rendered: {error.message}. Outside dbt, only env_var() is "
            "supported there. Use --repository instead."
        ) from None


def _env_var(place: str, name: str, default: Any = None) -> str:
    found = os.environ.get(name, default)
    if found is None:
        raise InputError(
            f"The environment variable {name!r} is not set, and the {place} has no default for "
            "it. Set it, or use --repository."
        )
    return str(found)
