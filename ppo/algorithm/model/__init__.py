"""The model of f: what is fitted to evaluations, what it makes the policy learn, and what it asks to be evaluated.

Rounds of real slots, their merge and the update of the policy may not live here.
"""

from actors.job import Job
from ppo.algorithm.learner import Learner, policy_spec
from ppo.algorithm.valleys import ComponentsLearner
from ppo.config import ResolvedConfig
from ppo.config.budget import networks_suit_budget, second_law_suits_budget


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
    from ppo.algorithm.model.candidates import CandidatesLearner  # imported here, since they are slow to load
    from ppo.algorithm.model.learner import ModelLearner

    assert config.evaluations is not None, "a model needs a budget"
    described = job.description
    if spec.labelled or described.constraints or described.whole_rounds or job.limit:  # the others know none of it
        return ModelLearner(config, spec, job, reused)
    others = second_law_suits_budget(config.evaluations) or networks_suit_budget(config.evaluations, spec.obs_dim)
    return (CandidatesLearner if others else ModelLearner)(config, spec, job, reused)
