"""The methods that ``ppo.compare`` knows: what they are, where they are, what they need."""

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from env.errors import UsageError, nearest


@dataclass(frozen=True)
class Method:
    """A rival, by its place, so that nothing is imported before it runs.

    Attributes:
        place: module in this folder, and name of the function in it.
        what: what it is, in words.
        advice: what to do where it is best.
        packages: packages of the extra ``compare`` that it needs.
        most: evaluations up to which its time is bearable; None for any number.
    """

    place: str
    what: str
    advice: str
    packages: tuple[str, ...] = ()
    most: int | None = None

    def load(self) -> Any:
        """Imports and returns the rival."""
        module, name = self.place.split(":")
        return getattr(importlib.import_module(f"ppo.experiments.rivals.{module}"), name)


METHODS = {
    "law": Method("law:law", "this program with its defaults", "train a law"),
    "gp": Method(
        "gp:gp",
        "a Gaussian process over knobs and conditions (BoTorch), its kernel and warp chosen by marginal likelihood, "
        "whose mean is minimised at each query",
        "use a Gaussian process",
        ("botorch",),
        2000,
    ),
    "surrogate": Method(
        "surrogate:surrogate",
        "four small networks that learn f from a Latin hypercube and eight rounds, whose mean is minimised at each "
        "query",
        "use a neural surrogate",
    ),
    "cma-es": Method(
        "cma_es:cma_es",
        "some conditions solved by CMA-ES, each from the best of other solved ones' knobs; between them splines, or "
        "the nearest one's knobs",
        "solve some conditions and interpolate",
        ("cma",),
    ),
    "differential-evolution": Method(
        "differential_evolution:differential_evolution",
        "the same with SciPy's differential evolution",
        "solve some conditions and interpolate",
    ),
    "law+polish": Method(
        "law:law_and_polish",
        "the law, and at each query a search near to its knobs on f itself, as Law.polish does it",
        "solve each query",
    ),
}
"""All methods by name, in the order in which they are shown."""


def check_methods(names: Sequence[str]) -> None:
    """Checks that methods are known, named once, and have what they need.

    Raises:
        UsageError: otherwise.
    """
    for name in names:
        if name not in METHODS:
            known = ", ".join(METHODS)
            raise UsageError(f"--methods {name}: unknown{nearest(name, METHODS)}; known are {known}")
    if len(set(names)) < len(names) or not names:
        raise UsageError(f"--methods {' '.join(names) or 'is empty'}: name one or several, each once")
    missing = [name for name in names if not all(map(installed, METHODS[name].packages))]
    if missing:
        packages = ", ".join(sorted({package for name in missing for package in METHODS[name].packages}))
        others = " ".join(name for name in names if name not in missing)
        leave = f", or leave {'it' if len(missing) == 1 else 'them'} out: --methods {others}" if others else ""
        raise UsageError(f"--methods {' '.join(missing)}: needs {packages}; pip install 'tuninglaw[compare]'{leave}")


def installed(package: str) -> bool:
    """Returns whether a package is installed."""
    return importlib.util.find_spec(package) is not None
