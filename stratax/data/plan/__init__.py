"""Describe a pipeline: nodes, what one iteration shares (`Run`), and orders of random operations."""
