"""Exploration: sweeps over many drives, loads and policies, and the choice of the best."""
