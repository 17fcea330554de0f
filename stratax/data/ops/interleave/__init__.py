"""Interleave and flat_map: the node and its cursor."""
