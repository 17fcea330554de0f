"""Layers whose arguments are rows of a table have a signature, a docstring and errors as if they were written out."""

import inspect
from typing import Any

import pytest

from stratax.tensorflow.v1 import layers


class _Counted(layers.Layer):
    """A layer between another and its base."""

    made = 0

    def __init__(self, *args, **kwargs):
        type(self).made += 1
        super().__init__(*args, **kwargs)


class _Both(layers.Conv2D, _Counted):
    """A convolution that is counted."""


@pytest.mark.parametrize(
    "layer", [layers.Dense, layers.Conv1D, layers.Conv3DTranspose, layers.SeparableConv2D]
)
def test_a_layer_has_the_arguments_that_it_describes(layer):
    described = inspect.getdoc(layer) if layer is layers.Dense else inspect.getdoc(layer.__mro__[1])
    parameters = inspect.signature(layer).parameters
    assert list(parameters)[-3:] == ["trainable", "name", "kwargs"]
    for name in list(parameters)[:-1]:
        assert f"    {name}: " in described
    assert "    **kwargs: Those of :class:`Layer`." in described


def test_arguments_go_on_to_keras_by_position_and_by_name():
    layer = layers.Conv2D(2.0, 3, (1, 2), use_bias=False, activity_regularizer=None, dtype="float16")
    assert (layer.filters, layer.kernel_size, layer.strides, layer.use_bias) == (2, (3, 3), (1, 2), False)
    assert isinstance(layer.filters, int)
    assert layer.dtype == "float16"


@pytest.mark.parametrize("function", [layers.conv2d, layers.batch_normalization, layers.max_pooling2d])
def test_a_function_is_annotated_as_its_signature(function):
    parameters = inspect.signature(function).parameters.values()
    named = {each.name: each.annotation for each in parameters}
    assert inspect.get_annotations(function) == {**named, "return": Any}


def test_classes_between_are_not_passed_over():
    _Both(2, 3)
    assert _Both.made == 1


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"Dense\(\) missing a required argument: 'units'"),
        ((1,), {"units": 2}, r"Dense\(\) multiple values"),
    ],
)
def test_a_wrong_call_names_the_class(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        layers.Dense(*args, **kwargs)
