"""Pools: who runs the slots of a training step, in this process, in threads or in driver processes.

How slots are dealt out, watched and collected lives here; what a slot does (``actors.rollout``) does not.
"""
