"""Read and write files of records: framing, checksums, and where a record stands."""
