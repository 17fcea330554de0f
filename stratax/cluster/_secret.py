"""The secret of a cluster, and the key that its tasks make of it (cluster layer)."""

import dataclasses
import hmac
import json
import os
import secrets
import stat

from stratax.cluster._cluster_spec import ClusterSpec
from stratax.errors import ClusterError

# The environment variable with the secret itself.
SECRET_VARIABLE = "STRATAX_CLUSTER_SECRET"

# The environment variable with the path of a file that holds the secret.
SECRET_FILE_VARIABLE = "STRATAX_CLUSTER_SECRET_FILE"

# 128 bits, where each byte is random; fewer could be guessed offline from a recorded handshake.
_LEAST_BYTES = 16
_MOST_BYTES = 4096
_REMEDY = (
    "Make one for all tasks of the job with `openssl rand -hex 32`, or python -c 'import secrets; "
    "print(secrets.token_hex(32))'"
)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    """What a task shows that it belongs to its cluster.

    Attributes:
        key: The key that messages are authenticated with. It is never sent and never shown.
        source: Where the secret that it was made of came from, in words; empty where there is none.
    """

    key: bytes = dataclasses.field(repr=False)
    source: str


def new_secret() -> str:
    """Return a secret that can't be guessed, as text for an environment variable."""
    return secrets.token_hex(32)


def read_credentials(cluster: ClusterSpec, job_id: str) -> Credentials:
    """Read the secret from the environment.

    Without one the key is made of what the tasks of a cluster have in common anyway, their description of it. Who knows
    that can join: it keeps others from learning anything, and is no secret.

    Args:
        cluster: The cluster.
        job_id: What tells this start of the job from any other; may be empty.

    Raises:
        ClusterError: If the secret can't be read, is too short, or others may read its file.
    """
    given = [name for name in (SECRET_VARIABLE, SECRET_FILE_VARIABLE) if os.environ.get(name)]
    if len(given) > 1:
        raise ClusterError(f"{given[0]} and {given[1]} are both set. Set one of them.")
    if not given:
        # Sorted, so that all tasks derive the same key.
        text = json.dumps([cluster.as_dict(), job_id], sort_keys=True)
        return Credentials(key=_derive(b"stratax: a cluster without a secret", text.encode()), source="")
    value = os.environ[given[0]]
    secret = os.fsencode(value) if given[0] == SECRET_VARIABLE else _read_file(value)
    source = given[0] if given[0] == SECRET_VARIABLE else f"{given[0]}={value}"
    return Credentials(
        key=_derive(_check(secret.strip(), source), b"stratax: a cluster's key"), source=source
    )


def _derive(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _check(secret: bytes, source: str) -> bytes:
    if not _LEAST_BYTES <= len(secret) <= _MOST_BYTES:
        raise ClusterError(
            f"The secret of {source} must have {_LEAST_BYTES} to {_MOST_BYTES} characters. {_REMEDY}. "
            f"Received: {len(secret)} characters."
        )
    return secret


def _read_file(path: str) -> bytes:
    try:
        # Not blocking: a pipe that nobody writes to would be waited for.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            # Of the open file: another could be put in its place between a look at the path and the read.
            _check_file(path, os.fstat(file.fileno()).st_mode)
            # One byte more than allowed, so that a file that is too long is noticed.
            return file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ClusterError(
            f"The cluster's secret can't be read ({error.strerror or error}). {_REMEDY}, in a file of mode 0600. "
            f"Received: {SECRET_FILE_VARIABLE}={path!r}."
        ) from error


def _check_file(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise ClusterError(
            f"The cluster's secret must be in a file. Received: {SECRET_FILE_VARIABLE}={path!r}."
        )
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise ClusterError(
            f"Other users may read or change the file with the cluster's secret, so it is none. Do `chmod 600` on it, "
            f"and put another secret into it if others could read it. Received: {SECRET_FILE_VARIABLE}={path!r} of "
            f"mode {stat.S_IMODE(mode):04o}."
        )
