"""Write a wheel without contents into a folder, in the place of a package that can't be built.

Run by `make dbt-versions` with the folder, the name of the package and a version. Prints the path.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path


def empty_wheel(folder: Path, name: str, version: str) -> Path:
    """Write the wheel and return its path; its form is that of the Wheel specification, 1.0."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


if __name__ == "__main__":
    sys.stdout.write(f"{empty_wheel(Path(sys.argv[1]).resolve(), *sys.argv[2:])}\n")
