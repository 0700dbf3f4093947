"""One branch as statements see it: reads mounted lazily, changes gathered until they land."""
