"""The studies behind ``python -m ppo.study``, one module each, with what only they need.

A study has ``TAKES``, the options that it understands, ``GROUPS``, the parts that ``--only`` may name, and ``run``.
"""
