"""Pure functions from manifests to plans."""
