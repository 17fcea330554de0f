"""The handshake and the seals: who does not know the key gets nowhere, and no message can be used twice."""

import hashlib

import pytest

from stratax.cluster._handshake import (
    ANSWER_SIZE,
    HELLO_SIZE,
    JAX,
    MAGIC,
    PROOF_SIZE,
    TASK,
    AuthenticationError,
    ClientHandshake,
    ServerHandshake,
)

KEY, OTHER = b"k" * 32, b"o" * 32


def shaken(key=KEY, kind=TASK):
    """Both ends of a handshake that went well."""
    client = ClientHandshake(key, kind)
    server = ServerHandshake(key, client.hello)
    proof, client_seals = client.finish(server.answer)
    return client, server, proof, client_seals, server.finish(proof)


def digest(text):
    return hashlib.sha256(text).digest()


@pytest.mark.parametrize("kind", [TASK, JAX])
def test_two_who_know_the_key_understand_each_other(kind):
    client, server, proof, ours, theirs = shaken(kind=kind)
    assert (len(client.hello), len(server.answer), len(proof)) == (HELLO_SIZE, ANSWER_SIZE, PROOF_SIZE)
    assert HELLO_SIZE < 1024
    assert server.kind == kind
    for text in (b"one", b"two", b"two"):
        theirs.receive.check(digest(text), ours.send.tag(digest(text)))
        ours.receive.check(digest(text), theirs.send.tag(digest(text)))


def test_who_has_another_key_is_refused_at_his_first_message():
    with pytest.raises(AuthenticationError, match="wrong hello: the other side has another secret"):
        ServerHandshake(KEY, ClientHandshake(OTHER, TASK).hello)


def test_a_coordinator_with_another_key_is_refused():
    client, server = ClientHandshake(KEY, TASK), ServerHandshake(OTHER, ClientHandshake(OTHER, TASK).hello)
    with pytest.raises(AuthenticationError, match="wrong answer"):
        client.finish(server.answer)


def test_another_version_is_refused():
    hello = ClientHandshake(KEY, TASK).hello
    with pytest.raises(AuthenticationError, match="of another version"):
        ServerHandshake(KEY, hello.replace(MAGIC, b"STRATAX1"))


def test_no_byte_of_the_handshake_can_be_changed():
    client = ClientHandshake(KEY, TASK)
    server = ServerHandshake(KEY, client.hello)
    proof, _ = client.finish(server.answer)
    for whole, use in (
        (client.hello, lambda data: ServerHandshake(KEY, data)),
        (server.answer, client.finish),
        (proof, server.finish),
    ):
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= 0x10
            with pytest.raises(AuthenticationError):
                use(bytes(changed))


@pytest.mark.parametrize("size", [0, 1, 8, 40])
def test_what_is_cut_off_is_refused(size):
    client = ClientHandshake(KEY, TASK)
    server = ServerHandshake(KEY, client.hello)
    for use, data in (
        (lambda cut: ServerHandshake(KEY, cut), client.hello),
        (client.finish, server.answer),
        (server.finish, client.finish(server.answer)[0]),
    ):
        with pytest.raises(AuthenticationError):
            use(data[: min(size, len(data) - 1)])


def test_a_recorded_handshake_is_of_no_use():
    client, server, proof, *_ = shaken()
    again = ServerHandshake(KEY, client.hello)
    with pytest.raises(AuthenticationError, match="wrong proof"):
        again.finish(proof)
    with pytest.raises(AuthenticationError, match="wrong answer"):
        ClientHandshake(KEY, TASK).finish(server.answer)


def test_what_one_end_says_can_not_be_sent_back_to_it():
    client = ClientHandshake(KEY, TASK)
    server = ServerHandshake(KEY, client.hello)
    with pytest.raises(AuthenticationError, match="wrong answer"):
        client.finish(client.hello[-ANSWER_SIZE:])
    with pytest.raises(AuthenticationError, match="wrong proof"):
        server.finish(server.answer[-PROOF_SIZE:])
    *_, ours, _ = shaken()
    tag = ours.send.tag(digest(b"one"))
    with pytest.raises(AuthenticationError, match="not authentic"):
        ours.receive.check(digest(b"one"), tag)


def test_messages_can_not_be_repeated_left_out_exchanged_or_taken_to_another_connection():
    *_, ours, theirs = shaken()
    first, second = (ours.send.tag(digest(text)) for text in (b"one", b"two"))
    with pytest.raises(AuthenticationError, match="not authentic"):
        theirs.receive.check(digest(b"two"), second)
    *_, ours, theirs = shaken()
    one = ours.send.tag(digest(b"one"))
    theirs.receive.check(digest(b"one"), one)
    with pytest.raises(AuthenticationError, match="not authentic"):
        theirs.receive.check(digest(b"one"), one)
    *_, others = shaken()
    with pytest.raises(AuthenticationError, match="not authentic"):
        others.receive.check(digest(b"one"), first)
