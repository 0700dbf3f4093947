"""Chaos: processes that are killed and stores that fail, and a checker that knows what must stay.

`python -m chaos` runs a campaign; `docs/operations.md` says how to read its results.
"""
