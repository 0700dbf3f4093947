"""What a person is told: each answer of the verbs as lines and grids."""
