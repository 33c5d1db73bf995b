"""The model of f: what is fitted to evaluations, what it makes the policy learn, and what it asks to be evaluated.

Rounds of real slots, their merge and the update of the policy may not live here.
"""

from actors.job import Job
from ppo.algorithm.learner import Learner, policy_spec
from ppo.algorithm.model.learner import ModelLearner
from ppo.algorithm.model.two_laws import TwoLawsLearner
from ppo.algorithm.valleys import ComponentsLearner
from ppo.config import ResolvedConfig
from ppo.config.budget import LEAST_FOR_TWO_LAWS


def make_learner(config: ResolvedConfig, job: Job, reused: int = 0) -> Learner:
    """Makes the learner of a training run, with a model of f where the configuration asks for one.

    Args:
        config: what to train.
        job: what the drivers run.
        reused: evaluations of f made before the run.
    """
    spec = policy_spec(config, job.description)
    if config.model == "none":
        return (ComponentsLearner if spec.components > 1 else Learner)(config, spec, reused)
    assert config.evaluations is not None, "a model needs a budget"
    several = config.evaluations >= LEAST_FOR_TWO_LAWS
    return (TwoLawsLearner if several else ModelLearner)(config, spec, job, reused)
