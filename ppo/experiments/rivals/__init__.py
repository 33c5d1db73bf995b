"""Rivals of this program: other ways from a number of evaluations of f to a law, one file each, one contract.

A rival is a function ``(objective, evaluations, seed) -> law``: it may ask ``objective``, which counts, for at most
``evaluations`` values of f, and returns a function from conditions ``[m, conditions]`` to knobs ``[m, knobs]``. A law
that asks f again at each query does it through the same objective.
"""
