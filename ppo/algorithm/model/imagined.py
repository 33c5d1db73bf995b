"""Slots that are imagined: rolled out over the model as real ones are over f."""

import dataclasses

import numpy as np
from gymnasium.vector import VectorEnv

from actors.job import Job, Task
from actors.kernels import KERNEL_NAMES
from actors.policy import Policy
from actors.rollout import Collector
from actors.trajectory import Trajectory
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.surrogate import Surrogate
from ppo.algorithm.network import layer_sizes

IMAGINED_SLOTS = 24


def imagining_collector(job: Job, components: int, surrogate: Surrogate, gradients: str, slots: int) -> "Imagining":
    """Returns what runs imagined slots, each of two time steps for each of so many components.

    Args:
        job: what real slots are run for.
        components: of the policy.
        surrogate: the model.
        gradients: those of the configuration: unless they are autograd's, slots are imagined by compiled functions too.
        slots: their number.
    """
    length = 2 * components
    problem = dataclasses.replace(job.problem, evaluation_cost_ms=0.0, time_steps=length)
    sizes = {"episodes": slots, "time_steps": length, "evaluate_starts": False}
    imagined = dataclasses.replace(job, problem=problem, **sizes)  # type: ignore[arg-type]
    return (Imagining if gradients == "autograd" else CompiledImagining)(imagined, objective=surrogate)


class Imagining(Collector):
    """Runs imagined slots."""

    def prepare(self, policy: Policy) -> None:
        """Does what the first slots of such a policy would wait for otherwise."""


class CompiledImagining(Imagining):
    """Runs imagined slots in one compiled function, and asks the model for all of them together."""

    def prepare(self, policy: Policy) -> None:
        """Compiles what is not kept from an earlier run on this machine, and loads the rest."""
        from ppo.algorithm.compiled.imagined import correlation_sums  # it brings Numba, which takes a while to load

        self._rolled_out(policy, np.zeros((1, policy.spec.obs_dim)), np.zeros((1, 0, policy.spec.action_dim)))
        correlation_sums(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1), 1)

    def _roll(self, env: VectorEnv, task: Task, obs: np.ndarray, trajectory: Trajectory) -> None:
        """Rolls out all slots from ``obs`` on, and records what happens."""
        assert isinstance(self._objective, Surrogate), "it is imagined"
        live, knobs = self.policy.live, self._action_dim
        noise = self.draws.noise(task, self.policy.spec.labelled)
        states, actions, trajectory.logprobs[:] = self._rolled_out(self.policy, obs, noise)
        trajectory.obs[:], trajectory.final_obs[:] = states[:, :-1], states[:, 1:]
        trajectory.actions[..., :knobs] = actions
        if self.policy.spec.components > 1:
            trajectory.actions[..., knobs] = live[np.arange(actions.shape[1]) // 2 % len(live)]
        values = expected(self._objective.process, states[:, 1:].reshape(-1, states.shape[2]))
        trajectory.objectives[:, 0], trajectory.objectives[:, 1:] = np.nan, values.reshape(actions.shape[:2])
        trajectory.rewards[:] = -np.diff(trajectory.objectives, axis=1)

    def _rolled_out(self, policy: Policy, obs: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, ...]:
        """Calls the compiled function, always with the same types: for others it would be compiled anew."""
        from ppo.algorithm.compiled.imagined import rolled_out

        snapshot, spec, knobs = policy.snapshot, policy.spec, policy.spec.action_dim
        bounds = np.full((len(obs), knobs), -1.0), np.full((len(obs), knobs), 1.0)
        if self._limit is not None:
            bounds = self._limit.bounds(obs[:, knobs:])
        low, high = (np.array(bound, order="C") for bound in bounds)
        network = (
            np.array(snapshot.theta),
            layer_sizes(spec),
            spec.activation == "relu",
            spec.components,
            policy.live,
        )
        steps, drawn = np.array(spec.steps or (0.0,) * knobs), np.array(noise, order="C")
        return rolled_out(*network, float(snapshot.std_floor), np.array(obs), drawn, low, high, steps)


def expected(process: GaussianProcess, states: np.ndarray) -> np.ndarray:
    """Returns what ``process.mean`` does, to the last bits, ``[m]``."""
    from ppo.algorithm.compiled.imagined import correlation_sums

    kernel = KERNEL_NAMES.index(process.hyperparameters.kernel)
    found = correlation_sums(process.scale(states), process.scaled, process.weights, kernel) + process.level
    return found if process.region is None else process.region.raised(found, states, process.targets)
