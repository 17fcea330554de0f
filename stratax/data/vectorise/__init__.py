"""Call a function once for a whole block of elements where a proof says that it may be."""
