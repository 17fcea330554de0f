"""Map: the node, its cursors, and the choice of how to call the function."""
