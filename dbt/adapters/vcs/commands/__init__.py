"""Commands: a file a verb, with its options, its report and its lines of text."""
