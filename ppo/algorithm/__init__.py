"""The learner: from trajectories to advantages to gradient steps, and the schedules in between.

Knows no environment, file or process.
"""
