"""What a run computes with, settled before anything is made: the processor or a GPU, compiled steps or torch's.

Whether there is a GPU, and Numba, is not in a configuration, so ``--device auto`` and ``--gradients auto`` are settled
once, at the start of a run, and ``config.json`` holds what came of it.
"""

import contextlib
import dataclasses
import importlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from env.description import Description
from env.errors import UsageError
from ppo.algorithm.learner import Learner
from ppo.config import ResolvedConfig
from ppo.config.memory import policy_parameters

LEAST_WORK = 100_000_000  # parameters of the policy times rows of a minibatch from which on a GPU is worth its calls
LEAST_FITTED = 1000  # evaluations that a fit of a model takes, likewise


def settled(config: ResolvedConfig, begun: str | None = None) -> ResolvedConfig:
    """Makes torch ready for a run, and returns the configuration with the device and the gradients that the run has.

    On a GPU gradients are autograd's, and torch uses algorithms that give the same bits each time.

    Args:
        config: what to train.
        begun: how a message names a run that was begun before, and has its device; None for a new one.

    Raises:
        UsageError: a GPU is asked for, and torch finds none; or compiled steps are, and there is no Numba.
    """
    torch.set_num_threads(config.torch_threads)
    config = _with_device(config, begun)
    if config.device == "cuda":
        repeat_bits()
        return dataclasses.replace(config, gradients="autograd")
    if config.gradients == "autograd":
        return config
    missing = why_not_compiled()
    if missing and config.gradients == "compiled":
        what = f"{begun}: has" if begun else "--gradients compiled: asks for"
        raise UsageError(f"{what} compiled gradient steps, and {missing}")
    return dataclasses.replace(config, gradients="autograd" if missing else "compiled")


def _with_device(config: ResolvedConfig, begun: str | None) -> ResolvedConfig:
    """Returns the configuration with the device that the run computes on; arguments and errors are those above."""
    if config.device == "cpu":
        return config
    pays = config.device == "cuda" or pays_on_gpu(config, config.problem().describe())
    missing = why_no_gpu() if pays else "too little work"
    if missing and config.device == "cuda":
        if begun:
            raise UsageError(
                f"{begun}: was begun with --device cuda, and {missing}; go on with it where there is a GPU"
            )
        raise UsageError(f"--device cuda: {missing}; use --device cpu, or auto for a GPU only where there is one")
    if missing:
        return dataclasses.replace(config, device="cpu")
    return dataclasses.replace(config, device="cuda")


def pays_on_gpu(config: ResolvedConfig, described: Description) -> bool:
    """Returns whether a configuration has work enough for a GPU, by its sizes alone; docs/running.md says why."""
    from ppo.algorithm.model.surrogate import FITTED  # imported here, since it is slow to load

    rows = config.episodes * config.time_steps // config.num_minibatches
    fitted = min(config.evaluations or 0, FITTED.of(described.obs_dim)) if config.model != "none" else 0
    return policy_parameters(config, described) * rows >= LEAST_WORK or fitted >= LEAST_FITTED


def why_no_gpu() -> str:
    """Returns why torch cannot compute on a GPU here; nothing where it can."""
    if not torch.backends.cuda.is_built():
        return f"torch {torch.__version__} is built without CUDA"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a driver that is too old, say: the line below is to be the only one
        if not torch.cuda.is_available():
            return "torch finds no GPU on this machine"
        try:
            torch.zeros(1, device="cuda")
        except RuntimeError as error:  # it is taken by another process, or has no memory left
            return f"the GPU cannot be used ({str(error).splitlines()[0]})"
    return ""


def why_not_compiled() -> str:
    """Returns why gradient steps cannot be compiled here; nothing where they can."""
    try:
        numba = importlib.import_module("numba")
    except Exception as error:  # it may be there and not bear the version of Python or of NumPy
        return f"Numba cannot be loaded ({str(error).partition(chr(10))[0]}); pip install numba"
    return "NUMBA_DISABLE_JIT keeps Numba from compiling; unset it" if numba.config.DISABLE_JIT else ""


def fallback_words(asked: ResolvedConfig, config: ResolvedConfig) -> str:
    """Returns what to say of the gradients that a run has where others were hoped for; nothing where there is none."""
    if (asked.gradients, config.gradients, config.device) != ("auto", "autograd", "cpu"):
        return ""
    return f"gradients are autograd's, which is slower on small networks: {why_not_compiled()}"


@contextlib.contextmanager
def prepared(learner: Learner, asked: bool) -> Iterator[None]:
    """Does beside a block what the first training step would wait for otherwise.

    Args:
        learner: whose step.
        asked: whether a bench is asked for its evaluations; then there may be no step in this call.
    """

    def prepare() -> None:
        with contextlib.suppress(Exception):  # the step meets the same, and ends the run by it
            learner.prepare()

    if asked:
        yield
        return
    thread = threading.Thread(target=prepare)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def repeat_bits() -> None:
    """Has torch take only algorithms that give the same bits each time on a GPU, in full precision."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the first product is computed
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")  # no TF32


def gpu_in_use(config: ResolvedConfig) -> str | None:
    """Returns how NVML names the GPU that a settled configuration computes on; None for the processor."""
    return f"GPU-{torch.cuda.get_device_properties('cuda').uuid}" if config.device == "cuda" else None


def ranges(config: ResolvedConfig) -> Callable[[str], Any]:
    """Returns what marks a block by name for a profiler of GPUs (NVTX); on the processor it does nothing."""
    return torch.cuda.nvtx.range if config.device == "cuda" else contextlib.nullcontext
