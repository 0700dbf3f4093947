"""What versions were made from, and what follows from it."""
