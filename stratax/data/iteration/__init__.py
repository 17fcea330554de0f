"""Iterate over a plan: `DatasetIterator`, and streams of elements in compiled functions."""
