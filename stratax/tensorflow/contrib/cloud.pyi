from ._refused import BigtableClient as BigtableClient
from ._refused import configure_gcs as configure_gcs
