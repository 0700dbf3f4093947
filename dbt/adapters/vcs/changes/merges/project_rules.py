"""Rules: a project's `vcs.yml`, about its branches, merges and exports."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from dbt.adapters.vcs.changes.diffs.row_facts import ColumnPatterns
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, OnStale, Policy
from dbt.adapters.vcs.changes.merges.hook_rules import HookRules, read_hooks
from dbt.adapters.vcs.core.branches import DEMANDS, Protection
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.sql.syntax.conditions import check_condition, condition_tree
from dbt.adapters.vcs.yaml_text import check_keys, load_yaml, mapping_at, setting_text

FILE: Final = "vcs.yml"
"""Name of the file, beside `dbt_project.yml`."""

_NOUNS: Final = {
    "branches": "branch",
    "export": "branch",
    "relations": "relation",
    "contracts": "relation",
    "on": "branch",
}

TOP: Final[Mapping[str, str]] = {
    "on_conflict": "What merges do if both sides changed a row and nothing more specific is "
    "set: `fail` (default), `skip`, `accept`, `cell`, `cell_skip` or `cell_accept`.",
    "on_stale": "What publishing a run does if its target moved, so that a table which the run "
    "built no longer follows from what the target shows: `heal` (default) computes these tables "
    "again on what the target shows, `warn` publishes and says so, `fail` keeps the run.",
    "relations": "Rules for single relations, by `schema.table`.",
    "contracts": "What changes of relations may do, by `schema.table` or pattern; checked when "
    "something is merged into the default branch or a protected one. All that match apply.",
    "export": "Branches whose tables other engines read from files, by name or pattern, each with "
    "the format, `iceberg`, or with what is below.",
    "on": "What to call when branches moved, or when that failed, by event.",
    "openlineage": "`true`: tell OpenLineage of runs and merges; its client's own settings say "
    "where.",
    "review": "Columns whose values stay out of reviews, which more people read than the rows.",
    "branches": "Rules for branches, by name or pattern (`*`, `?`, `[...]`); the first match "
    "applies.",
}
"""What the file may say, and what it means."""

OF_REVIEW: Final[Mapping[str, str]] = {
    "hide": "Columns that reviews leave out, a list of patterns `schema.table.column` (`*`, `?`, "
    "`[...]`).",
    "mask": "Columns that reviews show without their values, likewise.",
}
"""What it may say of reviews."""

OF_RELATION: Final[Mapping[str, str]] = {
    "on_conflict": "The same for this relation; takes precedence over the model's config.",
}
"""What it may say of a relation."""

OF_BRANCH: Final[Mapping[str, str]] = {
    "protected": "`true`: the branch accepts only promotions.",
    "require": "What a promotion requires, a list of: `tests`, tests that passed on exactly the "
    "promoted versions; `fresh`, no table that becomes stale; `approval`, somebody's `dbt-vcs "
    "approve` of the promoted commit. Needs `protected: true`.",
}
"""What it may say of branches."""


OF_CONTRACT: Final[Mapping[str, str]] = {
    "freeze": "`true`: nothing of the relation may change.",
    "no_removed": "`true`: no row may be removed.",
    "max_change_ratio": "Largest share of the rows that may change: `0.1` is ten percent.",
    "max_rows": "Most rows that may change.",
    "only_columns": "A list: only these columns may differ; no row may come or go.",
    "expression": "A condition that must not be false for an added or modified row: comparisons "
    "of columns with constants, joined by `and`, `or`, `not`.",
    "schema": "`additive`: columns may be added, but not dropped, renamed or given another type, "
    "unless that holds all values of the old one.",
}
"""What `vcs.yml` may say in a contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRule:
    """A rule for what has a name that matches a pattern (`*`, `?`, `[...]`)."""

    pattern: str

    def fits(self, name: str) -> bool:
        """Return whether the rule is for a name."""
        # Not `fnmatch`, which ignores case on Windows.
        return fnmatchcase(name, self.pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract(NameRule):
    """What a change of relations may do; the pattern is one of `schema.identifier`, lower case.

    Attributes:
        rules: The values by the names of `OF_CONTRACT`, as the file has them.
    """

    rules: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRule(NameRule):
    """The protection of branches."""

    protection: Protection


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one project.

    Attributes:
        policy: Modes of merges.
        branches: Protections; the first that matches a branch's name applies.
        exports: How branches are exported whenever they move; the first that fits applies.
        on_stale: What publishing does about tables that no longer follow from what is shown.
        review: Columns that stay out of reviews.
        contracts: What changes may do; all that fit a relation apply.
        hooks: What is called when branches moved.
    """

    policy: Policy = field(default_factory=Policy)
    branches: tuple[BranchRule, ...] = ()
    exports: tuple[ExportRule, ...] = ()
    on_stale: OnStale = OnStale.HEAL
    review: ColumnPatterns = field(default_factory=ColumnPatterns)
    contracts: tuple[Contract, ...] = ()
    hooks: HookRules = field(default_factory=HookRules)

    def contracts_on(self, repository: Repository, branch: str) -> tuple[Contract, ...]:
        """Return the contracts that changes of a branch must keep to; none on a working branch."""
        if not self.contracts:
            return ()
        found = repository.find_branch(branch)
        is_protected = found is not None and found.protection is not None
        is_guarded = is_protected or self.protection_of(branch) is not None
        return self.contracts if is_guarded or branch == repository.default_branch else ()

    def unmatched(self, branches: Collection[str], relations: Collection[str]) -> Iterator[str]:
        """Yield a sentence about each name or pattern of the file that matches nothing.

        Args:
            relations: All relations of a branch, `schema.identifier`.
        """
        relations = [name.lower() for name in relations]
        named = [("branches", rule.pattern, branches) for rule in self.branches]
        named += [("export", rule.pattern, branches) for rule in self.exports]
        named += [("relations", str(name), relations) for name in self.policy.relations]
        named += [("contracts", item.pattern, relations) for item in self.contracts]
        named += [(*item, branches) for item in self.hooks.named_branches()]
        for key, pattern, known in named:
            if not any(fnmatchcase(name, pattern) for name in known):
                near = difflib.get_close_matches(pattern, known, n=1)
                hint = f" Did you mean {near[0]}?" if near else ""
                noun = _NOUNS[key.partition(".")[0]]
                yield f"{key}.{pattern} in {FILE} matches no {noun}.{hint}"

    def export_of(self, branch: str) -> ExportRule | None:
        """Return how other engines read a branch from files; None if they don't."""
        return next((rule for rule in self.exports if rule.fits(branch)), None)

    def protection_of(self, branch: str) -> Protection | None:
        """Return the protection of a branch, or None."""
        return next((rule.protection for rule in self.branches if rule.fits(branch)), None)

    def apply(self, repository: Repository, branch: str, *, author: str) -> None:
        """Store a branch's protection on the branch, so that it binds every writer.

        An existing protection is not removed: `dbt-vcs branch unprotect` does that.
        """
        repository.ensure_protection(branch, self.protection_of(branch), author=author)

    def check_open(self, repository: Repository, branch: str) -> None:
        """Check that a branch will accept direct changes once `apply` was called; change nothing.

        Raises:
            ProtectedError: It will only take promotions.
        """
        found = repository.find_branch(branch)
        if found is not None:
            found.assuming(self.protection_of(branch)).check_open(promotes=False)


def read_rules(folder: Path) -> Rules:
    """Read the rules of the project in a folder; no rules if it has no `vcs.yml`.

    Raises:
        InputError: The file is not YAML, or has unknown keys or values.
    """
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Rules()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Can't read {path}: {error}.") from error
    found = load_yaml(text, str(path))
    if isinstance(found, dict) and True in found:
        # YAML 1.1 reads the name `on` as true.
        found["on"] = found.pop(True)
    top = mapping_at({} if found is None else found, str(path))
    check_keys(top, TOP, str(path))
    return Rules(
        policy=_policy(top, path),
        branches=_branches(top.get("branches"), path),
        exports=read_exports(top.get("export"), str(path)),
        on_stale=OnStale.of(top.get("on_stale", "heal"), f"on_stale in {path}"),
        review=_review(top.get("review"), path),
        contracts=_contracts(top.get("contracts"), str(path)),
        hooks=read_hooks(top, path),
    )


def _policy(top: Mapping[str, Any], path: Path) -> Policy:
    modes: dict[RelationName, Mode] = {}
    for name, value in mapping_at(top.get("relations") or {}, f"relations in {path}").items():
        where = f"relations.{name} in {path}"
        schema, dot, identifier = name.lower().partition(".")
        if not (schema and dot and identifier):
            raise InputError(f"Found {name!r} under relations in {path}; expected schema.table.")
        given = mapping_at(value, where)
        check_keys(given, OF_RELATION, where)
        if "on_conflict" in given:
            modes[RelationName(schema, identifier)] = Mode.of(given["on_conflict"], where)
    default = Mode.of(top.get("on_conflict", "fail"), f"on_conflict in {path}")
    return Policy(relations=modes, default=default)


def _review(given: Any, path: Path) -> ColumnPatterns:
    where = f"review in {path}"
    rule = mapping_at(given or {}, where)
    check_keys(rule, OF_REVIEW, where)
    patterns = {name: rule.get(name) or [] for name in OF_REVIEW}
    for name, items in patterns.items():
        is_list = isinstance(items, list) and all(isinstance(item, str) for item in items)
        # A pattern of another form would match nothing, and show what it should hide.
        if not is_list or any(item.count(".") != 2 for item in items):
            raise InputError(
                f"Found {name}: {items!r} under {where}; expected a list of patterns such as "
                "shop.orders.email or *.*.email."
            )
    return ColumnPatterns(hide=tuple(patterns["hide"]), mask=tuple(patterns["mask"]))


def _branches(given: Any, path: Path) -> tuple[BranchRule, ...]:
    rules: list[BranchRule] = []
    for pattern, value in mapping_at(given or {}, f"branches in {path}").items():
        where = f"branches.{pattern} in {path}"
        rule = mapping_at(value, where)
        check_keys(rule, OF_BRANCH, where)
        protected, require = rule.get("protected", False), rule.get("require") or []
        if not isinstance(protected, bool):
            raise InputError(f"Found protected: {protected!r} in {where}; expected true or false.")
        if isinstance(require, str):
            require = [require]
        unknown = [item for item in require if item not in DEMANDS]
        if unknown or not isinstance(require, list):
            raise InputError(
                f"Found require: {require!r} in {where}; expected a list out of: "
                f"{', '.join(DEMANDS)}."
            )
        if require and not protected:
            raise InputError(f"{where} says require without protected: true. Add that.")
        if protected:
            rules.append(BranchRule(pattern=pattern, protection=Protection(tuple(require))))
    return tuple(rules)


EXPORT_FORMATS: Final = ("iceberg",)
"""The formats that branches are exported in."""

OF_EXPORT: Final[Mapping[str, str]] = {
    "format": "`iceberg`, the default. `main: iceberg` is short for `main: {format: iceberg}`.",
    "format_version": "Iceberg's format version: `2`, the default, or `3`, in which deleted rows "
    "are deletion vectors. Fewer engines read it.",
    "catalog": "A catalog in which the tables are registered after each export, and views where "
    "it can: a name that PyIceberg's configuration knows, or `name` with `type`, `uri` and "
    "further properties of PyIceberg, without credentials.",
    "catalog.namespace": "The catalog's namespace for a schema: a text with `{schema}` "
    "(default), and `{branch}` if the rule is for several branches.",
}
"""What the file may say of exports."""

FORMAT_VERSIONS: Final = (2, 3)
"""The versions of the format that tables are exported in; the first is the default."""

_NAMESPACE: Final = "{schema}"
# The file is committed with the project, so whatever may be a secret has to stay out of it.
_SECRET: Final = re.compile(r"secret|password|token|credential|access-key", re.IGNORECASE)
_PASSWORD: Final = re.compile(r"://[^/@]*:[^/@]*@")
# A name becomes part of the names of environment variables, in which PyIceberg reads `_` as `-`.
_NAME: Final = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTarget:
    """A catalog in which exported tables are registered.

    Attributes:
        name: Its name in PyIceberg's configuration, in files and variables.
        namespace: The namespace of a schema, with `{schema}` and possibly `{branch}`.
    """

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)
    namespace: str = _NAMESPACE

    @property
    def digest(self) -> str:
        """A digest of what it is besides its name: another one is another catalog."""
        # Properties in another order make the same catalog.
        told = json.dumps([dict(self.properties), self.namespace], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def namespace_of(self, branch: str, schema: str) -> tuple[str, ...]:
        """Return the namespace of a schema; characters that catalogs don't take become `_`."""
        # A dot would divide the namespace, and a branch may have dots and slashes.
        plain = re.sub(r"[^A-Za-z0-9_]", "_", branch)
        shown = self.namespace.replace("{branch}", plain).replace(_NAMESPACE, schema)
        return tuple(shown.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRule(NameRule):
    """How branches are exported.

    Attributes:
        format_version: Version of Iceberg's format.
        catalog: Where the tables are registered; None for nowhere.
    """

    format_version: int = FORMAT_VERSIONS[0]
    catalog: CatalogTarget | None = None


def read_exports(given: Any, path: str) -> tuple[ExportRule, ...]:
    """Return the rules that a file has under `export`.

    Raises:
        InputError: A key or a value is none of those expected.
    """
    return tuple(
        _rule(pattern, value, f"export.{pattern} in {path}")
        for pattern, value in mapping_at(given or {}, f"export in {path}").items()
    )


def _rule(pattern: str, value: Any, where: str) -> ExportRule:
    told = mapping_at(value, where) if isinstance(value, Mapping) else {"format": value}
    check_keys(told, [key for key in OF_EXPORT if "." not in key], where)
    format_ = told.get("format", EXPORT_FORMATS[0])
    if format_ not in EXPORT_FORMATS:
        raise InputError(f"Found {format_!r} at {where}; expected {' or '.join(EXPORT_FORMATS)}.")
    version = told.get("format_version", FORMAT_VERSIONS[0])
    if version not in FORMAT_VERSIONS or isinstance(version, bool):
        known = " or ".join(map(str, FORMAT_VERSIONS))
        raise InputError(f"Found format_version: {version!r} at {where}; expected {known}.")
    catalog = _catalog(told.get("catalog"), pattern, where)
    return ExportRule(pattern=pattern, format_version=version, catalog=catalog)


def _catalog(given: Any, pattern: str, where: str) -> CatalogTarget | None:
    if given is None:
        return None
    where = f"catalog of {where}"
    told = {"name": given} if isinstance(given, str) else dict(mapping_at(given, where))
    name, namespace = told.pop("name", None), told.pop("namespace", _NAMESPACE)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"Found the name {name!r} of the {where}; expected letters, digits and hyphens."
        )
    if not isinstance(namespace, str) or _NAMESPACE not in namespace:
        raise InputError(
            f"Found namespace: {namespace!r} of the {where}; expected a text with {{schema}}."
        )
    if "{branch}" not in namespace and re.search(r"[*?\[]", pattern):
        raise InputError(
            f"The {where} is for several branches, whose tables would take each other's place. "
            "Add {branch} to its namespace, as in namespace: '{branch}_{schema}'."
        )
    for key, value in told.items():
        if _SECRET.search(key) or _PASSWORD.search(str(value)):
            variable = f"PYICEBERG_CATALOG__{name}__{key.replace('.', '__')}".replace("-", "_")
            raise InputError(
                f"Found {key!r} of the {where}, which others read, too. Set what is secret in "
                f"the environment instead: {variable.upper()}"
            )
    properties = {key: setting_text(value) for key, value in told.items()}
    return CatalogTarget(name=name, properties=properties, namespace=namespace)


def _contracts(given: Any, path: str) -> tuple[Contract, ...]:
    found = []
    for pattern, value in mapping_at(given or {}, f"contracts in {path}").items():
        where = f"contracts.{pattern} in {path}"
        if "." not in pattern:
            raise InputError(
                f"Found {pattern!r} under contracts in {path}; expected schema.table."
            )
        rules = mapping_at(value, where)
        check_keys(rules, OF_CONTRACT, where)
        for name, limit in rules.items():
            _check_limit(name, limit, where)
        kept = {name: limit for name, limit in rules.items() if limit is not False}
        found.append(Contract(pattern=pattern.lower(), rules=kept))
    return tuple(found)


def _check_limit(name: str, limit: Any, where: str) -> None:
    fits, expected = _LIMITS[name]
    if not fits(limit):
        raise InputError(f"Found {name}: {limit!r} in {where}; expected {expected}.")


def _is_number(limit: Any) -> bool:
    is_plain = isinstance(limit, int | float) and not isinstance(limit, bool)
    return is_plain and math.isfinite(limit) and limit >= 0


def _is_whole(limit: Any) -> bool:
    return isinstance(limit, int) and _is_number(limit)


def _is_names(limit: Any) -> bool:
    return isinstance(limit, list) and all(isinstance(item, str) for item in limit)


def _is_filter(limit: Any) -> bool:
    if not isinstance(limit, str):
        return False
    check_condition(limit, "The expression")
    # Such a condition is checked wherever a merge runs, also without Spark.
    return condition_tree(limit) is not None


_FLAG: Final = (lambda limit: isinstance(limit, bool), "true or false")
_LIMITS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "freeze": _FLAG,
    "no_removed": _FLAG,
    "max_change_ratio": (_is_number, "a number that is not negative, such as 0.1"),
    "max_rows": (_is_whole, "a whole number that is not negative"),
    "only_columns": (_is_names, "a list of columns"),
    "expression": (_is_filter, "comparisons of columns with constants, joined by and, or, not"),
    "schema": (lambda limit: limit == "additive", "additive"),
}
"""What each rule of a contract takes, and how errors call that."""
