"""Read files as a Dataset: TFRecord, text lines, CSV, fixed-length records and Parquet."""
