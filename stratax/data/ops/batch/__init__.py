"""Batch, padded_batch and unbatch: the nodes and their cursors."""
