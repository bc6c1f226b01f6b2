"""The version of the numbers that training makes.

Raise it when a change to the training code changes any trained number: every trajectory is then
out of date. A test compares the code with the fingerprint recorded for this version, so that a
change cannot go unnoticed (see fittest.training.fingerprint).
"""

TRAINING_VERSION = 2
