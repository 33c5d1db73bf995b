"""``--help`` of the training: the flags that matter first, and the others in groups.

The fields of the configuration stand in one flat class, as its keys do in ``config.json``; for the help alone tyro is
given a class for each group.
"""

import ast
import dataclasses
import inspect
import textwrap
from typing import Annotated, Any, Literal, get_args, get_origin

import tyro

FIRST = (
    *("env", "evaluations", "check", "drivers", "run_dir", "resume", "reuse", "on_failure", "seed", "seeds", "quiet"),
)
"""The flags that matter first."""
GROUPS: dict[str, tuple[str, ...]] = {
    "problem": ("dims", "knobs", "env_kwargs", "time_steps", "evaluation_cost_ms"),
    "length": ("training_steps", "env_steps", "episodes", "eval_every", "eval_episodes", "config", "warm_start"),
    "start": ("sampler", "candidates", "start_law", "step_limit"),
    "drivers and files": (
        *("lag", "backend", "ray_address", "driver_timeout", "close_timeout", "checkpoint_every"),
        *("checkpoint_seconds", "record", "device", "torch_threads", "pictures", "track", "profile"),
    ),
    "law": ("model", "components", "hidden_sizes", "activation", "first_layer", "norm_obs"),
    "exploration": ("std", "init_std", "noise", "std_floor", "std_floor_final", "std_floor_power", "ent_coef"),
    "advantages": (
        *("advantages", "rank_fade", "density_bandwidth", "gamma", "gae_lambda", "norm_adv", "reward", "transform"),
        "norm_reward",
    ),
    "update": (
        *("algo", "learning_rate", "learning_rate_power", "warmup", "anneal_lr", "update_epochs", "num_minibatches"),
        *("clip_coef", "clip_vloss", "vf_coef", "update_damping", "max_grad_norm", "target_kl", "on_nan", "gradients"),
    ),
}
"""The others."""


def show_help(kind: type, prog: str) -> None:
    """Prints the help of a command whose flags are the fields of ``kind``.

    Raises:
        SystemExit: always, with exit code 0.
    """
    fields: dict[str, Any] = {field.name: field for field in dataclasses.fields(kind)}
    texts, without_prefix = field_texts(kind), tyro.conf.OmitArgPrefixes
    own = [name for name in fields if name not in FIRST and not any(name in names for names in GROUPS.values())]
    parts: list[Any] = [_argument(fields[name], texts[name]) for name in (*FIRST, *own) if name in fields]
    for title, names in GROUPS.items():
        arguments = [_argument(fields[name], texts[name]) for name in names if name in fields]
        made: Any = dataclasses.make_dataclass("Group", arguments)
        made.__doc__ = ""
        default: Any = dataclasses.field(default_factory=made)
        parts.append((title.replace(" ", "_"), without_prefix[made], default))
    grouped = dataclasses.make_dataclass("Grouped", parts)
    grouped.__doc__ = inspect.getdoc(kind)
    tyro.cli(grouped, prog=prog, args=["--help"])


def field_texts(kind: type) -> dict[str, str]:
    """Returns the text under each field in the source of a class and of those that it is made of, by field."""
    texts: dict[str, str] = {}
    for base in reversed([base for base in kind.__mro__ if dataclasses.is_dataclass(base)]):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
                assert isinstance(text.value, ast.Constant)
                texts[field.target.id] = " ".join(str(text.value.value).split())
    return texts


def _argument(field: dataclasses.Field, text: str) -> tuple[str, Any, Any]:
    """Returns a field as ``make_dataclass`` takes it; None, which stands for no value, is not shown."""
    default: Any = dataclasses.field(default=field.default, default_factory=field.default_factory)
    if field.type == dict[str, Any]:
        return field.name, Annotated[tuple[str, ...], tyro.conf.arg(help=text, metavar="NAME=VALUE ...")], ()
    shown = tyro.conf.arg(help=text, metavar=_metavar(field.type))
    return field.name, Annotated[field.type, shown], default


def _metavar(kind: Any) -> str | None:
    """Returns how the values of an optional type are shown, without the None that stands for no value."""
    options = [option for option in getattr(kind, "__args__", ()) if option is not type(None)]
    if type(None) not in getattr(kind, "__args__", ()):
        return None
    names = {int: "INT", float: "FLOAT", str: "STR", bool: "{True,False}"}
    return "|".join(names.get(option) or _literal(option) for option in options)


def _literal(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"{{{','.join(map(str, get_args(kind)))}}}"
    return "INT [INT ...]"
