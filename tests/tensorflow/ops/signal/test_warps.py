"""`tf.contrib.image` turns, moves and bends images as TensorFlow 1.15 does, on the host and on devices."""

import os

import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.golden import contrib_image_cases as cases

image = tf.contrib.image
_GOLDEN = np.load(os.path.join(os.path.dirname(cases.__file__), "contrib_image.npz"))


@pytest.mark.parametrize("of", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("name", cases.CASES)
def test_pixels_are_tensorflows(name, of):
    made = cases.CASES[name](image, of)
    assert isinstance(made, np.ndarray) == (of is np.asarray)
    assert made.dtype == _GOLDEN[name].dtype
    np.testing.assert_allclose(made, _GOLDEN[name], atol=1e-6 if name == "composed" else 1e-3)


def test_images_of_a_dataset_are_turned():
    images = tf.data.Dataset.from_tensor_slices(cases.X)
    turned = images.map(lambda each: image.rotate(image.translate(each, [1, -1]), 0.5))
    moved = image.translate(cases.X, [1, -1])
    np.testing.assert_array_equal(np.stack(list(turned)), image.rotate(moved, 0.5))


def test_projections_are_matrices():
    matrices = image.flat_transforms_to_matrices(cases.PROJECTIONS)
    assert matrices.shape == (2, 3, 3)
    np.testing.assert_array_equal(image.matrices_to_flat_transforms(matrices), cases.PROJECTIONS)
    moved = image.translate(cases.X, [1, -1])
    projections = image.translations_to_projective_transforms([1, -1])
    np.testing.assert_array_equal(image.transform(cases.X, projections), moved)
    turned = image.angles_to_projective_transforms(0.5, 5, 4)
    np.testing.assert_array_equal(image.transform(cases.X, turned), image.rotate(cases.X, 0.5))


def test_gradients_reach_pixels():
    x = tf.Variable(cases.X)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(image.transform(x, [1, 0, 1, 0, 1, 0, 0, 0]))
    # All columns but the first are seen.
    assert float(tf.reduce_sum(tape.gradient(total, x))) == 2 * 5 * 3 * 2


def test_what_is_no_image_is_refused():
    with pytest.raises(errors.BadTypeError, match="rank between 2 and 4"):
        image.rotate(np.zeros(3, np.float32), 1.0)
    with pytest.raises(errors.BadArgumentError, match="NEAREST or BILINEAR"):
        image.rotate(cases.X, 1.0, "CUBIC")
    with pytest.raises(errors.BadArgumentError, match="two numbers"):
        image.transform(cases.X, cases.PROJECTIONS, output_shape=[3])
    with pytest.raises(errors.BadArgumentError, match="Grid must be 4 dimensional"):
        image.dense_image_warp(cases.X[0], cases.FLOW[0])
