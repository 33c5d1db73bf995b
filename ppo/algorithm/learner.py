"""The learner: state_t+1 = learn(state_t, trajectories of step t). Rewards, values and advantages are made here."""

from typing import Any

import numpy as np

from actors.job import Kind
from actors.policy import Policy, normalise
from actors.snapshot import NetworkSpec, Snapshot
from actors.trajectory import Trajectory
from env.description import Description
from ppo.algorithm.advantages import gae, v_trace
from ppo.algorithm.agent import Agent
from ppo.algorithm.components import (
    GateBatch,
    acted_components,
    component_advantages,
    pair_advantages,
    remembered,
    slot_advantages,
    slot_weights,
)
from ppo.algorithm.imitation import imitate
from ppo.algorithm.losses import Batch, explained_variance
from ppo.algorithm.mean_spread import limit_mean_spread
from ppo.algorithm.not_finite import TOO_LARGE, NotFiniteError, Stateful, check_array, guarded
from ppo.algorithm.outcomes import collected, feasible_first, merits, raw_rewards
from ppo.algorithm.past import Past
from ppo.algorithm.running_moments import RunningMoments
from ppo.algorithm.schedules import Schedule, schedule
from ppo.algorithm.state import State, part_of, prefixed
from ppo.config import GAEConfig, ResolvedConfig, SlotConfig
from ppo.config.resolved import slot_evaluations


def policy_spec(config: ResolvedConfig, described: Description) -> NetworkSpec:
    """Returns the policy's network for a configuration and an environment's spaces."""
    head = "categorical" if described.choices else "gaussian"
    outputs = (described.action_dim, described.choices)
    sizes = (described.obs_dim, config.hidden_sizes, config.activation)
    steps = () if described.knob_steps is None else tuple(described.knob_steps.tolist())
    return NetworkSpec(*sizes, head, *outputs, config.components, steps, described.labelled)  # type: ignore[arg-type]


class Learner:
    """Everything that a training step changes, and a checkpoint holds.

    Args:
        config: what to train.
        spec: the policy's network.
        reused: evaluations of f made before the run, which the schedules count as done.

    Attributes:
        step: training steps done.
        env_steps: time steps of all slots so far.
        evaluations: evaluations of f so far.
        live: components of the policy that are in use, ``[K]`` of bool.
        late: rows of the archive that were told late, and are learned from in the current training step, ``[n]``.
        dropped: updates that were taken back, since a value was not finite, and that nobody has looked after yet.
    """

    def __init__(self, config: ResolvedConfig, spec: NetworkSpec, reused: int = 0):
        self.config = config
        per_slot = slot_evaluations(config.time_steps, config.advantages, config.reward)
        self._head = reused / (config.episodes * per_slot)
        self.agent = Agent(spec, config)
        self.step = 0
        self.env_steps = 0
        self.evaluations = 0
        self.live = np.ones(spec.components, bool)
        self.dropped: list[NotFiniteError] = []
        self.late: np.ndarray | None = None
        self.obs_moments = RunningMoments((spec.obs_dim,))
        self.return_moments = RunningMoments()
        self._past = Past(config.lag)

    def prepare(self) -> None:
        """Does what the first training step would wait for otherwise."""
        self.agent.prepare()

    @property
    def parts(self) -> tuple[Stateful, ...]:
        """What an update changes beside ``live``."""
        return self.agent, self.obs_moments, self.return_moments

    @property
    def schedule(self) -> Schedule:
        """The scheduled values of the current training step."""
        return schedule(self.config, self.step, self._head)

    @property
    def _normaliser(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Mean and variance of the observations, as the policy of this training step uses them."""
        return (self.obs_moments.mean, self.obs_moments.var) if self.config.norm_obs else (None, None)

    @property
    def policy(self) -> Policy:
        """The policy of this training step."""
        return Policy(self._policy_snapshot())

    def snapshot(self) -> Snapshot:
        """Returns the policy, and what a law has beside it."""
        return self._policy_snapshot()

    def _policy_snapshot(self) -> Snapshot:
        theta = self.agent.theta.copy()
        live, (mean, var) = None if self.live.all() else self.live, self._normaliser
        return Snapshot(self.step, self.agent.policy, theta, self.schedule.std_floor, mean, var, live)

    @property
    def kind(self) -> Kind:
        """What the next round is run for."""
        return Kind.COLLECT

    @property
    def complete(self) -> bool:
        """Whether all training steps are done."""
        return self.step >= self.config.training_steps

    def round_snapshot(self, ahead: int = 0) -> Snapshot:
        """Returns what the drivers need for the next round, or for the one that comes ``ahead`` rounds after it.

        It is at most ``lag`` rounds.
        """
        return self._acting(self.step + ahead)

    def _acting(self, step: int) -> Snapshot:
        """Returns the policy that acts in training step ``step``: that of ``lag`` steps before, or else the first."""
        version = max(0, step - self.config.lag)
        return self._policy_snapshot() if version == self.step else self._past.of(version)

    def judgement(self) -> Any:
        """Returns what a model says of the law; None without one."""
        return None

    def learn(self, trajectory: Trajectory) -> dict[str, float]:
        """Updates the state from the merged trajectory of the current step, and returns scalars to log.

        Raises:
            NotFiniteError: a value of the update is not finite, and the run is to stop; the state is as it was before.
        """
        now = self.schedule
        scalars = {
            **collected(trajectory),
            "charts/learning_rate": now.learning_rate,
            "charts/std_floor": now.std_floor,
        }
        trajectory, before = feasible_first(trajectory), self._policy_snapshot() if self.config.lag else None
        scalars |= guarded(self, trajectory, lambda: self._apply(trajectory, now))
        if before is not None:
            self._past.add(before)
        self._count(trajectory)
        return scalars

    def _apply(self, trajectory: Trajectory, now: Schedule) -> dict[str, float]:
        """Makes the update of a training step, and takes in what it shows."""
        scalars = self.improve(trajectory, now, self.step)
        if isinstance(self.config, SlotConfig):
            scalars["charts/mean_spread"] = limit_mean_spread(self.policy, self.agent.theta, trajectory.obs)
        if self.config.norm_obs:
            self.obs_moments.update(_rows(trajectory.obs))
            check_array(self.step, "the running variance of the observations", self.obs_moments.m2)
        return scalars

    def improve(self, trajectory: Trajectory, now: Schedule, step: int) -> dict[str, float]:
        """Updates the agent by slots that the current policy sampled; ``step`` is the key of what is random in it."""
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is told where the update ends
            batch = self._batch(trajectory, now)
            scalars = self.agent.update(batch, step, now.learning_rate, now.std_floor, now.update_epochs)
        if batch.values is not None and batch.returns is not None:
            scalars["losses/explained_variance"] = explained_variance(batch.values, batch.returns)
        if self.agent.policy.components > 1:
            self.live = self.live & remembered(self.policy)
        return scalars

    def _count(self, trajectory: Trajectory) -> None:
        """Counts a training step."""
        self.step += 1
        self.env_steps += trajectory.rewards.size
        self.evaluations += int(trajectory.evaluations.sum())

    def _batch(self, trajectory: Trajectory, now: Schedule) -> Batch:
        """Returns the data of the update."""
        obs = normalise(_rows(trajectory.obs), *self._normaliser)
        if isinstance(self.config, SlotConfig) and self.agent.policy.components > 1:
            return self._batch_of_components(obs, trajectory, now.rank_weight, self.config.density_bandwidth)
        if isinstance(self.config, SlotConfig):
            advantages = slot_advantages(trajectory, now.rank_weight, self.config.density_bandwidth)
            return Batch(obs, _rows(trajectory.actions), _rows(trajectory.logprobs), _rows(advantages))
        assert isinstance(self.config, GAEConfig), "the only other kind"
        return self._batch_with_values(obs, trajectory, self.config, now.std_floor)

    def _batch_of_components(
        self, obs: np.ndarray, trajectory: Trajectory, rank_weight: float, bandwidth: float
    ) -> Batch:
        """Returns the data of an update of several components; ``obs`` are normalised, ``[E * T, obs_dim]``."""
        actions, acted = trajectory.actions[..., :-1], acted_components(trajectory.actions)
        objectives = trajectory.objectives[:, 1:]
        weights = slot_weights(trajectory.obs[:, 0, actions.shape[2] :], bandwidth)
        own = pair_advantages(objectives, actions, rank_weight) * weights
        of_gate, shares = component_advantages(objectives, acted, len(self.live), rank_weight)
        components = np.tile(acted, len(trajectory))
        acting = Policy(self._acting(self.step))
        logprobs = acting.gate(_rows(trajectory.obs))[np.arange(len(obs)), components]
        probabilities = np.exp(logprobs) / shares[components]
        gate = GateBatch(components, logprobs, _rows(of_gate * weights), probabilities, self.live)
        return Batch(obs, _rows(actions), _rows(trajectory.logprobs), _rows(own), gate=gate)

    def _batch_with_values(self, obs: np.ndarray, trajectory: Trajectory, config: GAEConfig, std_floor: float) -> Batch:
        """Returns the data of an update with a value network; ``obs`` are normalised, ``[E * T, obs_dim]``."""
        terminations, truncations = trajectory.terminations, trajectory.truncations
        ends = terminations | truncations
        values = self.agent.values(obs).reshape(trajectory.rewards.shape)
        final_values = np.empty_like(values)
        final_values[:, :-1] = values[:, 1:]  # within an episode, a step leads to what the next one sees
        ended = normalise(trajectory.final_obs[ends], *self._normaliser)
        final_values[ends] = self.agent.values(ended)
        rewards = self._scaled(raw_rewards(trajectory, config), ends, config)
        gae_lambda = config.gae_lambda if config.algo == "ppo" else 1.0
        facts = rewards, values, final_values, terminations, truncations
        actions, logprobs = _rows(trajectory.actions), _rows(trajectory.logprobs)
        if config.lag:
            ratios = np.exp(self.agent.logprobs(obs, actions, std_floor) - logprobs).reshape(rewards.shape)
            targets, advantages = v_trace(*facts, ratios, config.gamma, gae_lambda)
        else:
            advantages = gae(*facts, config.gamma, gae_lambda)
            targets = advantages + values
        return Batch(obs, actions, logprobs, _rows(advantages), _rows(targets), _rows(values))

    def _scaled(self, rewards: np.ndarray, ends: np.ndarray, config: GAEConfig) -> np.ndarray:
        """Divides rewards by the running std of the discounted return within a slot, this step's included."""
        if not config.norm_reward:
            return rewards
        returns, running = np.empty_like(rewards), np.zeros(len(rewards))
        for t in range(rewards.shape[1]):
            running = rewards[:, t] + config.gamma * running
            returns[:, t] = running
            running = np.where(ends[:, t], 0.0, running)
        self.return_moments.update(returns.reshape(-1))
        check_array(self.step, f"the running variance of the returns; {TOO_LARGE}", self.return_moments.m2)
        return rewards / np.sqrt(self.return_moments.var + 1e-8)

    def state(self) -> State:
        """Returns the whole state."""
        counters = np.array([self.step, self.env_steps, self.evaluations], np.int64)
        live = {"live": self.live.copy()} if len(self.live) > 1 else {}
        return {
            "counters": counters,
            **live,
            **prefixed("agent", self.agent.state()),
            **prefixed("obs_moments", self.obs_moments.state()),
            **prefixed("return_moments", self.return_moments.state()),
            **prefixed("past", self._past.state()),
        }

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.step, self.env_steps, self.evaluations = map(int, state["counters"])
        self.live = state.get("live", self.live).copy()
        self.agent.restore(part_of("agent", state))
        self.obs_moments.restore(part_of("obs_moments", state))
        self.return_moments.restore(part_of("return_moments", state))
        self._past.restore(part_of("past", state), self.step, self.agent.policy)

    def accepts(self, state: State) -> bool:
        """Returns whether ``state`` has every array that this learner's has, of the same shape."""
        ours = Learner.state(self)  # the evidence has its own shape in each run
        return all(name in state and state[name].shape == array.shape for name, array in ours.items())

    def warm_start(self, state: State) -> None:
        """Takes over the parameters, and the units of observations and rewards that they were trained with."""
        self.live = state.get("live", self.live).copy()
        self.agent.warm_start(part_of("agent", state))
        self.obs_moments.restore(part_of("obs_moments", state))
        self.return_moments.restore(part_of("return_moments", state))

    def imitate(self, x: np.ndarray, c: np.ndarray, f: np.ndarray, g: np.ndarray | None = None) -> None:
        """Starts from the best of evaluations.

        Args:
            x: knobs, ``[n, knobs]``.
            c: conditions, ``[n, conditions]``.
            f: values, ``[n]``.
            g: values of the constraints, ``[n, constraints]``; None for none.
        """
        if self.agent.policy.components > 1:
            return  # components learn what is to be known from the model
        values = f if g is None or not g.shape[1] else merits(f, g)
        theta = imitate(self.agent.policy, self.agent.theta, x, c, values, self.config.seed)
        self.agent.theta[:] = theta


def _rows(array: np.ndarray) -> np.ndarray:
    """Flattens slots and time steps, ``[E * T, ...]``."""
    return array.reshape(-1, *array.shape[2:])
