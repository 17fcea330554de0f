"""Text with the methods and operators of tensors: its classes, and what NumPy makes of it."""

import pickle

import numpy as np
import pytest

import stratax.tf as tf
from stratax.data.elements import TextArray, TextScalar, as_array, as_element
from stratax.errors import BadArgumentError, BadTypeError


def test_numpy_takes_text_for_text():
    digits, name = tf.constant("12"), tf.constant("a")
    assert np.array([digits, name]).tolist() == [b"12", b"a"]
    assert np.array(digits).tolist() == b"12"
    assert (np.shape(name), np.ndim(name), np.size(name)) == ((), 0, 1)
    assert (np.array(["a", "b"]) == name).numpy().tolist() == [True, False]
    assert np.isin(tf.constant(["a", "b"]), [b"b"]).tolist() == [False, True]


def test_text_keeps_its_zero_bytes_and_its_class():
    text = tf.constant(b"a\0\0")
    again = pickle.loads(pickle.dumps(text))
    assert (type(again), again.numpy(), len(again), text.item(), text.tolist()) == (
        TextScalar,
        b"a\0\0",
        3,
        b"a\0\0",
        b"a\0\0",
    )
    assert (type(as_array(text)), as_array([text, "b"]).tolist()) == (bytes, [b"a\0\0", b"b"])
    assert {b"a": 1}[tf.constant("a")] == 1


def test_what_is_computed_of_text_need_not_be_text():
    texts = tf.constant(["3", "4"])
    assert (type(texts), type(texts[:1]), type(texts[0])) == (TextArray, TextArray, TextScalar)
    assert not isinstance(texts.astype(np.int64), TextArray)
    assert (texts.astype(np.int64) / 2).numpy().tolist() == [1.5, 2.0]
    assert type(as_element(np.array(b"a", object))) is TextScalar


def test_numbers_beside_text_are_refused():
    for compute in (lambda x: x == 3, lambda x: x != np.ones(2), lambda x: x + 1.5):
        for text in (tf.constant("a"), tf.constant(["a", "b"])):
            with pytest.raises(BadTypeError, match="Text is compared with text.*tf.strings.as_string"):
                compute(text)
    for compute in (lambda x: x == "3", lambda x: x != ["3"], lambda x: x == np.array(["3", "4"])):
        with pytest.raises(BadTypeError, match="Numbers are not compared with text.*tf.strings.to_number"):
            list(tf.data.Dataset.range(3).map(compute))
    with pytest.raises(BadTypeError, match="Text has no operator `__mul__`.*Use the functions of tf.strings"):
        tf.constant(["a", "b"]) * 2
    with pytest.raises(BadArgumentError, match=r"shapes that fit together. Received: \(2,\) and \(3,\)"):
        tf.constant(["a", "b"]) + np.array(["a", "b", "c"])
    with pytest.raises(TypeError, match=r"unhashable. Use array.ref\(\)"):
        hash(tf.constant(["a", "b"]))


def test_arrays_of_text_keep_their_class_when_they_are_pickled_or_copied():
    texts = tf.constant([["a", "b"]])
    for again in (pickle.loads(pickle.dumps(texts)), texts.copy(), texts.T, texts.reshape(2)):
        assert type(again) is TextArray
        assert (again == "a").numpy().ravel().tolist() == [True, False]
