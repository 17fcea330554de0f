"""Take the data loaders and data sets of other libraries as a Dataset."""
