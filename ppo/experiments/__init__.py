"""What benchmarks, searches and studies share: workloads, a peer to compare with, tables, parallel calls.

Anything that one study alone needs lives with that study.
"""
