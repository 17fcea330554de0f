"""`tf.layers` gives TensorFlow 1's numbers, names and collections; what TensorFlow gave is in `tests/golden`."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import layers
from tests.golden import layers_cases, layers_references
from tests.tensorflow.v1.steps import Step


@pytest.mark.parametrize("key", layers_cases.CASES)
def test_a_function_gives_tensorflows_numbers(key):
    name, shape, given = layers_cases.CASES[key]
    result = Step(lambda scope, x: getattr(layers, name)(x, **given))(layers_cases.inputs(shape))
    expected = layers_references.VALUES[key]
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("key", layers_references.NAMES)
def test_variables_have_tensorflows_names_in_every_trace(key):
    def body(scope, x):
        arguments = (layers, v1.variable_scope, v1.get_variable_scope, v1.AUTO_REUSE)
        layers_cases.models(*arguments)[key]()
        assert [variable.path for variable in scope.global_variables()] == layers_references.NAMES[key]
        return x

    step = Step(body)
    step(np.float32(0))
    step(np.float32([0]))
    assert step.names == layers_references.NAMES[key]


def test_what_is_not_supported_or_wrong_is_refused():
    for argument in ({"renorm": True}, {"virtual_batch_size": 2}, {"adjustment": lambda shape: shape}):
        with pytest.raises(errors.BadArgumentError, match=f"does not support {next(iter(argument))}"):
            layers.BatchNormalization(**argument)
    with pytest.raises(errors.BadArgumentError, match="along one dimension"):
        layers.BatchNormalization(axis=[1, 2])
    with pytest.raises(errors.BadTypeError, match=r"tf.layers.dense: missing.*'units'"):
        layers.dense(np.ones((2, 3)))
    with pytest.raises(errors.ModelScopeError, match="inside of a `model_fn`"):
        layers.dense(np.ones((2, 3), np.float32), 2)
    with pytest.raises(errors.BadArgumentError, match="once it is called"):
        _ = layers.Dense(2).scope_name


def test_results_have_the_names_of_tensorflows_operations():
    def body(scope, x):
        image, volume = np.ones((2, 6, 6, 3), np.float32), np.ones((2, 4, 4, 4, 2), np.float32)
        layers.dense(x, 2)
        layers.dense(x, 2, tf.nn.relu)
        layers.dense(x, 2, "sigmoid", name="head")
        layers.dense(x, 2, use_bias=False)
        layers.dense(x, 2, lambda x: x)
        with v1.variable_scope("s"):
            layers.conv2d(image, 2, 3)
            layers.conv3d(volume, 2, 3, activation="softmax")
            layers.conv2d(image, 2, 3, use_bias=False)
        layers.max_pooling1d(image[:, 0], 2, 2)
        layers.max_pooling2d(image, 2, 2)
        layers.average_pooling3d(volume, 2, 2)
        assert layers.flatten(image) is scope.names.tensors()["flatten/Reshape"]
        seen[:] = scope.names.tensors()
        return x

    seen: list[str] = []
    expected = """
        dense/BiasAdd dense_1/Relu head/Sigmoid dense_2/MatMul s/conv2d/BiasAdd s/conv3d/Softmax s/conv2d_1/Conv2D
        max_pooling1d/Squeeze max_pooling2d/MaxPool average_pooling3d/AvgPool3D flatten/Reshape
    """
    Step(body)(np.ones((2, 3), np.float32))
    assert seen == expected.split()
