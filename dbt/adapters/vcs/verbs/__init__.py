"""The verbs: what a person does with a repository, as functions that return frozen values."""
