"""What a process is made of: which evaluations, with which hyperparameters, in which coordinates."""

from dataclasses import dataclass

import numpy as np

from actors.kernels import KERNEL_NAMES
from actors.policy import Policy
from actors.snapshot import NetworkSpec, Snapshot
from ppo.algorithm.model.evidence import Evidence, some_of
from ppo.algorithm.model.fitc import informed
from ppo.algorithm.model.frame import Frame
from ppo.algorithm.model.gaussian_process import SIDES, GaussianProcess, Hyperparameters, factored
from ppo.algorithm.state import State

GAIN_LIMIT = 5.0  # nats
INFORMING = 20_000_000_000  # evaluations times the square of those taken that inform a process at the most


@dataclass(frozen=True)
class Fit:
    """What a process is made of.

    Attributes:
        taken: evaluations that it takes, by number, in ascending order.
        hyperparameters: its hyperparameters.
        frame: its coordinates; None for the states themselves.
    """

    taken: np.ndarray
    hyperparameters: Hyperparameters
    frame: Frame | None = None

    def process(self, evidence: Evidence) -> GaussianProcess:
        """Returns the process."""
        return factored(evidence.states[self.taken], evidence.values[self.taken], self.hyperparameters, self.frame)

    def informed(self, evidence: Evidence) -> GaussianProcess:
        """Returns the process, informed of evaluations that it does not take where f has noise."""
        process, n, taken = self.process(evidence), len(evidence), len(self.taken)
        if self.frame is not None or n == taken or not process.noisy:
            return process
        some = some_of(np.arange(n), min(n, max(taken, INFORMING // taken**2)))
        try:
            return informed(process, evidence.states[some], evidence.values[some])
        except np.linalg.LinAlgError:
            return process


def mean_gain(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Returns by how much densities ``[m]`` are larger than others in the mean, of which no single one counts much."""
    return float(np.clip(ours - theirs, -GAIN_LIMIT, GAIN_LIMIT).mean())


def state_of(made_of: Fit | None) -> State:
    """Returns a fit as arrays; all are empty for None."""
    if made_of is None:
        return dict.fromkeys(("taken", "numbers", "theta"), np.empty(0))
    hyper, frame = made_of.hyperparameters, made_of.frame
    sort = [SIDES.index(hyper.side), KERNEL_NAMES.index(hyper.kernel)]
    numbers = [*sort, frame.radius if frame else 0.0, hyper.noise, hyper.warp]
    theta = np.append(frame.policy.snapshot.theta, frame.policy.live[0]) if frame else np.empty(0)
    return {"taken": made_of.taken, "numbers": np.array([*numbers, *hyper.lengths]), "theta": theta}


def fit_of(state: State, spec: NetworkSpec) -> Fit | None:
    """Returns the fit that ``state_of`` described."""
    if not len(state["taken"]):
        return None
    side, kernel, radius, noise, warp, *lengths = state["numbers"].tolist()
    hyper = Hyperparameters(np.array(lengths), noise, warp, SIDES[int(side)], KERNEL_NAMES[int(kernel)])
    frame = None
    if radius:
        live = np.arange(spec.components) == int(state["theta"][-1])
        frame = Frame(Policy(Snapshot(0, spec, state["theta"][:-1], live=live)), radius)
    return Fit(state["taken"], hyper, frame)
