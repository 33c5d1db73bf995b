"""What is random in slots, keyed by run, training step and slot: their starts, the noise of actions, and seeds.

Nothing here depends on which slots make up a task, or on the runs that share it.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from gymnasium import spaces

from actors.job import TRAINING, Job, Kind, Share, Task
from actors.policy import Policy
from actors.samplers import Sampler, make_sampler
from actors.seeding import Stream, env_seed, generator, slot_numbers
from env.errors import UsageError

REAL = Stream.ENV, Stream.STARTS, Stream.ACTIONS
IMAGINED = Stream.IMAGINED_ENV, Stream.IMAGINED_STARTS, Stream.IMAGINED_ACTIONS


class Draws:
    """Draws what is random in slots.

    Args:
        job: what is run.

    Attributes:
        sampler: the start sampler; None where the environment's own starts are used.

    Raises:
        UsageError: the sampler does not suit the environment.
    """

    def __init__(self, job: Job):
        self._job = job
        self.sampler = job_sampler(job)

    def noise(self, task: Task, labelled: Sequence[int] = ()) -> np.ndarray:
        """Draws the noise of the slots' actions, ``[n, T, action_dim]``; their values in ``labelled`` have none."""
        described = self._job.description
        method = "random" if described.choices else "standard_normal"
        shape = (self._job.length(task.kind), described.action_dim)
        slots, stream = self._job.run_slots(task.kind), _streams(task.kind)[2]
        noise = joined(
            slot_numbers(method, (share.job.seed, task.step, stream), slots, share.own, shape)
            for share in self._job.shares(task)
        )
        if labelled:
            noise[..., list(labelled)] = 0.0  # each component keeps its label
        if self._job.mirrored and not described.choices:
            noise[:, 1::2] = -noise[:, : shape[0] - 1 : 2]
        return noise

    def seeds(self, task: Task, episode: np.ndarray) -> list[int]:
        """Returns the environment's seed for the given episode of each slot."""
        # Evaluation repeats the same episodes every time, so that two versions differ by the policy alone.
        step, stream = (task.step, _streams(task.kind)[0]) if task.kind in TRAINING else (0, Stream.EVAL_ENV)
        return [
            env_seed(share.job.seed, step, stream, slot, int(j))
            for share in self._job.shares(task)
            for slot, j in zip(range(share.own.start, share.own.stop), episode[share.rows], strict=True)
        ]

    def starts(self, task: Task, policies: Sequence[Policy]) -> np.ndarray | None:
        """Draws the starts of slots that are sampled, by the policies of the runs; None for the environment's own."""
        if self.sampler is None:
            return None
        return joined(self._starts(task, share, policies[share.number]) for share in self._job.shares(task))

    def _starts(self, task: Task, share: Share, policy: Policy) -> np.ndarray:
        assert self.sampler is not None, "there is one"
        rng, slots = generator(share.job.seed, task.step, _streams(task.kind)[1]), self._job.run_slots(task.kind)
        starts = self.sampler.sample(slots, rng, policy, share.own)
        if starts.shape != (share.own.stop - share.own.start, self.sampler.dims):
            raise ValueError(
                f"{type(self.sampler).__name__}.sample returned {starts.shape} for rows {share.own.start} to "
                f"{share.own.stop - 1} of {slots} starts in {self.sampler.dims} dimensions"
            )
        return starts


def joined(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Returns the parts of several runs one below the other; the part of a single one is not copied."""
    arrays = list(parts)
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def job_sampler(job: Job) -> Sampler | None:
    """Makes the start sampler of a job; None where the environment's own starts are used.

    Raises:
        UsageError: the sampler does not suit the environment.
    """
    if job.sampler == "env":
        return None
    space, observed = job.description.start_space, job.description.observation_space
    if space is None:
        raise UsageError(
            f"--sampler {job.sampler}: the starts of --env {job.problem.env} cannot be set; use --sampler env, its own"
        )
    if not isinstance(space, spaces.Box) or len(space.shape) != 1 or not space.is_bounded():
        raise UsageError(f"--env {job.problem.env}: its start_space {space} must be a bounded Box of one dimension")
    sampler = make_sampler(job.sampler, space.low, space.high, job.candidates)
    if sampler.asks_policy and space.shape != observed.shape:
        raise UsageError(
            f"--sampler {job.sampler}: asks the policy about starts, and those of --env {job.problem.env} are not "
            f"observations; use random or lhs"
        )
    return sampler


def _streams(kind: Kind) -> tuple[Stream, Stream, Stream]:
    """Returns the streams of a training slot: the environment's, that of starts and that of actions."""
    return IMAGINED if kind == Kind.IMAGINE else REAL
