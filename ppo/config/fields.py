"""The one configuration: its fields are the flags of ``python -m ppo.train`` and the keys of ``config.json``.

Loads no torch, so that ``--help`` answers at once.
"""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Literal

from actors.seeding import MAX_SEED
from env.errors import UsageError
from env.make import Problem

MAX_TIMEOUT = 1e9  # seconds
AT_LEAST_1 = (
    *("training_steps", "episodes", "time_steps", "candidates", "torch_threads", "update_epochs", "num_minibatches"),
    *("eval_episodes", "checkpoint_every"),
)
AT_LEAST_0 = (
    *("drivers", "eval_every", "evaluation_cost_ms", "driver_timeout", "std_floor", "std_floor_final", "ent_coef"),
    *("vf_coef", "max_grad_norm", "seed", "gamma", "gae_lambda", "agreement", "warmup"),
)


@dataclass(frozen=True)
class Config:
    """Trains a tuning law, or the policy of any Gymnasium environment, on data that driver processes collect.

    A field that is None takes a default that depends on the problem's family (tuning or control) or on the
    algorithm; ``resolved`` fills them in.
    """

    env: str = "rosenbrock"
    """ackley, shifted-ackley, rosenbrock, sphere, a Gymnasium id, package.module:Id-v0, or package.module:Class."""
    dims: int | None = None
    """Coordinates of a built-in objective, knobs and conditions together (2)."""
    knobs: int | None = None
    """How many of the coordinates are tuned; the rest are conditions (1)."""
    env_kwargs: tuple[str, ...] = ()
    """Keywords for the environment, name=value each: what gymnasium.make would be given, such as level=high."""
    training_steps: int | None = None
    """Training steps: broadcast, collect, train (tuning: 5000; control: 500)."""
    episodes: int | None = None
    """Slots that are collected in a training step, E (tuning: 30; control: as many as make 2,000 time steps)."""
    time_steps: int | None = None
    """Time steps of a slot, T (tuning: 2; control: the environment's time limit)."""
    drivers: int | Literal["auto"] = "auto"
    """Drivers that collect: a number, 0 for this process, or auto, which measures what pays. Changes no result."""
    backend: Literal["process", "thread"] = "process"
    """What a driver is. Changes no result."""
    driver_timeout: float = 600.0
    """Seconds after which a driver that has not answered is replaced; 0 waits for ever."""
    sampler: str | None = None
    """Start states: random, lhs, uncertainty, heterogeneous, env (the environment's own), a mix such as random:2,lhs:1,
    or package.module:Class (tuning: random; control: env)."""
    candidates: int = 256
    """Candidates for each start of uncertainty sampling."""
    seed: int = 0
    """Of all randomness."""
    eval_every: int = 10
    """Training steps between evaluations; 0 never evaluates."""
    eval_episodes: int = 20
    """Episodes of an evaluation (control)."""
    evaluation_cost_ms: float = 0.0
    """Latency added to each row of an objective evaluation, for scaling studies."""

    algo: Literal["ppo", "reinforce"] = "ppo"
    """PPO with a clipped surrogate, or REINFORCE with a value baseline."""
    hidden_sizes: tuple[int, ...] | None = None
    """Widths of the hidden layers, of policy and value network alike (tuning: 32 32 32; control: 64 64)."""
    activation: Literal["tanh", "relu"] = "tanh"
    """Between the layers."""
    first_layer: Literal["law", "orthogonal"] | None = None
    """How it starts: with biases and blind to the knobs, or orthogonal with neither (tuning: law; control:
    orthogonal)."""
    init_std: float | None = None
    """Initial std of a continuous policy, without the floor (tuning: 0.01, so that the floor decides; control: 1)."""
    noise: Literal["mirrored", "independent"] | None = None
    """Of a continuous policy's actions: mirrored gives every second time step of a slot the noise of the one before,
    negated (mirrored wherever --advantages is slot; else independent)."""
    std_floor: float | None = None
    """Least std of a continuous policy at the start of training (tuning: 0.3; control: 0)."""
    std_floor_final: float | None = None
    """The floor at the end; it falls exponentially in between (tuning: 1e-4; control: 0)."""
    learning_rate: float | None = None
    """Adam's step size at the start (tuning: 6e-3; control: 3e-4). It falls with the std floor."""
    warmup: float | None = None
    """Share of the training in which the learning rate rises to its start (tuning: 0.1; control and reinforce: 0)."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to 0 as well."""
    gamma: float | None = None
    """Discount (tuning with gae: 0, since actions are absolute; control: 0.99)."""
    advantages: Literal["slot", "gae"] | None = None
    """How good an action was: slot compares f after it with f after the other time steps of its slot, and needs neither
    rewards nor a value network; gae estimates it from them (tuning: slot, unless --reward, --transform, --gamma,
    --algo reinforce or a single time step asks for gae; control: gae)."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation; REINFORCE uses 1."""
    update_epochs: int | None = None
    """Passes over a batch (tuning: 20; control: 10; reinforce: 1)."""
    num_minibatches: int | None = None
    """Minibatches of a pass (tuning: 1; control: one for each 64 time steps)."""
    clip_coef: float = 0.2
    """Range of the clipped surrogate."""
    clip_vloss: bool = False
    """Clip the value loss by the same range."""
    norm_adv: bool = True
    """Normalise the advantages of each minibatch."""
    ent_coef: float = 0.0
    """Weight of the entropy bonus."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    agreement: float | None = None
    """Shortens each parameter's update by how far those of recent steps agree, which it remembers with this decay; 0
    for never (tuning: 0.8; control and reinforce: 0)."""
    max_grad_norm: float = 0.5
    """Limit of the gradient's norm; 0 for none."""
    target_kl: float | None = None
    """Ends the passes over a batch once the approximate KL divergence is above it (None: never)."""
    norm_obs: bool | None = None
    """Normalise observations by running statistics (tuning: no, they are in [-1, 1]; control: yes)."""
    norm_reward: bool = True
    """Divide rewards by the running std of the discounted return."""
    reward: Literal["improvement", "objective"] | None = None
    """Reward of a tuning problem: the thesis's f(s) - f(s'), or -f(s') (tuning with gae: objective)."""
    transform: Literal["none", "symlog"] | None = None
    """Applied to f before the reward: none, or sign(f) log(1 + |f|) (tuning with gae: symlog)."""
    gradients: Literal["written", "autograd"] = "written"
    """Gradients written out by hand, or by torch's autograd, which is slower and easier to read."""
    warm_start: str | None = None
    """Start from the parameters of the finished run in this directory."""
    torch_threads: int = 1
    """Threads of torch in the learner. May change the last bits."""
    checkpoint_every: int = 500
    """Training steps between checkpoints; there is always one at the end."""

    def problem(self) -> Problem:
        """The environment it names."""
        return Problem(self.env, self.dims, self.knobs, self.time_steps, self.evaluation_cost_ms, self.env_kwargs)

    def resolved(self) -> "Config":
        """Checks every field and fills in those that are None.

        Raises:
            UsageError: a value that cannot work, by its flag.
        """
        self._check_ranges()
        problem = self.problem()
        tuning, length = problem.family == "tuning", problem.slot_length()
        if tuning:
            defaults: dict[str, Any] = TUNING_DEFAULTS
            if self.algo == "reinforce" or length == 1 or any(getattr(self, name) is not None for name in ESTIMATED):
                defaults = defaults | {"advantages": "gae"}
            if (self.advantages or defaults["advantages"]) == "gae":
                defaults = defaults | ESTIMATED | {"noise": "independent"}
        else:
            defaults = CONTROL_DEFAULTS | self._control_sizes(length)
            for name in ("reward", "transform", "evaluation_cost_ms"):
                if getattr(self, name):
                    what = f"{flag(name)} {getattr(self, name)}"
                    raise UsageError(f"{what}: only a tuning problem takes it, and --env {self.env} is none")
        defaults = defaults | {"time_steps": length}
        if self.algo == "reinforce":
            defaults = defaults | {"update_epochs": 1, "num_minibatches": 1, "agreement": 0.0, "warmup": 0.0}
        filled = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        config = dataclasses.replace(self, **filled)
        config._check_combinations()
        return config

    def _control_sizes(self, length: int) -> dict[str, int]:
        """Slots and minibatches of a control problem: about as many time steps each, however long a slot is."""
        episodes = self.episodes or max(1, round(CONTROL_BATCH / length))
        return {"episodes": episodes, "num_minibatches": max(1, episodes * length // CONTROL_MINIBATCH)}

    def _check_ranges(self) -> None:
        for names, least, what in ((AT_LEAST_1, 1, "at least 1"), (AT_LEAST_0, 0, "0 or more")):
            for name in names:
                value = getattr(self, name)
                if isinstance(value, int | float) and not least <= value < float("inf"):
                    raise UsageError(f"{flag(name)} {value}: must be {what}")
        for name in ("learning_rate", "clip_coef", "init_std", "target_kl"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"{flag(name)} {value}: must be above 0")
        for name in ("gamma", "gae_lambda", "warmup"):
            if (getattr(self, name) or 0) > 1:
                raise UsageError(f"{flag(name)} {getattr(self, name)}: must be from 0 to 1")
        if (self.agreement or 0) >= 1:
            raise UsageError(f"--agreement {self.agreement}: must be from 0 to below 1")
        if self.driver_timeout > MAX_TIMEOUT:
            raise UsageError(f"--driver-timeout {self.driver_timeout}: must be at most {MAX_TIMEOUT}; 0 is no limit")
        if self.seed > MAX_SEED:
            raise UsageError(f"--seed {self.seed}: must be at most {MAX_SEED}")
        if any(size < 1 for size in self.hidden_sizes or ()):
            widths = " ".join(map(str, self.hidden_sizes or ()))
            raise UsageError(f"--hidden-sizes {widths}: every width must be at least 1")

    def _check_combinations(self) -> None:
        assert self.num_minibatches is not None and self.time_steps is not None and self.episodes is not None
        assert self.std_floor is not None and self.std_floor_final is not None
        self._check_family()
        batch = self.episodes * self.time_steps
        if batch // self.num_minibatches < (2 if self.norm_adv else 1):
            sizes = f"--episodes {self.episodes} --time-steps {self.time_steps}"
            raise UsageError(
                f"{sizes if self.num_minibatches == 1 else f'--num-minibatches {self.num_minibatches}'}: a batch has "
                f"only {batch} time steps, and a minibatch needs "
                f"{'two, so that its advantages can be normalised' if self.norm_adv else 'one'}"
            )
        if self.drivers == "auto" and self.backend == "thread":
            raise UsageError("--backend thread: needs a number of --drivers, auto chooses among processes")
        if self.algo == "reinforce" and (self.update_epochs, self.num_minibatches) != (1, 1):
            raise UsageError(
                "--algo reinforce: uses each batch once and whole, so --update-epochs and --num-minibatches must be 1"
            )
        if (self.std_floor == 0) != (self.std_floor_final == 0) or self.std_floor_final > self.std_floor:
            raise UsageError(
                f"--std-floor-final {self.std_floor_final}: must be above 0 and at most --std-floor {self.std_floor}, "
                f"or both 0"
            )

    def _check_family(self) -> None:
        """What only a tuning problem takes, and what only one of the two kinds of advantages does."""
        for what in ("--advantages slot", "--first-layer law"):
            name, value = what[2:].replace("-", "_").split()
            if getattr(self, name) == value and self.problem().family != "tuning":
                raise UsageError(f"{what}: only a tuning problem takes it, and --env {self.env} is none")
        if self.noise == "mirrored" and self.advantages != "slot":
            raise UsageError("--noise mirrored: only with --advantages slot, which compares the time steps of a slot")
        if self.advantages == "slot":
            if self.time_steps == 1:
                raise UsageError("--advantages slot: compares the time steps of a slot, and --time-steps is 1")
            for name in ESTIMATED:
                if getattr(self, name) is not None:
                    raise UsageError(f"{flag(name)} {getattr(self, name)}: only with --advantages gae")

    def changed(self) -> list[dataclasses.Field]:
        """The fields whose values are not their defaults."""
        return [field for field in dataclasses.fields(Config) if getattr(self, field.name) != field.default]

    def flags(self) -> list[str]:
        """The words of a command line that says what is not a default."""
        words = []
        for field in self.changed():
            name, value = field.name, getattr(self, field.name)
            if isinstance(field.default, bool):
                words.append(flag(name if value else f"no_{name}"))
            else:
                words += [flag(name), *map(str, value if isinstance(value, tuple) else [value])]
        return words

    def to_json(self) -> str:
        """The text of ``config.json``."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


TUNING_DEFAULTS: dict[str, Any] = {
    "training_steps": 5000,
    "episodes": 30,
    "sampler": "random",
    "hidden_sizes": (32, 32, 32),
    "first_layer": "law",
    "init_std": 0.01,
    "noise": "mirrored",
    "std_floor": 0.3,
    "std_floor_final": 1e-4,
    "learning_rate": 6e-3,
    "warmup": 0.1,
    "advantages": "slot",
    "agreement": 0.8,
    "update_epochs": 20,
    "num_minibatches": 1,
    "norm_obs": False,
}
ESTIMATED: dict[str, Any] = {"gamma": 0.0, "reward": "objective", "transform": "symlog"}
"""Of a tuning problem with ``--advantages gae``."""
CONTROL_BATCH, CONTROL_MINIBATCH = 2000, 64  # time steps
CONTROL_DEFAULTS: dict[str, Any] = {
    "training_steps": 500,
    "sampler": "env",
    "hidden_sizes": (64, 64),
    "first_layer": "orthogonal",
    "init_std": 1.0,
    "noise": "independent",
    "std_floor": 0.0,
    "std_floor_final": 0.0,
    "learning_rate": 3e-4,
    "warmup": 0.0,
    "advantages": "gae",
    "agreement": 0.0,
    "gamma": 0.99,
    "update_epochs": 10,
    "norm_obs": True,
}


def flag(name: str) -> str:
    """The flag of a field."""
    return "--" + name.replace("_", "-")
