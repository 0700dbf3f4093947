"""What a branch shows, with changes that are not committed yet."""
