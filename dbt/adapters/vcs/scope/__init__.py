"""What one statement works with."""
