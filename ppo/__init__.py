"""Learning: PPO and REINFORCE in PyTorch, and the commands ``python -m ppo.<verb>``.

From a program: ``ppo.train.train(Config(env="rosenbrock", drivers=4), "runs/mine")``.
"""

import sys

from ppo.startup import end_by_ctrl_c

if sys.argv[:1] == ["-m"]:  # which it is while Python looks for the module to run
    end_by_ctrl_c(sys.orig_argv)

from ppo.config import Config, resolve

__all__ = ["Config", "resolve"]
