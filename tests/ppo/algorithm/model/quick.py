"""Less effort for runs whose bits matter and not how good their laws are."""

from ppo.algorithm.model import ensemble, learner, planning, search, settling, surrogate
from ppo.algorithm.model.settling import Effort

EFFORT = {
    ensemble: {"STEPS": 30},
    learner: {"IMAGINED_SLOTS": 8, "STEPS_A_ROUND": 2, "LAST_STEPS": 2, "PROSPECTS": 8},
    planning: {"CONDITIONS": 8, "SPREAD": 16, "LOCAL": 8},
    search: {"SPREAD": 16, "PRECISE": search.PRECISE | {"maxiter": 5}},
    settling: {"FRESH_CONDITIONS": 32, "QUICK_STEPS": 2},
    surrogate: {"STEPS": 6, "FURTHER_STEPS": 2},
    Effort: dict.fromkeys(("last", "finest", "quick"), classmethod(lambda cls, knobs: cls(16, 5))),
}


def quick(setattr_):
    """Lowers what sets the effort, by ``setattr`` or a monkeypatch's."""
    for owner, values in EFFORT.items():
        for name, value in values.items():
            setattr_(owner, name, value)
