"""Call the function of a `map` in worker processes, over shared memory."""
