"""The learner: state_t+1 = learn(state_t, facts of step t). Facts become opinion here: rewards, values, advantages."""

from typing import Literal

import numpy as np

from actors.policy import normalise
from actors.rollout import Collector
from actors.snapshot import NetworkSpec, Snapshot
from actors.trajectory import Trajectory
from ppo.algorithm.advantages import evening_weights, gae, slot_differences
from ppo.algorithm.agent import Agent
from ppo.algorithm.losses import Batch
from ppo.algorithm.running_moments import RunningMoments
from ppo.config.fields import Config

FLOOR_POWER = 0.45  # of the progress, in the exponent of the std floor
RATE_POWER = 0.6  # of the std floor, in the learning rate
EVENING_WIDTH = 0.2  # over which the conditions of a batch's slots are evened out
RANKS_UNTIL = 0.03  # share of the first std floor from which on ranks fade from the advantages; 0 for never


def policy_spec(config: Config, collector: Collector) -> NetworkSpec:
    """The network for a configuration and an environment's spaces."""
    head: Literal["categorical", "gaussian"] = "categorical" if collector.choices else "gaussian"
    assert config.hidden_sizes is not None
    outputs = (collector.action_dim, collector.choices)
    return NetworkSpec(collector.obs_dim, config.hidden_sizes, config.activation, head, *outputs)


class Learner:
    """Everything that a training step changes, and a checkpoint holds.

    Args:
        config: resolved.
        spec: the policy's network.

    Attributes:
        training_steps: how many there are to be.
    """

    def __init__(self, config: Config, spec: NetworkSpec):
        assert config.training_steps is not None
        self.config, self.training_steps = config, config.training_steps
        self.agent = Agent(spec, config)
        self.step = 0
        self.env_steps = 0
        self.evaluations = 0
        self.obs_moments = RunningMoments((spec.obs_dim,))
        self.return_moments = RunningMoments()

    @property
    def progress(self) -> float:
        """Share of the training done, in [0, 1)."""
        return self.step / self.training_steps

    @property
    def std_floor(self) -> float:
        """Falls from its first to its final value, exponentially in a root of the progress: fast while there is
        nothing to lose, slowly once it is small. At a tenth of the training it is a third of the way, in logarithms."""
        first, final = self.config.std_floor or 0.0, self.config.std_floor_final or 0.0
        return first * (final / first) ** self.progress**FLOOR_POWER if first else 0.0

    @property
    def _narrowing(self) -> float:
        """The std floor as a share of the first one; 1 where there is none."""
        return self.std_floor / self.config.std_floor if self.config.std_floor else 1.0

    @property
    def by_rank(self) -> float:
        """Weight of ranks among the advantages: 1 while a law looks for its valleys, then falling with the floor."""
        return min(1.0, self._narrowing / RANKS_UNTIL) if RANKS_UNTIL else 1.0

    @property
    def learning_rate(self) -> float:
        """Falls linearly if it is annealed, and with a power of the std floor. Did it not fall, a step of Adam would
        move the mean action by more and more stds: PPO would leave its trust region in one step once the std is small,
        and lose its valley. Did it fall as fast as the floor, the law would never arrive.

        It warms up first. Which of two valleys a law settles in is decided in the first few hundred steps, by a slight
        difference between them: small updates average over more samples before they commit."""
        assert self.config.learning_rate is not None and self.config.warmup is not None
        linear = 1 - self.progress if self.config.anneal_lr else 1.0
        warm = min(1.0, (self.step + 1) / (self.config.warmup * self.training_steps + 1))
        return self.config.learning_rate * warm * linear * self._narrowing**RATE_POWER

    @property
    def _normaliser(self) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
        """Mean and variance of the observations, as the policy of this training step uses them."""
        return (self.obs_moments.mean, self.obs_moments.var) if self.config.norm_obs else (None, None)

    def snapshot(self) -> Snapshot:
        """What the drivers need to act in this training step."""
        return Snapshot(self.step, self.agent.policy, self.agent.theta.copy(), self.std_floor, *self._normaliser)

    def learn(self, facts: Trajectory) -> dict[str, float]:
        """Updates the state from the merged facts of the current step, and returns scalars to log."""
        scalars = {
            **collected(facts),
            "charts/learning_rate": self.learning_rate,
            "charts/std_floor": self.std_floor,
        }
        batch = self._batch(facts)
        scalars |= self.agent.update(batch, self.step, self.learning_rate, self.std_floor)
        if batch.values is not None and batch.returns is not None:
            scalars["losses/explained_variance"] = explained_variance(batch.values, batch.returns)
        if self.config.norm_obs:
            self.obs_moments.update(_rows(facts.obs))
        self.step += 1
        self.env_steps += facts.rewards.size
        self.evaluations += int(facts.evaluations.sum())
        return scalars

    def _batch(self, facts: Trajectory) -> Batch:
        config = self.config
        obs = normalise(_rows(facts.obs), *self._normaliser)
        if config.advantages == "slot":
            advantages = slot_differences(facts.objectives[:, 1:], facts.actions, self.by_rank)
            conditions = facts.obs[:, 0, facts.actions.shape[2] :]
            advantages *= evening_weights(conditions, EVENING_WIDTH)[:, None]
            return Batch(obs, *map(_rows, (facts.actions, facts.logprobs, advantages)))
        assert config.gamma is not None
        ends = facts.terminations | facts.truncations
        values = self.agent.values(obs).reshape(facts.rewards.shape)
        final_values = np.empty_like(values)
        final_values[:, :-1] = values[:, 1:]  # within an episode, a step leads to what the next one sees
        ended = normalise(facts.final_obs[ends], *self._normaliser)
        final_values[ends] = self.agent.values(ended)
        rewards = self._scaled(raw_rewards(facts, config), ends)
        gae_lambda = config.gae_lambda if config.algo == "ppo" else 1.0
        advantages = gae(rewards, values, final_values, facts.terminations, facts.truncations, config.gamma, gae_lambda)
        arrays = (facts.actions, facts.logprobs, advantages, advantages + values, values)
        return Batch(obs, *map(_rows, arrays))

    def _scaled(self, rewards: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Rewards divided by the running std of the discounted return within a slot, this step's included."""
        if not self.config.norm_reward:
            return rewards
        assert self.config.gamma is not None
        returns, running = np.empty_like(rewards), np.zeros(len(rewards))
        for t in range(rewards.shape[1]):
            running = rewards[:, t] + self.config.gamma * running
            returns[:, t] = running
            running = np.where(ends[:, t], 0.0, running)
        self.return_moments.update(returns.reshape(-1))
        return rewards / np.sqrt(self.return_moments.var + 1e-8)

    def state(self) -> dict[str, np.ndarray]:
        """The whole state as arrays."""
        adam, agreement = self.agent.adam, self.agent.agreement
        return {
            "counters": np.array([self.step, self.env_steps, self.evaluations], np.int64),
            "parameters": self.agent.parameters.copy(),
            "adam_steps": np.array(adam.steps),
            "adam_exp_avg": adam.exp_avg.copy(),
            "adam_exp_avg_sq": adam.exp_avg_sq.copy(),
            "agreement_steps": np.array(agreement.steps),
            "agreement_mean": agreement.mean.copy(),
            "agreement_square": agreement.square.copy(),
            "obs_moments": self.obs_moments.state(),
            "return_moments": self.return_moments.state(),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes over what ``state`` returned."""
        self.step, self.env_steps, self.evaluations = map(int, state["counters"])
        self.warm_start(state)
        self.return_moments.restore(state["return_moments"])
        adam, agreement = self.agent.adam, self.agent.agreement
        agreement.steps = int(state["agreement_steps"])
        agreement.mean[:], agreement.square[:] = state["agreement_mean"], state["agreement_square"]
        adam.steps = int(state["adam_steps"])
        adam.exp_avg[:], adam.exp_avg_sq[:] = state["adam_exp_avg"], state["adam_exp_avg_sq"]

    def accepts(self, state: dict[str, np.ndarray]) -> bool:
        """Whether ``state`` has every array that this learner's has, of the same shape."""
        return all(name in state and state[name].shape == array.shape for name, array in self.state().items())

    def warm_start(self, state: dict[str, np.ndarray]) -> None:
        """Takes over the parameters, and the observation normaliser that they were trained with."""
        self.agent.parameters[:] = state["parameters"]
        self.obs_moments.restore(state["obs_moments"])


def raw_rewards(facts: Trajectory, config: Config) -> np.ndarray:
    """Rewards ``[E, T]`` before scaling: the environment's, or for a tuning problem those of its objective values."""
    if config.reward is None:
        return facts.rewards
    values = facts.objectives
    if config.transform == "symlog":
        values = np.sign(values) * np.log1p(np.abs(values))
    return -values[:, 1:] if config.reward == "objective" else values[:, :-1] - values[:, 1:]


def collected(facts: Trajectory) -> dict[str, float]:
    """How good what was collected is: the mean of f, or outside tuning the mean return of an episode.

    An episode that the slot's end cuts counts as one: with long episodes, the evaluations say more.
    """
    if facts.objectives.size:
        return {"charts/objective": float(facts.objectives[:, 1:].mean())}
    return {"charts/episodic_return": float(facts.rewards.sum() / (facts.terminations | facts.truncations).sum())}


def check_finite(facts: Trajectory, starts_evaluated: bool) -> None:
    """Raises FloatingPointError, naming the slot, where an environment gave a value that is not finite.

    Where f of the starts was left out, so was the reward that would need it.
    """
    unasked = not starts_evaluated and facts.objectives.size > 0
    for name, skipped in (("objectives", unasked), ("rewards", unasked), ("final_obs", False), ("obs", False)):
        bad = ~np.isfinite(getattr(facts, name)[:, int(skipped) :].reshape(len(facts), -1)).all(axis=1)
        if bad.any():
            slot = int(np.argmax(bad))
            raise FloatingPointError(
                f"slot {slot} of step {facts.versions[slot]}: the environment's {name} are not finite; its start was "
                f"{facts.obs[slot, 0].tolist()}, its actions {facts.actions[slot, :8].tolist()}"
            )


def explained_variance(values: np.ndarray, returns: np.ndarray) -> float:
    """1 - Var(returns - values) / Var(returns): 1 is perfect, 0 no better than the mean, below 0 worse than it."""
    variance = np.var(returns)
    return float(1 - np.var(returns - values) / variance) if variance > 0 else 0.0


def _rows(array: np.ndarray) -> np.ndarray:
    """Slots and time steps flattened, ``[E * T, ...]``."""
    return array.reshape(-1, *array.shape[2:])
