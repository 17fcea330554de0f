"""How a function is called: its name, where it runs, what its operands become."""
