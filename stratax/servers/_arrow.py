"""Arrow Flight, which carries messages; an extra (servers layer)."""

from stratax.errors import MissingPackageError

try:
    import pyarrow as pa
    from pyarrow import flight
except ImportError as error:
    raise MissingPackageError(
        "Parameter servers need pyarrow, whose Flight carries their messages. Do: pip install 'stratax[servers]'"
    ) from error

__all__ = ["flight", "pa"]
