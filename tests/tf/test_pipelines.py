"""Functions of `stratax.tf` in `Dataset.map`: NumPy in, NumPy out, for whole batches at once."""

import jax
import numpy as np
import pytest

import stratax.tf as tf

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 4, 4)).astype(np.uint8)
LABELS = np.arange(12)


def scale(image, label):
    image = tf.cast(image, tf.float32)
    image /= 255.0
    return image, label


def test_the_cast_of_a_pipeline_stays_on_the_host():
    seen = []

    def spy(image, label):
        image, label = scale(image, label)
        seen.append(type(image))
        return image, label

    elements = list(tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).map(spy))
    assert not any(issubclass(kind, jax.Array) for kind in seen)
    np.testing.assert_array_equal(elements[3][0], IMAGES[3].astype(np.float32) / np.float32(255))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.cast(x, tf.float32) / 255.0,
        lambda x: tf.expand_dims(tf.cast(x, tf.float32), -1),
        lambda x: tf.reshape(x, [-1]),
        lambda x: tf.clip_by_value(tf.cast(x, tf.float32), 10.0, 20.0),
        lambda x: tf.reduce_mean(tf.cast(x, tf.float32), axis=-1),
        lambda x: tf.one_hot(x[0], 10),
        lambda x: tf.stack([x, x], axis=0),
        lambda x: tf.where(x > 100, x, 0),
        lambda x: tf.transpose(x, [1, 0]),
    ],
)
def test_a_mapped_function_gives_for_batches_what_it_gives_one_by_one(function):
    batches = list(tf.data.Dataset.from_tensor_slices(IMAGES).map(function).batch(5))
    single = [np.asarray(function(image)) for image in IMAGES]
    assert all(isinstance(batch, np.ndarray) for batch in batches)
    together = np.concatenate(batches)
    assert together.dtype == single[0].dtype
    np.testing.assert_allclose(together, np.stack(single), rtol=1e-6)


def test_a_scaling_function_is_called_once_for_a_block_and_not_per_element():
    calls = []

    def counted(image, label):
        return calls.append(1) or scale(image, label)

    slow = list(tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).map(counted).batch(12))
    assert len(calls) >= len(IMAGES)  # `append` reaches outside, so each element is a call.
    fast = list(tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).map(scale).batch(12))
    np.testing.assert_array_equal(slow[0][0], fast[0][0])


def test_options_and_cardinality_have_tensorflows_places():
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    dataset = tf.data.Dataset.range(5).with_options(options).prefetch(tf.data.AUTOTUNE)
    assert tf.data.experimental.cardinality(dataset) == 5
    assert tf.data.experimental.cardinality(dataset.repeat()) == tf.data.INFINITE_CARDINALITY
    assert dataset.element_spec == tf.TensorSpec((), tf.int64)


def test_a_compiled_function_of_a_pipeline_draws_and_reads_variables():
    scale = tf.Variable(3.0)

    @tf.function
    def crop(image):
        doubled = image * 2.0
        return tf.image.random_crop(doubled, [2, 2, 3]) * scale

    images = tf.data.Dataset.from_tensor_slices(np.ones([3, 4, 4, 3], np.float32))
    parts = list(images.map(crop).as_numpy_iterator())
    np.testing.assert_array_equal(parts, np.full([3, 2, 2, 3], 6.0))
