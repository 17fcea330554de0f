"""Shuffle: the buffer of a stream, and permutations of positions."""
