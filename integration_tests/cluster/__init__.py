"""A standalone Spark cluster on this machine, and what may go wrong on one: ``make cluster``."""
