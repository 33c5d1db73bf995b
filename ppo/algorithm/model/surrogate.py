"""The model as an objective, what it is fitted to, and how far it is believed."""

import numpy as np

from actors.policy import Policy
from env.objectives import Objective
from ppo.algorithm.model.evidence import Evidence
from ppo.algorithm.model.gaussian_process import GaussianProcess, Hyperparameters, first_guess, fit
from ppo.algorithm.state import State, part_of, prefixed

MOST_POINTS = 1000  # evaluations that the process takes
FITTED_POINTS = 500  # of them, so many choose the hyperparameters before the last round
NEAREST = 0.8  # share of the taken ones that lie nearest to the policy, where there are more
REFIT = 1.3  # growth of the evidence after which the hyperparameters are fitted anew
BOTH_SIDES = 200  # evaluations up to which a fit tries both sides of the warp again
STEPS, LAST_STEPS = 40, 15  # iterations of a fit, and of the last one, to all points
GAIN_LIMIT = 5.0
GAIN_DECAY = 0.5


class Surrogate(Objective):
    """The model of f, fitted to evidence. Imagined slots evaluate it as real ones evaluate f.

    Args:
        knobs, conditions: their numbers.
        capacity: evaluations that there will be at the most.

    Attributes:
        evidence: all evaluations so far.
        gain: running mean of how much better the model predicted a round, before it learned from it, than the mean and
            the variance of all f did, in nats; 0 before the first round.
    """

    def __init__(self, knobs: int, conditions: int, capacity: int):
        self.knobs, self.conditions = knobs, conditions
        self.evidence = Evidence(knobs + conditions, capacity)
        self.gain = 0.0
        self._taken = np.empty(0, np.int64)
        self._fitted_at = 0
        self._hyperparameters: Hyperparameters | None = None
        self._process: GaussianProcess | None = None

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Predicts the warped f, whose best knobs are those of f."""
        return self.process.mean(np.concatenate([x, c], axis=1))

    @property
    def fitted(self) -> bool:
        """Whether there is a model."""
        return self._hyperparameters is not None

    @property
    def doubted(self) -> bool:
        """Whether the model has been no better of late than knowing nothing."""
        return self.gain < 0

    @property
    def process(self) -> GaussianProcess:
        """The process, fitted to what was taken of the evidence."""
        assert self._hyperparameters is not None, "it is fitted before it is asked"
        if self._process is None:
            taken = self._taken
            states, values = self.evidence.states[taken], self.evidence.values[taken]
            self._process = GaussianProcess(states, values, self._hyperparameters)
        return self._process

    def score(self, states: np.ndarray, values: np.ndarray) -> dict[str, float]:
        """Scores the model on a round ``[m, dims]``, ``[m]`` before it learns from it; returns scalars to log."""
        process = self.process
        mean, std = process.mean_and_std(states)
        variance = std**2 + process.variance * process.hyperparameters.noise
        warped = process.warped(values)
        base = process.targets.var() or 1.0
        surprise = 0.5 * (np.log(variance) + (warped - mean) ** 2 / variance)
        known_nothing = 0.5 * (np.log(base) + (warped - process.targets.mean()) ** 2 / base)
        gain = float(np.clip(known_nothing - surprise, -GAIN_LIMIT, GAIN_LIMIT).mean())
        self.gain = GAIN_DECAY * self.gain + (1 - GAIN_DECAY) * gain
        return {"charts/model_gain": gain}

    def fit(self, policy: Policy, last: bool) -> None:
        """Fits the model to the evidence, of which it takes the part that is nearest to what the policy does.

        Args:
            policy: the current policy.
            last: whether this is the last fit, which spares no effort.
        """
        n = len(self.evidence)
        self._taken, self._process = self._chosen(policy), None
        states, values = self.evidence.states[self._taken], self.evidence.values[self._taken]
        if self._hyperparameters is None or n >= REFIT * self._fitted_at:
            spread = np.unique(np.linspace(0, len(values) - 1, FITTED_POINTS).astype(int))
            self._hyperparameters = fit(states[spread], values[spread], self._guesses(n), STEPS)
            self._fitted_at = n
        if last:
            self._hyperparameters = fit(states, values, [self._hyperparameters], LAST_STEPS)

    def _guesses(self, n: int) -> list[Hyperparameters]:
        """Returns where a fit starts: from the last hyperparameters, and while it is quick from scratch."""
        dims = self.knobs + self.conditions
        guesses = [self._hyperparameters] if self._hyperparameters else []
        if n <= BOTH_SIDES or not guesses:
            guesses += [first_guess(dims, "low"), first_guess(dims, "high")]
        return guesses

    def _chosen(self, policy: Policy) -> np.ndarray:
        """Returns which evaluations are taken, in ascending order."""
        n = len(self.evidence)
        if n <= MOST_POINTS:
            return np.arange(n)
        states = self.evidence.states
        knobs, centred = states[:, : self.knobs], states.copy()
        centred[:, : self.knobs] = 0.0
        offsets = policy.proposals(centred)[:, policy.live] - knobs[:, None]
        order = np.argsort((offsets**2).sum(axis=2).min(axis=1), kind="stable")
        near, others = np.split(order, [int(NEAREST * MOST_POINTS)])
        others = np.sort(others)[np.linspace(0, len(others) - 1, MOST_POINTS - len(near)).astype(int)]
        return np.sort(np.concatenate([near, others]))

    def state(self) -> State:
        """Returns the evidence, and what is not a function of it alone."""
        hyper = self._hyperparameters
        taken = np.full(MOST_POINTS, -1)
        taken[: len(self._taken)] = self._taken
        return {
            **prefixed("evidence", self.evidence.state()),
            "taken": taken,
            "numbers": np.array([*hyper.lengths, hyper.noise, hyper.warp] if hyper else np.zeros(self.dims + 2)),
            "side": np.array(0 if hyper is None else 1 if hyper.side == "low" else -1),
            "fitted_at": np.array(self._fitted_at),
            "gain": np.array(self.gain),
        }

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.evidence.restore(part_of("evidence", state))
        self._taken, self._process = state["taken"][state["taken"] >= 0], None
        *lengths, noise, warp = state["numbers"].tolist()
        side = int(state["side"])
        found = Hyperparameters(np.array(lengths), noise, warp, "low" if side > 0 else "high")
        self._hyperparameters = found if side else None
        self._fitted_at, self.gain = int(state["fitted_at"]), float(state["gain"])
