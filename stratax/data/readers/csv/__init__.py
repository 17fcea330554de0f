"""Read CSV files as a Dataset: the format, the records and the batches of columns."""
