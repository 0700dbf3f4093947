"""How one immutable version of a table becomes relations of Spark."""
