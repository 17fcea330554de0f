"""Arrow Flight, which carries messages; an extra (servers layer)."""

import os

from stratax.errors import MissingPackageError

# Else each connection of a stranger writes a line, and a flood of them fills a disk. What a user sets is kept.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

try:
    import pyarrow as pa
    from pyarrow import flight
except ImportError as error:
    raise MissingPackageError(
        "Parameter servers need pyarrow, whose Flight carries their messages. Do: pip install 'stratax-train[servers]'"
    ) from error

__all__ = ["flight", "pa"]
