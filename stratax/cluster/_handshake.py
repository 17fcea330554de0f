"""How the two ends of a connection prove to each other that they know the cluster's key (cluster layer).

Pure functions of bytes; `_door` and `_channel` carry them over connections. Every part has a fixed size, so that
nothing has to be believed before it is authenticated:

1. The client sends its nonce, authenticated with the key. Who does not know the key is sent nothing, not even a nonce.
2. The server answers with its own nonce, authenticated together with the client's: a recorded answer is of no use.
3. The client authenticates both nonces: a recorded first message ends here.

What follows is authenticated with keys of this connection and direction, and numbered (see `Seal`), so that no message
can be changed, left out, sent again, sent back, or taken to another connection. It is not encrypted.
"""

import dataclasses
import hmac
import secrets

# What every connection begins with: the protocol and its version.
MAGIC = b"STRATAX2"

# The kind of a connection over which a task joins.
TASK = b"T"

# The kind of a connection that carries JAX' traffic.
JAX = b"J"

_NONCE_SIZE = 32
TAG_SIZE = 32
HELLO_SIZE = len(MAGIC) + 1 + _NONCE_SIZE + TAG_SIZE
ANSWER_SIZE = _NONCE_SIZE + TAG_SIZE
PROOF_SIZE = TAG_SIZE


class AuthenticationError(ConnectionError):
    """What came over a connection was not written by who knows the cluster's key, or not for this connection."""


class Seal:
    """Authenticates the messages of one direction of a connection, in their order.

    Args:
        key: The key of the direction.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0

    def tag(self, digest: bytes) -> bytes:
        """Return the tag of the next message.

        Args:
            digest: The SHA-256 of the message.
        """
        # Numbered, so that a message can't be replayed, dropped or reordered without breaking all tags behind
        # it.
        number = self._number.to_bytes(8, "big")
        self._number += 1
        return hmac.digest(self._key, number + digest, "sha256")

    def check(self, digest: bytes, tag: bytes) -> None:
        """Check the tag of the next message.

        Args:
            digest: The SHA-256 of the message.
            tag: What came with it.

        Raises:
            AuthenticationError: If it is another's.
        """
        # Counted also when it fails: there is no second try on this connection.
        if not hmac.compare_digest(self.tag(digest), tag):
            raise AuthenticationError("a message that is not authentic")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Seals:
    """The seals of a connection, as one of its ends sees them."""

    send: Seal
    receive: Seal


class ClientHandshake:
    """The side that connects.

    Args:
        key: The cluster's key.
        kind: What the connection is for: `TASK` or `JAX`.

    Attributes:
        hello: What to send first.
    """

    def __init__(self, key: bytes, kind: bytes) -> None:
        self._key = key
        begin = MAGIC + kind + secrets.token_bytes(_NONCE_SIZE)
        self.hello = begin + _mac(key, b"hello", begin)

    def finish(self, answer: bytes) -> tuple[bytes, Seals]:
        """Check the server's answer.

        Args:
            answer: What it sent, `ANSWER_SIZE` bytes.

        Returns:
            The proof to send, and the seals of what follows.

        Raises:
            AuthenticationError: If it does not know the key.
        """
        # Over this connection's nonce, so that an answer recorded elsewhere fails.
        _check(self._key, b"answer", self.hello + answer[:_NONCE_SIZE], answer[_NONCE_SIZE:])
        both = self.hello + answer
        client, server = _directions(self._key, both)
        return _mac(self._key, b"proof", both), Seals(send=client, receive=server)


class ServerHandshake:
    """The side that is connected to.

    Args:
        key: The cluster's key.
        hello: What the client sent first, `HELLO_SIZE` bytes.

    Raises:
        AuthenticationError: If it does not know the key.

    Attributes:
        kind: What the connection is for.
        answer: What to send.
    """

    def __init__(self, key: bytes, hello: bytes) -> None:
        # First, as it is cheap, and tells other programs and versions from wrong secrets.
        if not hello.startswith(MAGIC):
            raise AuthenticationError("not a task of Stratax, or of another version")
        _check(key, b"hello", hello[:-TAG_SIZE], hello[-TAG_SIZE:])
        self._key = key
        self._hello = hello
        self.kind = hello[len(MAGIC) : len(MAGIC) + 1]
        nonce = secrets.token_bytes(_NONCE_SIZE)
        self.answer = nonce + _mac(key, b"answer", hello + nonce)

    def finish(self, proof: bytes) -> Seals:
        """Check that the client saw the answer, so that it is not a recorded one.

        Args:
            proof: What it sent, `PROOF_SIZE` bytes.

        Returns:
            The seals of what follows.

        Raises:
            AuthenticationError: If it is wrong.
        """
        both = self._hello + self.answer
        _check(self._key, b"proof", both, proof)
        client, server = _directions(self._key, both)
        return Seals(send=server, receive=client)


def _directions(key: bytes, both: bytes) -> tuple[Seal, Seal]:
    """Return the seals of what the client sends, and of what the server sends."""
    # A key for each direction: a message can't be sent back to its author.
    return Seal(_mac(key, b"client", both)), Seal(_mac(key, b"server", both))


def _mac(key: bytes, purpose: bytes, text: bytes) -> bytes:
    # The purposes differ, so what is written for one of them is of no use for another.
    return hmac.digest(key, purpose + b"\0" + text, "sha256")


def _check(key: bytes, purpose: bytes, text: bytes, tag: bytes) -> None:
    if not hmac.compare_digest(_mac(key, purpose, text), tag):
        raise AuthenticationError(f"a wrong {purpose.decode()}: the other side has another secret")
