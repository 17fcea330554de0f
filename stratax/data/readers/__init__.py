"""Read files as a Dataset: TFRecord, text lines, CSV, fixed-length records and Parquet.

The Datasets are public names of `stratax.data`; no other room uses what is here.
"""
