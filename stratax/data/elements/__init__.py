"""Describe a Dataset's elements: specs, structures, arrays, blocks of rows, and draws that belong to an element."""
