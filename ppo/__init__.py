"""Learning: PPO and REINFORCE in PyTorch, and the commands ``python -m ppo.<verb>``.

From a program: ``tuninglaw.train(tuninglaw.Config(env="rosenbrock", drivers=4), "runs/mine")``.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ppo.processor import fix_kernels
from ppo.startup import check_packages, end_by_ctrl_c

if "tuninglaw" not in sys.modules:  # which knows whether a law is to be trained or only used
    fix_kernels()
if sys.argv[:1] == ["-m"]:  # which it is while Python looks for the module to run
    end_by_ctrl_c(sys.orig_argv)
check_packages(sys.orig_argv if sys.argv[:1] == ["-m"] else [])

if TYPE_CHECKING:
    from ppo.config import Config, resolve

__all__ = ["Config", "resolve"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # when they are first used: a command looks for packages in the way first
        return getattr(importlib.import_module("ppo.config"), name)
    raise AttributeError(f"module 'ppo' has no attribute '{name}'")
