"""`tf.image` and the image functions of `tf.io` are those of `stratax.image`."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import image


def test_every_operation_has_its_name_in_tf_image():
    names = set(image.__all__) - {"saturate_cast", "CombinedNonMaxSuppression", "SampledBox"}
    assert set(tf.image.__all__) == names
    assert all(getattr(tf.image, name) is getattr(image, name) for name in names)


@pytest.mark.parametrize(
    "name", ["decode_jpeg", "decode_image", "encode_png", "is_jpeg", "extract_jpeg_shape"]
)
def test_files_are_decoded_and_encoded_in_tf_io_too(name):
    assert getattr(tf.io, name) is getattr(image, name)
    assert name in tf.io.__all__


def test_a_pipeline_as_it_was_written_for_tensorflow():
    def augmented(contents, label):
        photo = tf.image.decode_jpeg(contents, channels=3)
        photo = tf.image.convert_image_dtype(photo, dtype=tf.float32)
        photo = tf.image.resize_bilinear(tf.expand_dims(photo, 0), [14, 18], align_corners=False)
        photo = tf.random_crop(tf.squeeze(photo, axis=[0]), [10, 12, 3])
        photo = tf.image.random_flip_left_right(photo)
        photo = tf.image.random_brightness(photo, max_delta=63.0 / 255.0)
        photo = tf.image.random_contrast(photo, lower=0.2, upper=1.8)
        return tf.subtract(tf.multiply(photo, 2.0), 1.0), label

    photos = [np.full((20 + n, 30, 3), 40 * n, np.uint8) for n in range(5)]
    files = np.array([tf.io.encode_jpeg(photo) for photo in photos], object)
    dataset = tf.data.Dataset.from_tensor_slices((files, np.arange(5)))
    ((batch, labels),) = dataset.map(augmented, num_parallel_calls=2).batch(5)
    assert (batch.dtype, batch.shape) == (np.float32, (5, 10, 12, 3))
    np.testing.assert_array_equal(labels, np.arange(5))


def test_a_missing_name_is_reported():
    with pytest.raises(AttributeError, match="tf.image has no name 'sharpness' here"):
        _ = tf.image.sharpness
