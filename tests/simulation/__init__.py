"""A deterministic simulator: the real pool, merge and learner over simulated drivers and a simulated disk.

One scheduler, seeded, with a virtual clock, decides when each message arrives, which drivers die, and when the learner
does. What must come out is known: the bits of the run without drivers and without trouble. In the manner of
FoundationDB's and TigerBeetle's simulators.

    python -m tests.simulation --schedules 1000          # run so many schedules
    python -m tests.simulation --seed 17                 # replay one and tell what happens in it
"""
