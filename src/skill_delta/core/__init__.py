"""What a skill, case, trial, check, delta and verdict are, and how each follows from the last.

Pure: no network, files, clock, environment or global randomness.
"""
