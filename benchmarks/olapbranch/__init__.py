"""Branching as others measure it: OlapBranchBench's two parts, and BranchBench's depth."""
