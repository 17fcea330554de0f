"""Open, list and write files at paths and URLs; files and folders that appear whole."""
