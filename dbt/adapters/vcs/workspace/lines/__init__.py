"""An open branch: each statement goes to its handler, and what it changed is landed."""
