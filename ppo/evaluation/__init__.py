"""Measures of laws and policies: errors, regrets, returns of held-out episodes, and a picture of regrets.

Nothing here may train, or read or write run directories.
"""
