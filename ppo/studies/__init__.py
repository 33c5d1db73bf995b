"""The studies of ``python -m ppo.study``, one module each, and the modules that only they need.

A study has ``TAKES``, the options that it takes, ``GROUPS``, the groups that ``--only`` may name, and ``run``. What
benchmarks or searches need as well may not live here.
"""
