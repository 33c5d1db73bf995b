"""What benchmarks, searches and studies share: workloads, Stable-Baselines3 as a peer, tables, and parallel calls.

Nothing that a single study needs may live here; it belongs to that study in ``ppo/studies``.
"""
