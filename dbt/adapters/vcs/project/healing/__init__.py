"""Healing: what a run computed is computed again on what its target shows meanwhile."""
