"""The fields of the configuration: the flags of ``python -m ppo.train`` and the keys of ``config.json``."""

import dataclasses
import json
import os
from dataclasses import dataclass, field
from typing import Any, Literal

from env.make import Problem
from env.objects import name_of


@dataclass(frozen=True)
class Config:
    """Trains a tuning law, or the policy of any Gymnasium environment, on data that driver processes collect.

    A field that is None takes a default that depends on the problem's family (tuning or control) or on the
    algorithm; ``ppo.config.resolve`` fills them in. The text under a field gives its meaning, its default where that
    depends on something, and where it helps its usual range.
    """

    env: str = "rosenbrock"
    """ackley, shifted-ackley, rosenbrock, sphere, branin, hartmann, crossing-valleys, noisy, a Gymnasium id,
    package.module:Id-v0, and ./file.py:NAME or package.module:NAME of a function or a class."""
    dims: int | None = None
    """Coordinates of a built-in objective, knobs and conditions together (2; hartmann: 6; noisy: those of the objective
    that it wraps)."""
    knobs: int | None = None
    """How many of the coordinates of a built-in objective are tuned; the rest are conditions (1; hartmann: two thirds,
    rounded down; noisy: as many as of the objective that it wraps)."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Keywords of the environment, name=value each, with values as JSON or else text; such as level=high."""
    training_steps: int | None = None
    """Training steps: broadcast, collect, train (tuning: 5000; control: as many as --env-steps suffice for)."""
    env_steps: int | None = None
    """Time steps that training may take; sets the training steps, the slots and minibatches of each, the learning rate,
    and lambda where a sampler draws the starts (1,000,000; --training-steps alone changes the number of steps, not what
    each is) (control)."""
    lag: int = 0
    """Training steps by which the policy that collects is older than the one that learns, so that drivers collect while
    the learner learns (usual: 0 or 1)."""
    episodes: int | None = None
    """Slots that are collected in a training step, E (tuning: 30; control: by --env-steps)."""
    time_steps: int | None = None
    """Time steps of a slot, T (tuning: 2; control: the environment's time limit, or a fifth of it where a sampler draws
    the starts)."""
    drivers: int | Literal["auto"] = "auto"
    """Drivers that collect: a number, 0 for this process, or auto, which measures what pays. Changes no result."""
    backend: Literal["process", "thread", "ray"] = "process"
    """Whether a driver is a process, a thread, or a process on a node of a Ray cluster. Changes no result."""
    ray_address: str | None = None
    """Ray cluster of --backend ray: auto for that of this machine, ray://host:10001 or host:6379 (one that is started
    on this machine alone, for this run)."""
    driver_timeout: float = 600.0
    """Seconds after which a driver that has not answered is replaced; 0 for no limit. Without driver processes the
    training ends there."""
    close_timeout: float = 10.0
    """Seconds that drivers may take to close their environments at the end; then they are ended, with all that they
    have started. Changes no result."""
    sampler: str | None = None
    """Start states: random, lhs, uncertainty, heterogeneous, env (the environment's own), a mix such as random:2,lhs:1,
    or package.module:Class (tuning: random; control: env). A model plans its rounds by itself."""
    candidates: int = 256
    """Candidates for each start of uncertainty sampling."""
    seed: int = 0
    """Random seed."""
    evaluations: int | None = None
    """Evaluations of f that training may spend; sets the training steps, the slots and the schedules (tuning)."""
    check: int = 0
    """Evaluations of f to spend after training, 15 or more, to measure the law beside the best constant knobs
    (tuning)."""
    reuse: tuple[str, ...] = ()
    """Run directories, or CSV files with columns of f, knobs and conditions, in units by name or as x_0 .., c_0 ..,
    whose evaluations the run starts from (tuning)."""
    start_law: str | None = None
    """A law that is in use, from whose knobs no evaluation is far, as a run directory or a law's file; constant for the
    middle of the ranges. With --step-limit and --evaluations (tuning)."""
    step_limit: float | None = None
    """How far evaluated knobs may lie from those of --start-law at the same conditions, as a share of their range
    (usual: 0.02 to 0.2) (tuning)."""
    on_failure: Literal["stop", "infeasible"] = "stop"
    """What follows from an evaluation of f that raises an exception, is not finite, or ends its driver or takes longer
    than --driver-timeout again and again: stop ends the run, infeasible counts it as worse than any other (tuning)."""
    record: bool = False
    """Archive the time steps of an environment that is no tuning problem; the evaluations of one always are."""
    eval_every: int | None = None
    """Training steps between evaluations of the law or policy; 0 never evaluates (10; with --evaluations: 0)."""
    eval_episodes: int = 20
    """Episodes of an evaluation (control)."""
    evaluation_cost_ms: float = 0.0
    """Latency in milliseconds that is added to each row of an objective's evaluation, for scaling studies."""

    components: int | None = None
    """Gaussians of the policy, each of which can follow a valley of its own; a gate chooses among them (1; with
    --model: as many as docs/method.md says) (tuning)."""
    model: Literal["none", "gp"] | None = None
    """Model of f, fitted to all evaluations, on which the policy learns and which chooses what is evaluated: none, or
    gp, a Gaussian process (none; gp with --evaluations from 4 for each knob and condition to 1,000,000) (tuning)."""

    algo: Literal["ppo", "reinforce"] = "ppo"
    """PPO with a clipped surrogate, or REINFORCE with a value baseline."""
    hidden_sizes: tuple[int, ...] | None = None
    """Widths of the hidden layers of the policy and of the value network (tuning: 32 32 32, or 64 64 64 with
    a budget of more than a million; control: 64 64)."""
    activation: Literal["tanh", "relu"] = "tanh"
    """Activation between the layers."""
    first_layer: Literal["law", "orthogonal"] | None = None
    """Initial first layer of the policy: law gives it random biases and zero weights for the knobs, orthogonal neither
    (tuning: law; control: orthogonal)."""
    std: Literal["state", "free"] | None = None
    """Whether the standard deviation of a continuous policy depends on the state, or is free of it and the same
    everywhere (tuning: state; control: free, unless a sampler asks the policy where it is uncertain)."""
    init_std: float | None = None
    """Initial standard deviation of a continuous policy, without the floor (tuning: 0.01, so that the floor decides;
    control: 1, or 0.7 where a sampler draws the starts, over the root of the number of values of an action; usual: 0.2
    to 1)."""
    noise: Literal["mirrored", "independent"] | None = None
    """Action noise of a continuous policy: mirrored gives every second time step of a slot the noise of the one before,
    negated (mirrored wherever --advantages is slot; else independent)."""
    std_floor: float | None = None
    """Least standard deviation of a continuous policy at the start of training (tuning: 0.3; control: 0)."""
    std_floor_final: float | None = None
    """Least standard deviation at the end of training (tuning: 1e-4; control: 0)."""
    std_floor_power: float | None = None
    """The floor falls exponentially in this power of the progress: below 1 fast at first and slowly later (0.45)."""
    learning_rate: float | None = None
    """Adam's step size at the start (tuning: 6e-3, or 2e-3 with a budget of more than a million; control: by
    --env-steps; usual: 1e-4 to 1e-2)."""
    learning_rate_power: float = 0.6
    """The learning rate falls with this power of the std floor; 0 for not at all."""
    warmup: float | None = None
    """Share of the training in which the learning rate rises to its start (tuning: 0.1; control and reinforce: 0)."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to 0 as well."""
    gamma: float | None = None
    """Discount (tuning with gae: 0, since actions are absolute; control: 0.99; usual: 0.9 to 0.999)."""
    advantages: Literal["slot", "gae"] | None = None
    """Advantages: slot compares f after an action with f after the other actions of its slot (leave-one-out) and needs
    neither rewards nor a value network; gae estimates them from both (tuning: slot, unless --reward, --transform,
    --gamma, --algo reinforce or a single time step asks for gae; control: gae)."""
    rank_fade: float | None = None
    """Share of the first std floor below which leave-one-out advantages change over from ranks to differences; 0 for
    ranks throughout (with --advantages slot: 0.03)."""
    density_bandwidth: float | None = None
    """Bandwidth of the density estimate by whose inverse slots are weighted; a large one weights all alike (with
    --advantages slot: 0.2)."""
    gae_lambda: float | None = None
    """Lambda of generalised advantage estimation; REINFORCE uses 1 (tuning: 0.95; control: 0.95, or 0.9 where an action
    has several values, and nearer to 1 with few --env-steps where a sampler draws the starts; usual: 0.9 to 1)."""
    update_epochs: int | None = None
    """Passes over a batch (tuning: 20; control: 10; reinforce: 1; usual: 3 to 20)."""
    num_minibatches: int | None = None
    """Minibatches of a pass (tuning: 1; control: one for each 64 time steps)."""
    clip_coef: float = 0.2
    """Range of the clipped surrogate (usual: 0.1 to 0.3)."""
    clip_vloss: bool = False
    """Clip the value loss by the same range."""
    norm_adv: bool = True
    """Normalise the advantages of each minibatch."""
    ent_coef: float = 0.0
    """Weight of the entropy bonus (usual: 0 to 0.01)."""
    vf_coef: float = 0.5
    """Weight of the value loss (usual: 0.5 to 1)."""
    update_damping: float | None = None
    """Multiplies each parameter's update by the signal-to-noise ratio of its recent updates, whose running means have
    this decay; 0 for no damping (tuning: 0.8; control and reinforce: 0)."""
    max_grad_norm: float = 0.5
    """Limit of the gradient's norm; 0 for none."""
    target_kl: float | None = None
    """Ends the passes over a batch once the approximate KL divergence exceeds it (None: never; usual: 0.01 to 0.05)."""
    norm_obs: bool | None = None
    """Normalise observations by running statistics (tuning: False, they are in [-1, 1]; control: True)."""
    norm_reward: bool = True
    """Divide rewards by the running standard deviation of the discounted return."""
    reward: Literal["improvement", "objective"] | None = None
    """Reward of a tuning problem: the thesis's f(s) - f(s'), or -f(s') (tuning with gae: objective)."""
    transform: Literal["none", "symlog"] | None = None
    """Applied to f before the reward: none, or sign(f) log(1 + |f|) (tuning with gae: symlog)."""
    on_nan: Literal["stop", "skip"] = "stop"
    """Where a loss, a gradient or a parameter is not finite: stop, or skip the training step and go on. Either way it
    changes nothing."""
    gradients: Literal["auto", "compiled", "autograd"] = "auto"
    """Gradient steps compiled by Numba, or those of torch's autograd, slower on small networks and easier to read; auto
    for compiled ones where Numba can be loaded. Each has its own last bits. With --device cuda always autograd."""
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    """Where the learner computes its update and fits its model: cpu, cuda for an NVIDIA GPU, or auto, for a GPU where
    there is one and the configuration has work enough for it. Another device gives other last bits."""
    warm_start: str | None = None
    """Start from the parameters of the finished run in this directory (None: from random ones)."""
    torch_threads: int = 1
    """Threads of torch in the learner. May change the last bits."""
    checkpoint_every: int = 500
    """Training steps between checkpoints; there is always one at the end."""
    checkpoint_seconds: float = 30.0
    """Seconds between checkpoints, where that comes first; 0 for none by time. Changes no result."""

    def __post_init__(self) -> None:
        if not isinstance(self.env, str):  # a function, a class or an objective, which a program may give
            object.__setattr__(self, "env", name_of(self.env))
        for name in ("reuse", "start_law", "warm_start"):
            object.__setattr__(self, name, _as_text(getattr(self, name)))

    def problem(self) -> Problem:
        """Returns the environment that the configuration names."""
        return Problem(self.env, self.dims, self.knobs, self.time_steps, self.evaluation_cost_ms, self.env_kwargs)

    def changed(self) -> dict[str, Any]:
        """Returns the fields whose values are not their defaults, by name."""
        default = Config()
        values = {one.name: getattr(self, one.name) for one in dataclasses.fields(Config)}
        return {name: value for name, value in values.items() if value != getattr(default, name)}

    def to_json(self) -> str:
        """Returns the text of ``config.json``."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def _as_text(value: Any) -> Any:
    """Returns a path, which a program may give, as a text; several one by one, and anything else as it is."""
    if isinstance(value, tuple | list):
        return tuple(map(_as_text, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def flag(name: str) -> str:
    """Returns the flag of a field."""
    return "--" + name.replace("_", "-")
