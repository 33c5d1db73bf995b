"""How good a law or a policy is: errors, regrets, returns of held-out episodes, and their pictures.

Trains nothing and knows no run directory.
"""
