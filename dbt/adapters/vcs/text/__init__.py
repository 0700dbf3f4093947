"""Output for people: the result of each verb as lines and grids."""
