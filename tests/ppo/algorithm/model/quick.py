"""Less effort for runs whose bits matter and not how good their laws are."""

from ppo.algorithm.model import amortise, learner, planning, surrogate

EFFORT = {
    learner: {"IMAGINED_SLOTS": 8, "STEPS_A_ROUND": 2, "LAST_STEPS": 2, "CONDITIONS": 16, "PROSPECTS": 8},
    planning: {"CONDITIONS": 8, "SPREAD": 16, "LOCAL": 8},
    surrogate: {"STEPS": 6, "LAST_STEPS": 2},
    amortise: {"POLISHING": 5},
}
LEARNER_STEPS = {"REGRESSION_STEPS": 5, "OBJECTIVE_STEPS": 5}


def quick(setattr_):
    """Lowers the constants that set the effort, by ``setattr`` or a monkeypatch's."""
    for module, values in EFFORT.items():
        for name, value in values.items():
            setattr_(module, name, value)
    for name, value in LEARNER_STEPS.items():
        setattr_(learner, name, value)
