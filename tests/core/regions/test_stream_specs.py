"""What describes iterators and Optionals; TensorFlow 2.21's answers."""

import pytest

import stratax.tf as tf
from stratax.errors import BadTypeError

NUMBER = tf.TensorSpec([], tf.int32)
Optional = tf.experimental.Optional


def test_has_value_is_a_tensor():
    assert Optional.from_value(1).has_value().numpy()
    assert not Optional.empty(NUMBER).has_value().numpy()
    iterator = iter(tf.data.Dataset.range(1))
    assert [iterator.get_next_as_optional().has_value().numpy().item() for _ in range(2)] == [True, False]


def test_specs_describe_by_elements():
    assert repr(tf.OptionalSpec(NUMBER)) == f"OptionalSpec({NUMBER!r},)"
    assert repr(tf.data.IteratorSpec(NUMBER)) == f"IteratorSpec({NUMBER!r},)"
    assert tf.OptionalSpec(NUMBER) == tf.OptionalSpec(NUMBER) != tf.data.IteratorSpec(NUMBER)
    assert len({tf.OptionalSpec(NUMBER), tf.OptionalSpec(NUMBER)}) == 1
    assert tf.OptionalSpec(NUMBER).is_compatible_with(Optional.from_value(1))
    assert not tf.OptionalSpec(NUMBER).is_compatible_with(Optional.from_value(1.0))
    assert not tf.OptionalSpec(NUMBER).is_compatible_with(1)
    iterator = iter(tf.data.Dataset.range(2))
    assert tf.data.IteratorSpec.from_value(iterator).element_spec == tf.TensorSpec([], tf.int64)
    assert tf.OptionalSpec(NUMBER).value_type is Optional


def test_a_signature_may_have_an_optional():
    @tf.function(input_signature=[tf.OptionalSpec(NUMBER)])
    def doubled(optional):
        if optional.has_value():
            return optional.get_value() * 2
        return -1

    assert [int(doubled(each)) for each in (Optional.from_value(5), Optional.empty(NUMBER))] == [10, -1]
    with pytest.raises(BadTypeError, match="does not fit its signature"):
        doubled(Optional.from_value(0.5))


def test_a_signature_may_have_an_iterator():
    @tf.function(input_signature=[tf.data.IteratorSpec(tf.TensorSpec([], tf.int64))])
    def squared(iterator):
        x = iterator.get_next()
        return x * x

    iterator = iter(tf.data.Dataset.range(1, 5))
    assert [int(squared(iterator)) for _ in range(2)] == [1, 4]
    with pytest.raises(BadTypeError, match="does not fit its signature"):
        squared(iter(tf.data.Dataset.from_tensors(0.5)))
