"""The model as an objective, what it is fitted to, and how far it is believed."""

import numpy as np

from actors.policy import Policy
from actors.snapshot import NetworkSpec
from actors.step_limit import StepLimit
from env.objectives import Objective
from ppo.algorithm.device import gpu_of
from ppo.algorithm.model.constraints import ConstraintModels
from ppo.algorithm.model.evidence import Evidence, some_of
from ppo.algorithm.model.fits import Fit, fit_of, mean_gain, state_of
from ppo.algorithm.model.fitting import fit
from ppo.algorithm.model.frame import Frame, nearest
from ppo.algorithm.model.gaussian_process import (
    GaussianProcess,
    Hyperparameters,
    first_guesses,
    nearly_polynomial,
    of_pairs,
)
from ppo.algorithm.model.limits import Limits
from ppo.algorithm.model.selection import Count, nearest_to, selected
from ppo.algorithm.state import State, part_of, prefixed

FITTED = Count(500, 150)  # evaluations that choose the hyperparameters before the last round
TRIED = Count(300, 50)  # those that tell whether f is simpler than its fit, or a process about the law is better
REFIT = 1.3  # growth of the evidence after which the hyperparameters are fitted anew
BOTH_SIDES = Count(200, 50)  # evaluations up to which a fit tries both sides of the warp again
STEPS, FURTHER_STEPS = 40, 15  # iterations of a fit, and of one that goes on from another of nearly as many points
LOCAL_POINTS, A_COORDINATE, LOCAL_SHARE = 200, 225, 1 / 3  # evaluations of a local process: so many at least; more, up
# to so many for each coordinate, where they are no more than this share of all
GAIN_DECAY = 0.5
FIRST_GAIN = 1.0  # nats that are expected of a model before its first score: one bad round is no reason to doubt it
LEAST_A_COORDINATE = 50  # evaluations of a local process for each coordinate, below which there is none
MOST_WITHIN = 600  # evaluations of a local process, where more than it needs lie within its least window
REACH = 0.3  # std floors of the policy, for each coordinate, that its window reaches at the least
LEAST_GAIN, MUCH_BETTER = (
    0.3,
    0.5,
)  # nats by which a local process, or a simple one, must predict better to be preferred


class Surrogate(Objective):
    """The model of f, fitted to evidence. Imagined slots evaluate it as real ones evaluate f.

    It is a Gaussian process of the whole range and, where that predicts better, one of the neighbourhood of the law.

    Args:
        spec: the policy's network.
        capacity: evaluations that there will be at the most.
        constraints: their number.
        device: where the likelihood of fits is computed, by torch's name.

    Attributes:
        evidence: all evaluations so far.
        limits: the models of the constraints.
        step_limit: how far knobs may lie from those of a start law; None for no limit.
        gain: running mean of how much better the model predicted a round, before it learned from it, than the mean and
            the variance of all f did, in nats; ``FIRST_GAIN`` before the first score.
        refitted: whether the last fit chose the hyperparameters of the whole range anew.
    """

    vectorised = True  # the slots of an imagined step are always evaluated together
    step_limit: StepLimit | None = None

    def __init__(self, spec: NetworkSpec, capacity: int, constraints: int = 0, device: str = "cpu"):
        self.knobs, self.conditions = spec.action_dim, spec.obs_dim - spec.action_dim
        self._spec, self._fitted_at, self._gpu = spec, 0, gpu_of(device)
        self.evidence = Evidence(self.dims, capacity, constraints)
        self.limits = ConstraintModels(spec, constraints, self._gpu)
        self.gain, self.refitted, self._lead, self._local_from = FIRST_GAIN, False, 0.0, 0.0
        self._whole: Fit | None = None
        self._local: Fit | None = None
        self._earlier: Fit | None = None
        self._processes: dict[bool, GaussianProcess] = {}

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Predicts the warped f, whose best knobs are those of f."""
        return self.process.mean(np.concatenate([x, c], axis=1))

    @property
    def fitted(self) -> bool:
        """Whether there is a model."""
        return self._whole is not None

    @property
    def doubted(self) -> bool:
        """Whether the model has been no better of late than knowing nothing."""
        return self.gain < 0

    @property
    def process(self) -> GaussianProcess:
        """The process that predicts best about the law."""
        return self.whole if self._local is None else self._process(self._local)

    @property
    def whole(self) -> GaussianProcess:
        """The process of the whole range."""
        assert self._whole is not None, "it is fitted before it is asked"
        return self._process(self._whole)

    @property
    def earlier(self) -> GaussianProcess | None:
        """The process of the whole range with the hyperparameters of before the last fit; None if there were none."""
        return None if self._earlier is None else self._earlier.informed(self.evidence)

    def process_for(self, states: np.ndarray) -> GaussianProcess:
        """Returns the process that predicts best where all states ``[m, dims]`` are: beyond its window that about the
        law knows nothing."""
        frame = self.process.frame
        return self.process if frame is None or frame.inside(states).all() else self.whole

    def _process(self, made_of: Fit) -> GaussianProcess:
        local = made_of.frame is not None
        if local not in self._processes:
            self._processes[local] = process = made_of.informed(self.evidence)
            process.region, process.limit = self.limits.avoided(self.evidence), self.step_limit
        return self._processes[local]

    def widened(self, states: np.ndarray) -> bool:
        """Widens the margin of the limits where a law's states ``[m, dims]`` break them; returns whether they do."""
        limits = self.whole.region
        if not isinstance(limits, Limits) or not self.limits.widen(limits.beyond(states)):
            return False
        self._processes = {}
        return True

    def score(self, states: np.ndarray, values: np.ndarray) -> dict[str, float]:
        """Scores the model on a round ``[m, dims]``, ``[m]`` before it learns from it; returns scalars to log.

        Evaluations that failed are left out; where all did, or there is no model, there is no score.
        """
        sound = ~np.isnan(values)
        if not self.fitted or not sound.any():
            return {}
        states, values = states[sound], values[sound]
        whole, unknown = self.whole.density(states, values), self.whole.density_unknown(values)
        gain = mean_gain(whole, unknown)
        frame = self.process.frame
        inside = np.zeros(len(states), bool) if frame is None else frame.inside(states)
        if inside.any():  # it says nothing of what the policy samples beyond
            local = self.process.density(states[inside], values[inside])
            self._lead = GAIN_DECAY * self._lead + (1 - GAIN_DECAY) * mean_gain(local, whole[inside])
            gain = max(gain, mean_gain(local, unknown[inside]))
        self.gain = GAIN_DECAY * self.gain + (1 - GAIN_DECAY) * gain
        return {"charts/model_gain": gain}

    def fit(self, policy: Policy, std_floor: float, last: bool = False) -> None:
        """Fits the model to the evidence.

        Args:
            policy: the current policy. Where one component is in use, its neighbourhood may get a process of its own.
            std_floor: least standard deviation of the policy, which that neighbourhood is not narrower than.
            last: whether this is the last fit, which spares no effort.

        Where nearly all evaluations failed there is no model yet.
        """
        n = len(self.evidence)
        if n == 0 or (n <= self.dims and len(self.evidence.failures)):
            self._processes = {}  # of an earlier fit they lack what has failed since
            return
        hyperparameters = self._whole.hyperparameters if self._whole else None
        taken = selected(self.evidence, policy, hyperparameters)
        self._earlier = Fit(taken, hyperparameters) if last and hyperparameters else None
        self.refitted = hyperparameters is None or n >= REFIT * self._fitted_at
        if self.refitted:
            most = FITTED.of(self.dims)
            some, steps = some_of(taken, most), STEPS if self._fitted_at < most else FURTHER_STEPS
            hyperparameters = self._simplest(some, self._fit(some, self._guesses(n), steps))
            self._fitted_at = n
        assert hyperparameters is not None, "fitted now or before"
        self.limits.fit(self.evidence, taken, FITTED.of(self.dims), self.refitted or last)
        if last:
            hyperparameters = self._fit(taken, [hyperparameters], FURTHER_STEPS)
        self._whole, self._processes = Fit(taken, hyperparameters), {}
        self.fit_local(policy, std_floor)

    def undo_last_fit(self, policy: Policy, std_floor: float) -> None:
        """Goes back to the hyperparameters of before the last fit; see ``fit`` for the arguments."""
        self._whole, self._processes = self._earlier, {}
        self.fit_local(policy, std_floor)

    def take_nearest(self, states: np.ndarray) -> None:
        """Has the process of the whole range take the evaluations nearest to states ``[m, dims]`` as well."""
        assert self._whole is not None
        taken, hyperparameters = self._whole.taken, self._whole.hyperparameters
        if len(taken) < len(self.evidence) and not self.whole.noisy:  # else it is informed of all of them already
            nearest = nearest_to(states, self.evidence, hyperparameters)
            self._whole, self._processes = Fit(np.union1d(taken, nearest), hyperparameters), {}

    def fit_local(self, policy: Policy, std_floor: float) -> None:
        """Fits the process about the law, where that has one component, and prefers it if it predicts better.

        Its window narrows together with the policy, from coarse to fine: the nearest evaluations alone may lie in one
        of many small dents of f, which hide where its valley is.
        """
        before = self._local
        self.leave_law()
        if before is not None and self._lead < 0:
            self._lead, self._local_from = 0.0, REFIT * len(self.evidence)
        if len(policy.live) > 1 or len(self.evidence) < self._local_from:
            return
        local = self._fit_local(policy, REACH * self.dims * std_floor, before)
        if local is None:
            return
        gain = self._gain_of(local) if before is None else np.inf
        if gain > LEAST_GAIN:
            self._local = local
        elif gain < 0:  # it takes long to fit, and will not be better soon
            self._local_from = REFIT * len(self.evidence)

    def leave_law(self) -> None:
        """Forgets the process about the law."""
        self._local = None
        self._processes.pop(True, None)

    def _fit(
        self, taken: np.ndarray, guesses: list[Hyperparameters], steps: int, frame: Frame | None = None
    ) -> Hyperparameters:
        states = self.evidence.states[taken]
        coordinates = states if frame is None else frame.coordinates(states)
        return fit(coordinates, self.evidence.values[taken], guesses, steps, self._gpu)

    def _guesses(self, n: int) -> list[Hyperparameters]:
        """Returns where a fit starts: from the last hyperparameters, and while it is quick from scratch."""
        if self._whole is None:
            return first_guesses(self.dims)
        last = self._whole.hyperparameters
        few = n <= BOTH_SIDES.of(self.dims)
        return [last, *(first_guesses(self.dims) if few else [last.other_kernel])]

    def _simplest(self, taken: np.ndarray, found: Hyperparameters) -> Hyperparameters:
        """Returns those of nearly a polynomial, or of pairs, where that predicts left-out values much better.

        Its likelihood may be the smaller one all the same, since no process is exactly f.
        """
        few = some_of(taken, TRIED.of(self.dims))
        best, most = found, self._left_out(few, found)
        for simple in (nearly_polynomial, of_pairs)[: 1 if self.dims < 3 else 2]:
            simpler = self._fit(few, [simple(self.dims)], STEPS)
            density = self._left_out(few, simpler)
            if density - most > MUCH_BETTER:
                best, most = simpler, density
        if best is found or len(few) == len(taken):
            return best
        return self._fit(taken, [best], STEPS)

    def _left_out(self, taken: np.ndarray, hyperparameters: Hyperparameters) -> float:
        """Returns the mean density of the evaluations as the others predict each."""
        return float(Fit(taken, hyperparameters).process(self.evidence).left_out_density().mean())

    def _fit_local(self, policy: Policy, least_radius: float, before: Fit | None) -> Fit | None:
        """Returns a process of the evaluations that are nearest to the law; None where there are too few."""
        n = len(self.evidence)
        count = max(LOCAL_POINTS, min(A_COORDINATE * self.dims, int(LOCAL_SHARE * n)))
        if n < count or count < LEAST_A_COORDINATE * self.dims:
            return None
        taken, radius = nearest(policy, self.evidence.states, count, max(count, MOST_WITHIN), least_radius)
        frame = Frame(policy, radius)
        # From scratch each time: what was taken for noise while the law was off under some conditions would stay noise.
        guesses = ([before.hyperparameters] if before else []) + first_guesses(self.dims)
        found = self._fit(some_of(taken, TRIED.of(self.dims)), guesses, STEPS, frame)
        if before:  # else it may be refused, and again and again
            found = self._fit(taken, [found], FURTHER_STEPS, frame)
        return Fit(taken, found, frame)

    def _gain_of(self, local: Fit) -> float:
        """Returns how much better a local process predicts its evaluations than that of the whole range, in nats.

        Each process predicts an evaluation that it takes from the others that it takes.
        """
        assert self._whole is not None
        taken = local.taken
        whole = self._whole.process(self.evidence)
        theirs = whole.density(self.evidence.states[taken], self.evidence.values[taken])
        _, here, there = np.intersect1d(taken, self._whole.taken, return_indices=True)
        theirs[here] = whole.left_out_density()[there]
        return float((self._process(local).left_out_density() - theirs).mean())

    def state(self) -> State:
        """Returns the evidence, and what is not a function of it alone."""
        return {
            **prefixed("evidence", self.evidence.state()),
            **prefixed("whole", state_of(self._whole)),
            **prefixed("local", state_of(self._local)),
            **prefixed("limits", self.limits.state()),
            "scalars": np.array([self._fitted_at, self._local_from, self._lead, self.gain]),
        }

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.evidence.restore(part_of("evidence", state))
        self._whole = fit_of(part_of("whole", state), self._spec)
        self._local = fit_of(part_of("local", state), self._spec)
        self.limits.restore(part_of("limits", state))
        fitted_at, self._local_from, self._lead, self.gain = state["scalars"].tolist()
        self._fitted_at, self._processes = int(fitted_at), {}
