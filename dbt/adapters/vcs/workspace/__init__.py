"""One branch as statements see it: reads are mounted lazily, changes collected to land."""
