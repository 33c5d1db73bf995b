"""What travels to the nodes of a cluster: this program, so that all run the same one, and the user's modules."""

import pathlib
import site
import sys
import sysconfig
from collections.abc import Iterator
from typing import Any

from actors.pools.environment import ROOT
from env.errors import UsageError
from env.importing import is_by_path

OURS = [str(pathlib.Path(ROOT, name)) for name in ("env", "actors", "ppo", "tuninglaw.py")]
EXCLUDED = ["runs", "archive.bin", "*.npz"]
"""What lies in a working directory beside modules: results of runs, above all."""


def runtime_env() -> dict[str, Any]:
    """Returns what Ray is to bring to each node.

    Where a module that is loaded lies in the working directory, that directory travels; any other module that is not
    installed travels alone, as the package or file that it belongs to. What is installed does not travel.

    Raises:
        UsageError: a file that was imported by its path lies elsewhere.
    """
    base = pathlib.Path.cwd().resolve()
    inside, outside = False, set[str]()
    for name, file in _loaded():
        if file.is_relative_to(base):
            inside = True
        elif is_by_path(name, pathlib.Path(str(sys.modules[name].__file__))):
            raise UsageError(
                f"--backend ray: {file} lies outside the working directory, which is what travels to the nodes; begin "
                f"in the directory of {file.name}"
            )
        else:
            outside.add(_root_of(name, file))
    travelling = {"py_modules": [*OURS, *sorted(outside)], "excludes": EXCLUDED}
    return travelling | {"working_dir": str(base)} if inside else travelling


def _loaded() -> Iterator[tuple[str, pathlib.Path]]:
    """Yields names and files of the loaded modules that belong neither to this program nor to what is installed."""
    homes = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")}
    homes |= {*site.getsitepackages(), site.getusersitepackages()}
    installed = [pathlib.Path(home).resolve() for home in [*OURS, *filter(None, homes)]]
    for name, module in list(sys.modules.items()):
        found = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(found, str):
            continue
        file = pathlib.Path(found).resolve()
        if file.is_file() and not any(file.is_relative_to(home) for home in installed):
            yield name, file


def _root_of(name: str, file: pathlib.Path) -> str:
    """Returns the package, or else the file, that a module belongs to."""
    top = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
    whole = pathlib.Path(top).resolve() if isinstance(top, str) else file
    return str(whole.parent if whole.name == "__init__.py" else whole)
