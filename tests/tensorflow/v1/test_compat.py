"""`tf.compat`: text and bytes, shapes, and the switches of TensorFlow 1 and 2."""

import pathlib

import pytest

import stratax.tf as tf
from stratax import errors


def test_text_and_bytes():
    compat = tf.compat
    assert compat.as_bytes("é") == compat.as_bytes(bytearray("é".encode())) == "é".encode()
    assert compat.as_text("é".encode()) == compat.as_str("é") == compat.as_str_any("é".encode()) == "é"
    assert compat.as_str_any(3) == "3"
    assert compat.path_to_str(pathlib.Path("a")) == "a"
    assert compat.path_to_str(3) == 3
    assert compat.path_to_bytes("a") == b"a"
    assert isinstance("x", compat.bytes_or_text_types)
    for function in (compat.as_bytes, compat.as_text):
        with pytest.raises(errors.BadTypeError, match="Expected text or bytes"):
            function(3)


def test_versions_are_modules_of_tf():
    assert tf.compat.v2 is tf
    assert tf.compat.forward_compatible(2020, 1, 1)
    assert not tf.compat.forward_compatible(2999, 1, 1)


def test_dimensions_are_numbers():
    assert tf.compat.dimension_value((tf.zeros([2, 3])).shape[1]) == 3
    assert tf.compat.v1.dimension_at_index(tf.zeros([2, 3]).shape, 0) == 2


@pytest.mark.parametrize(
    "name",
    [
        *("enable_v2_behavior", "disable_v2_behavior", "enable_eager_execution", "disable_eager_execution"),
        *(
            "enable_v2_tensorshape",
            "enable_resource_variables",
            "disable_control_flow_v2",
            "reset_default_graph",
        ),
    ],
)
def test_switches_are_accepted_and_change_no_computation(name):
    assert getattr(tf.compat.v1, name)() is None
    # The one that gives shapes of TensorFlow 1 holds for the whole program.
    tf.compat.v1.enable_v2_behavior()
    assert tf.executing_eagerly()
    assert (tf.constant(1) + 1) == 2


def test_what_a_switch_can_not_change_is_refused():
    assert tf.compat.v1.executing_eagerly_outside_functions()
    assert tf.compat.v1.control_flow_v2_enabled()
    assert tf.compat.v1.resource_variables_enabled()
    with pytest.raises(errors.BadArgumentError, match="a is b"):
        tf.compat.v1.disable_tensor_equality()


def test_specs_of_a_dataset_by_their_parts():
    data = tf.data.Dataset.from_tensor_slices(({"a": [[1.0, 2.0]]}, [1]))
    assert tf.compat.v1.data.get_output_types(data) == ({"a": tf.float32}, tf.int32) or (
        tf.compat.v1.data.get_output_types(data) == ({"a": tf.float64}, tf.int64)
    )
    assert [tuple(shape) for shape in (tf.compat.v1.data.get_output_shapes(data)[0]["a"],)] == [(2,)]
    assert len(tf.compat.v1.data.get_output_classes(data)) == 2
