"""Learning: PPO and REINFORCE in PyTorch, and the commands ``python -m ppo.<verb>``.

From a program: ``ppo.train.train(Config(env="rosenbrock", drivers=4), "runs/mine")``.
"""

from ppo.config import Config, resolve

__all__ = ["Config", "resolve"]
