"""Bisection: the commit, run and model that broke a condition."""
