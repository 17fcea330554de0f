"""A few bytes that stand for very many are refused before these are made, and large images are decoded in turns."""

import gzip
import threading
import zlib

import pytest

import stratax.tf as tf
from stratax.base import bounds
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.text import encodings

SPARSE = tf.io.VarLenFeature(tf.int64)
SEQUENCE = tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)


def example(values):
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()


@pytest.fixture
def most(monkeypatch):
    for module in (bounds, encodings):
        monkeypatch.setattr(module, "most_bytes", lambda: 8000)


def dense(examples):
    return tf.sparse.to_dense(tf.io.parse_example(examples, {"x": SPARSE})["x"])


def padded(examples):
    return tf.io.parse_example(examples, {"x": SEQUENCE})["x"]


@pytest.mark.usefixtures("most")
@pytest.mark.parametrize("function", [dense, padded])
def test_rows_of_which_one_is_long_are_refused(function):
    rows = [example([1] * 100), *[example([1])] * 9]
    assert function(rows).shape == (10, 100)
    with pytest.raises(BadArgumentError, match=r"at most 8000 bytes.*shape \(11, 100\) of 8 bytes"):
        function([*rows, example([2])])


def one_value(count):
    """A TensorProto of int64 with one size and one value, which stands for all."""
    dim = b"\x08" + bytes([count & 127 | 128, count >> 7])
    shape = b"\x12" + bytes([len(dim)]) + dim
    return b"\x08\x09\x12" + bytes([len(shape)]) + shape + b"\x52\x01\x05"


@pytest.mark.usefixtures("most")
def test_an_array_of_one_value_is_refused():
    assert tf.io.parse_tensor(one_value(1000), tf.int64).numpy().tolist() == [5] * 1000
    with pytest.raises(BadArgumentError, match=r"Received: shape \(1001,\)"):
        tf.io.parse_tensor(one_value(1001), tf.int64)


@pytest.mark.usefixtures("most")
@pytest.mark.parametrize(("kind", "compress"), [("ZLIB", zlib.compress), ("GZIP", gzip.compress)])
def test_compressed_strings_become_no_more_than_memory_allows(kind, compress):
    whole, half, other = (compress(each) for each in (bytes(8000), bytes(4000), b"a" * 4000))
    assert tf.io.decode_compressed([half, other], kind).numpy().tolist() == [bytes(4000), b"a" * 4000]
    assert tf.io.decode_compressed(whole, kind).numpy() == bytes(8000)
    for texts in ([compress(bytes(8001))], [half, other, compress(b"1")], [compress(bytes(10**7))]):
        with pytest.raises(BadArgumentError, match="decode_compressed would make.*at most 8000 bytes"):
            tf.io.decode_compressed(texts, kind)
    with pytest.raises(BadArgumentError, match="A string is not of .*cut off"):
        tf.io.decode_compressed([whole[:-3]], kind)


def test_those_that_take_turns_hold_few_pixels_together(monkeypatch):
    monkeypatch.setattr(bounds, "_MOST_PIXELS", 10)
    held, seen = [], []

    def decodes(count):
        with bounds.taking_turns():
            bounds.claim_pixels(count)
            held.append(count)
            seen.append(sum(held))
            threading.Event().wait(0.01)
            held.remove(count)

    workers = [
        threading.Thread(target=decodes, args=(count,), daemon=True) for count in (4, 4, 30, 4, 9, 1) * 3
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
        assert not worker.is_alive()
    # Sums are looked at while others leave, and no other comes to one that is larger than all.
    assert len(seen) == 18
    assert max(seen) == 30
    assert not any(10 < total < 30 for total in seen)


def test_who_holds_pixels_never_waits(monkeypatch):
    monkeypatch.setattr(bounds, "_MOST_PIXELS", 10)

    def within():
        with bounds.taking_turns(goes_on=goes_on):
            bounds.claim_pixels(9)

    with bounds.taking_turns():
        bounds.claim_pixels(8)
        bounds.claim_pixels(8)
        goes_on = bounds.holds_pixels()
        inner = threading.Thread(target=within, daemon=True)
        inner.start()
        inner.join(20)
        assert not inner.is_alive()
    assert not bounds.holds_pixels()
    # Whoever is in no turn decodes what it likes.
    bounds.claim_pixels(1000)
    with bounds.taking_turns():
        bounds.claim_pixels(10)
