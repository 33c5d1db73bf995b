"""The archive of a run: every evaluation of f that was paid for, kept as it arrives, played back, reused and exported.

Learning may not live here: an archive knows of problems, jobs and trajectories alone.
"""
