"""Compute with numbers: element by element, in sums, as matrices."""
