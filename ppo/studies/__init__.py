"""The studies behind ``python -m ppo.study``."""
