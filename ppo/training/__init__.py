"""A training run: the loop, its clock, its files, and what it shows while it runs.

What is learned, and how it is judged, lives elsewhere (``ppo.algorithm``, ``ppo.evaluation``).
"""
