"""What a Python program holds of a branch: tables that it reads without Java."""
