"""Look up keys, ids and labels."""
