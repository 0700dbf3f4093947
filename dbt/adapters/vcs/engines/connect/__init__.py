"""The engine on a Spark Connect server: all names of a branch are temporary views of a session."""
