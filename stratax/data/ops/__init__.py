"""Transform elements: one module or package for each operation of a Dataset."""
