"""What a server was told (serving layer)."""

import dataclasses
import os
import re
from collections.abc import Mapping

from stratax.base.shown import shown
from stratax.errors import BadArgumentError

# What a name may be for it to stand in a URL as it is.
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


# What an export has, and a SavedModel of TensorFlow.
_OF_EXPORTS = ("export.json", "saved_model.pb", "saved_model.pbtxt")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ServingOptions:
    """What a server serves, where, and within which limits.

    Attributes:
        models: The base folders, by the models' names. Each of a base's folders with a number for a name is a version.
        labels: Version numbers by label, by the models' names; these versions are kept loaded, too.
        host: The address to listen on.
        port: The port to listen on; 0 for one that is free.
        batch_milliseconds: How long a request may wait for others to be computed with; with 0 only those are joined
            that come while the device computes.
        max_batch: The most rows that requests are joined to; 1 joins none.
        max_rows: The most rows of a request.
        max_body_bytes: The most bytes of a request's body.
        max_pending_bytes: The most bytes of all bodies that are being worked on.
        max_requests: The most requests that are worked on at a time.
        max_connections: The most connections.
        timeout_seconds: How long a request may take, the sending of its body included.
        poll_seconds: How often the base folders are looked at.
        token: What a client has to send as its bearer token; None asks for none.
        tls_cert: The file with the server's certificates; None for plain HTTP.
        tls_key: The file with their key.
    """

    models: Mapping[str, str]
    labels: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = 8501
    batch_milliseconds: float = 0.0
    max_batch: int = 32
    max_rows: int = 4096
    max_body_bytes: int = 16 << 20
    max_pending_bytes: int = 256 << 20
    max_requests: int = 256
    max_connections: int = 1024
    timeout_seconds: float = 30.0
    poll_seconds: float = 1.0
    token: str | None = dataclasses.field(default=None, repr=False)
    tls_cert: str | None = None
    tls_key: str | None = None

    def __post_init__(self) -> None:
        if not self.models:
            raise BadArgumentError("A server needs at least one model. Received: models={}.")
        for name, base in self.models.items():
            _check_name("model", name)
            if any(os.path.exists(os.path.join(base, each)) for each in _OF_EXPORTS):
                raise BadArgumentError(
                    f"The base folder of the model {shown(name)} is an export itself. Expected: a folder in which each "
                    f"version is a folder with a number for a name, such as {shown(os.path.join(base, '1'))}. "
                    f"Received: {shown(base)}."
                )
            if not os.path.isdir(base):
                raise BadArgumentError(
                    f"The base folder of the model {shown(name)} is not there. Received: {shown(base)}."
                )
        for name, labels in self.labels.items():
            if name not in self.models:
                raise BadArgumentError(
                    f"There is a label of a model that is not served. Expected: one of {', '.join(self.models)}. "
                    f"Received: {shown(name)}."
                )
            for label in labels:
                _check_name("label", label)
        for name in ("max_batch", "max_rows", "max_body_bytes", "max_requests", "max_connections"):
            if getattr(self, name) < 1:
                raise BadArgumentError(
                    f"{name} must be at least 1. Received: {name}={shown(getattr(self, name))}."
                )
        for name in ("timeout_seconds", "poll_seconds"):
            if not getattr(self, name) > 0:
                raise BadArgumentError(
                    f"{name} must be more than 0. Received: {name}={shown(getattr(self, name))}."
                )
        if not 0 <= self.batch_milliseconds <= 1000 * self.timeout_seconds:
            raise BadArgumentError(
                "batch_milliseconds must be between 0 and the time that a request may take. Received: "
                f"batch_milliseconds={shown(self.batch_milliseconds)}, timeout_seconds={shown(self.timeout_seconds)}."
            )
        if self.max_pending_bytes < self.max_body_bytes:
            raise BadArgumentError(
                "max_pending_bytes must be at least max_body_bytes. Received: "
                f"{self.max_pending_bytes} and {self.max_body_bytes}."
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and self.token):
            raise BadArgumentError(
                "A token must be a line of printable ASCII text. Received: something else."
            )
        if (self.tls_cert is None) != (self.tls_key is None):
            raise BadArgumentError("TLS needs both a certificate and its key. Received: only one of them.")


def _check_name(kind: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadArgumentError(
            f"A {kind}'s name stands in URLs. Expected: up to 128 letters, digits, '_', '.' and '-'. Received: "
            f"{shown(name)}."
        )
