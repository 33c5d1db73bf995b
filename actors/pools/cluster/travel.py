"""What travels to the nodes of a cluster: this program, so that all run the same one, and the user's modules."""

import os
import pathlib
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from actors.job import Job
from actors.pools.environment import ROOT
from env.errors import UsageError
from env.importing import is_by_path

OURS = [str(pathlib.Path(ROOT, name)) for name in ("env", "actors", "ppo", "tuninglaw.py")]
INSTALLED = {"site-packages", "dist-packages"}
"""Names of directories of installed packages, in whichever environment, or on a path that a cluster's modules set."""
EXCLUDED = ["runs", "archive.bin", "checkpoint.npz"]
"""Results of runs, which lie in a working directory beside modules and the data that those may read."""


def sent(job: Job) -> Job:
    """Returns the job as it is sent: files are named from the working directory, which lies elsewhere on a node."""
    here = f"{os.getcwd()}{os.sep}"
    env, sampler = (name.replace(here, f".{os.sep}") for name in (job.problem.env, job.sampler))
    return replace(job, problem=replace(job.problem, env=env), sampler=sampler, profile=None)


def runtime_env(job: Job) -> dict[str, Any]:
    """Returns what Ray is to bring to each node.

    Where a module that is loaded lies in the working directory, that directory travels; any other module that is not
    installed travels alone, as the package or file that it belongs to. What is installed does not travel, nor what is
    compiled; the main program does not either, since what it defines is sent by value, nor a file that was imported by
    its path for another job.

    Raises:
        UsageError: a file that is named by its path lies elsewhere.
    """
    base = pathlib.Path.cwd().resolve()
    named = _named(job)
    inside, outside = False, set[str]()
    for name, file in _loaded():
        if file.is_relative_to(base):
            inside = True
        elif is_by_path(name, given := pathlib.Path(str(sys.modules[name].__file__))):
            if given in named:
                raise UsageError(
                    f"--backend ray: {file} lies outside the working directory, which is what travels to the nodes; "
                    f"begin in the directory of {file.name}"
                )
        elif (root := _root_of(name, file)).is_dir() or root.suffix == ".py":  # Ray takes nothing else
            outside.add(str(root))
    travelling = {"py_modules": [*OURS, *sorted(outside)], "excludes": EXCLUDED}
    return travelling | {"working_dir": str(base)} if inside else travelling


def _named(job: Job) -> set[pathlib.Path]:
    """Returns the files that a job names by their paths, of which each stands before a colon."""
    words = re.split(r"[\s,:'\"]+", f"{job.problem.env} {job.problem.env_kwargs} {job.sampler}")
    return {pathlib.Path(word).absolute() for word in words if word.endswith(".py")}


def _loaded() -> Iterator[tuple[str, pathlib.Path]]:
    """Yields names and files of the loaded modules that belong neither to this program nor to what is installed."""
    homes = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    installed = [pathlib.Path(home).resolve() for home in [*OURS, *filter(None, homes)]]
    for name, module in list(sys.modules.items()):
        found = getattr(module, "__file__", None)
        if module is sys.modules["__main__"] or not isinstance(found, str):  # multiprocessing has another name for it
            continue
        file = pathlib.Path(found).resolve()
        if not INSTALLED.isdisjoint(file.parts) or any(file.is_relative_to(home) for home in installed):
            continue
        if file.is_file():
            yield name, file


def _root_of(name: str, file: pathlib.Path) -> pathlib.Path:
    """Returns the package, with or without an ``__init__.py``, or else the file, that a module belongs to."""
    top = sys.modules.get(name.partition(".")[0])
    places = [pathlib.Path(place).resolve() for place in getattr(top, "__path__", ())]
    return next((place for place in places if file.is_relative_to(place)), file)
