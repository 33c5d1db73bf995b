"""The learner: from trajectories to advantages to gradient steps, and the schedules in between.

Runs no environment, and knows no file or process.
"""
