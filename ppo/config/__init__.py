"""The configuration: its fields, their defaults, its resolution, ``config.json`` and the command line.

Loads no torch and runs nothing.
"""

from ppo.config.fields import Config
from ppo.config.resolution import resolve
from ppo.config.resolved import GAEConfig, ResolvedConfig, SlotConfig

__all__ = ["Config", "GAEConfig", "ResolvedConfig", "SlotConfig", "resolve"]
