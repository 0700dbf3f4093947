"""Takes results that were computed before, in place of computing them again."""
