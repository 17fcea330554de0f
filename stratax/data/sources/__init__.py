"""Give elements that no other node gives: arrays, ranges, generators, and files of records."""
