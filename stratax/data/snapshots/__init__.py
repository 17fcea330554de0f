"""Keep elements in files: save, load and `cache(filename)`."""
