"""Functions of strings and tables: on the host, before a step, and after it."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.tensorflow.v1.host_steps import HostStep

lookup, strings = tf.lookup, tf.strings
# What TensorFlow 2.15 gives.
TEXTS = ["", "a", "hello world, and more", "12345678"]


def test_hashes_are_tensorflows():
    assert strings.to_hash_bucket(TEXTS, 1000).tolist() == [899, 868, 954, 287]
    assert strings.to_hash_bucket_strong(TEXTS, 1000, [1, 2]).tolist() == [435, 646, 45, 12]
    assert strings.to_hash_bucket_fast("hello", 1000) == 13009744463427800296 % 1000
    assert tf.string_to_hash_bucket([["a"]], 1000).tolist() == [[868]]
    with pytest.raises(errors.BadArgumentError, match="num_buckets must be a whole number"):
        strings.to_hash_bucket_fast("a", 0)
    with pytest.raises(errors.BadArgumentError, match="key must have two"):
        strings.to_hash_bucket_strong("a", 5, [1])


def test_numbers_become_text_as_tensorflow_writes_them():
    numbers = [1.5, 1e10, float("nan"), float("inf"), -0.1]
    assert tf.as_string(numbers).tolist() == [
        b"1.500000",
        b"10000000000.000000",
        b"nan",
        b"inf",
        b"-0.100000",
    ]
    assert tf.as_string([1, -2]).tolist() == [b"1", b"-2"]
    assert tf.as_string([True]).tolist() == [b"true"]
    assert tf.as_string(3.14159, precision=2) == b"3.14"
    assert tf.as_string(3.14159, scientific=True) == b"3.141590e+00"
    assert tf.as_string([1.23456789e-7], shortest=True).tolist() == [b"1.23457e-07"]
    assert tf.as_string(3, width=5, fill="0") == b"00003"
    assert tf.as_string(["a"]).tolist() == [b"a"]
    with pytest.raises(errors.BadArgumentError, match="Cannot select both"):
        tf.as_string(1.0, scientific=True, shortest=True)
    with pytest.raises(errors.BadArgumentError, match="Fill must be one character"):
        tf.as_string(1.0, fill="00")


def test_text_is_changed_as_tensorflow_does():
    assert strings.join(["a", ["b", "c"]], "-").tolist() == [b"a-b", b"a-c"]
    assert (strings.lower("ABCÄ"), strings.upper("ä", encoding="utf-8")) == ("abcÄ".encode(), "Ä".encode())
    assert strings.strip([" a\n"]).tolist() == [b"a"]
    assert strings.length(["ä", ""]).tolist() == [2, 0]
    assert strings.length("ä", unit="UTF8_CHAR") == 1
    assert strings.substr("hello", 1, 3) == b"ell"
    assert strings.substr("äbc", -2, 5, unit="UTF8_CHAR") == b"bc"
    assert strings.regex_replace("a1b22", r"(\d+)", r"<\1>") == b"a<1>b<22>"
    assert strings.regex_replace("aa", "a", r"[\0]", replace_global=False) == b"[a]a"
    assert strings.to_number(["1.5", "2"]).tolist() == [1.5, 2.0]
    assert strings.to_number("7", tf.int32) == 7
    with pytest.raises(errors.BadArgumentError, match="could not correctly convert string: b'x'"):
        strings.to_number("x")
    with pytest.raises(errors.BadArgumentError, match="pos is out of range"):
        strings.substr("a", 2, 1)
    for wrong in (lambda: strings.length("a", unit="x"), lambda: strings.substr("a", 0, 1, unit="x")):
        with pytest.raises(errors.BadArgumentError, match="unit must be"):
            wrong()
    with pytest.raises(errors.BadArgumentError, match="encoding must be"):
        strings.lower("a", encoding="latin1")


def test_in_a_model_fn_features_are_looked_up_before_the_step_and_results_after_it():
    ids = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a-1", "b-2"], [10, 20]), 0)

    def body(scope, features):
        keys = strings.join([features["s"], tf.as_string(features["x"])], "-")
        assert isinstance(keys, v1.HostTensor)
        assert keys.shape == features["x"].shape
        numbers = ids.lookup(keys) + features["x"]
        return {
            "numbers": numbers,
            "text": strings.join([keys, tf.as_string(numbers), tf.gather(["zero", "one"], numbers % 2)], " "),
        }

    step = HostStep(body)
    for s, x, wanted in ((["a", "b"], [1, 2], [11, 22]), (["b"], [2], [22])):
        made = step({"s": np.array([text.encode() for text in s], object), "x": np.array(x, np.int32)})
        assert made["numbers"].tolist() == wanted
        text = v1.values_after_step(made)["text"].tolist()
        assert text[-1] == b"b-2 22 zero"
        assert len(text) == len(s)


def test_in_other_compiled_functions_strings_are_refused():
    @sx.function
    def compute(x):
        return tf.as_string(x)

    with pytest.raises(errors.BadTypeError, match="as_string computes strings on the host"):
        compute(np.ones(1))


def test_hashes_that_32_bits_do_not_hold_are_refused():
    def body(scope, features):
        return strings.to_hash_bucket_fast(features["s"], 2**40)

    with pytest.raises(errors.BadArgumentError, match="32 bits do not hold"):
        HostStep(body)({"s": np.array([b"hello"], object), "x": np.zeros(1)})


def test_functions_that_rearrange_take_features_and_what_is_made_of_results():
    def body(scope, features):
        s = features["s"]
        column = tf.expand_dims(tf.identity(s), 1)
        both = tf.concat([column, tf.reshape(s, [-1, 1])], 1)
        assert (column.shape, both.shape) == ((*s.shape, 1), (*s.shape, 2))
        is_a = tf.cast(tf.equal(s, "a"), tf.int32)
        names = tf.reshape(tf.gather(["other", "a"], is_a), [-1, 1])
        return {"is_a": is_a, "both": scope.features.as_result(both), "names": names}

    step = HostStep(body)
    for texts in (["a", "b"], ["b", "c", "a"]):
        made = step({"s": np.array([text.encode() for text in texts], object), "x": np.zeros(len(texts))})
        assert made["is_a"].tolist() == [int(text == "a") for text in texts]
        made = v1.values_after_step(made)
        assert made["both"].tolist() == [[text.encode()] * 2 for text in texts]
        assert made["names"].tolist() == [[b"a" if text == "a" else b"other"] for text in texts]


def test_sparse_features_are_no_predictions_and_no_dense_strings():
    def body(scope, features):
        with pytest.raises(errors.BadTypeError, match="takes dense strings"):
            strings.lower(features["s"])
        with pytest.raises(errors.BadTypeError, match="one row for each example"):
            scope.features.as_result(features["s"])
        return features["x"]

    sparse = sx.data.SparseTensor(np.array([[0, 1]]), np.array([b"b"], object), np.array([1, 2]))
    step = HostStep(lambda scope, features: body(scope, {**features, "s": v1.HostTensor("s", None)}))
    step({"s": sparse, "x": np.zeros(1)})
