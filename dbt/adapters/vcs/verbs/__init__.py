"""What a person does with a repository: plain functions that return frozen values."""
