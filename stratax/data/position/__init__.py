"""Read elements from a position on that can be saved: cursors, and what reads ahead of them."""
