"""An element that may be missing, as `tf.experimental.Optional`."""

import pytest

import stratax.tf as tf

Optional = tf.experimental.Optional


def test_a_value_is_kept_and_none_refused():
    full = Optional.from_value({"a": 3, "b": tf.constant([1.0]), "c": "text"})
    assert full.has_value()
    assert int(full.get_value()["a"]) == 3
    assert full.get_value()["b"].numpy().tolist() == [1.0]
    empty = Optional.empty(tf.TensorSpec((), tf.int32))
    assert not empty.has_value()
    with pytest.raises(tf.errors.InvalidArgumentError, match="no value"):
        empty.get_value()


def test_the_next_element_is_one():
    iterator = iter(tf.data.Dataset.range(1))
    assert isinstance(iterator.get_next_as_optional(), Optional)
    assert not iterator.get_next_as_optional().has_value()


def test_a_compiled_function_makes_and_takes_one():
    @tf.function
    def doubled(optional):
        return Optional.from_value(optional.get_value() * 2)

    assert float(doubled(Optional.from_value(2.0)).get_value()) == 4.0
