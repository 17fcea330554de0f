"""From a dataset to the replicas' devices: reading steps, reading ahead, dividing batches, agreeing between workers."""
