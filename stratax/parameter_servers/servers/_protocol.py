"""What the two sides of a connection to a parameter server agree on: names, limits, and how errors travel."""

from typing import Any

from stratax import errors

# Raised whenever an older task could misunderstand a newer one.
PROTOCOL = 1

# The action that tells what a server has drawn for proofs.
CHALLENGE = "stratax.challenge"

# The errors of a server that a task raises again, by name; any other becomes an InternalError.
_ERRORS: dict[str, type[errors.StrataxError]] = {
    kind.__name__: kind
    for kind in (
        *(errors.BadArgumentError, errors.BadTypeError, errors.DataLossError, errors.FailedPreconditionError),
        *(errors.AbortedError, errors.ResourceExhaustedError, errors.CancelledError, errors.OutOfRangeError),
        *(errors.PeerLostError, errors.ClusterTimeoutError, errors.DataError, errors.TracingError),
        *(errors.UnknownError, errors.UnimplementedError, errors.UnauthenticatedError),
    )
}
_MOST_TEXT = 2000


def error_header(error: Exception) -> dict[str, Any]:
    """Return the header that tells of an error."""
    name = type(error).__name__
    text = str(error) if name in _ERRORS else f"{name}: {error}"
    return {"error": name, "message": text[:_MOST_TEXT]}


def raise_error(header: dict[str, Any], server: str) -> None:
    """Raise what a header tells of; do nothing where it is a good answer.

    Args:
        header: The header.
        server: The name of the server.
    """
    if "error" in header:
        kind = _ERRORS.get(header["error"], errors.InternalError)
        error = kind(f"{header['message']} (said by {server})")
        # What tells it from an error of the connection itself.
        error.said_by = server  # type: ignore[attr-defined]
        raise error
