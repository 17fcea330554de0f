"""Random operations: fixed by the pipeline, within their limits, every image on its own; what they refuse."""

import collections

import jax
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import image
from stratax.errors import BadArgumentError, BadTypeError

pytestmark = pytest.mark.usefixtures("_loops")

PHOTO = np.random.default_rng(0).integers(0, 256, (6, 7, 3)).astype(np.uint8)
FLOATS = (PHOTO / 255).astype(np.float32)
OPERATIONS = {
    "flip_left_right": (),
    "flip_up_down": (),
    "brightness": (0.3,),
    "contrast": (0.5, 1.5),
    "saturation": (0.5, 1.5),
    "hue": (0.3,),
    "crop": ((4, 5, 3),),
}


def drawn(name, photo, seed=None):
    return getattr(image, f"random_{name}")(photo, *OPERATIONS[name], seed=seed)


def augmented(threads=None, skip=0, seed=7):
    def change(photo, number):
        photo = image.random_flip_left_right(photo)
        photo = image.random_brightness(photo, 0.2, seed=3)
        return image.random_contrast(image.random_crop(photo, (4, 5, 3)), 0.5, 1.5), number

    photos = np.stack([FLOATS] * 24)
    dataset = sx.data.Dataset.from_tensor_slices((photos, np.arange(24)))
    return dataset.map(change, num_parallel_calls=threads).skip(skip)


def taken(dataset):
    return [np.array(photo) for photo, _ in dataset]


def test_a_pipeline_gives_the_same_however_many_threads_make_it():
    keras.utils.set_random_seed(3)
    alone = taken(augmented())
    keras.utils.set_random_seed(3)
    together = taken(augmented(threads=3))
    np.testing.assert_array_equal(alone, together)
    assert len({photo.tobytes() for photo in alone}) > 20


def test_without_a_seed_every_pass_is_another():
    dataset = augmented()
    assert not np.array_equal(taken(dataset), taken(dataset))


def test_what_was_skipped_does_not_matter():
    keras.utils.set_random_seed(3)
    whole = taken(augmented())
    keras.utils.set_random_seed(3)
    np.testing.assert_array_equal(taken(augmented(skip=10)), whole[10:])


def test_a_function_that_draws_is_called_for_every_element():
    photos = np.stack([FLOATS] * 64)
    for function in (image.random_flip_left_right, lambda photo: image.random_flip_left_right(photo)):
        dataset = sx.data.Dataset.from_tensor_slices(photos).map(function)
        for _ in range(3):
            flipped = [not np.array_equal(photo, FLOATS) for photo in dataset]
            assert 10 < sum(flipped) < 54


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_seed_fixes_the_draw_outside_of_a_pipeline(name):
    np.testing.assert_array_equal(drawn(name, FLOATS, 5), drawn(name, FLOATS, 5))
    assert len({drawn(name, FLOATS, seed).tobytes() for seed in range(40)}) > 1
    on_device = jax.numpy.asarray(FLOATS)
    calls = []
    for _ in range(2):
        # On a device each call gives the next of a sequence.
        tf.random.set_seed(1)
        calls.append([np.asarray(drawn(name, on_device, 5)) for _ in range(8)])
    np.testing.assert_array_equal(*calls)
    assert len({one.tobytes() for one in calls[0]}) > 1


@pytest.mark.parametrize("name", OPERATIONS)
def test_one_seed_fixes_all_that_have_none(name):
    for photo in (PHOTO, jax.numpy.asarray(PHOTO)):
        tf.random.set_seed(1)
        first = [np.asarray(drawn(name, photo)) for _ in range(12)]
        tf.random.set_seed(1)
        np.testing.assert_array_equal(first, [drawn(name, photo) for _ in range(12)])
        assert len({one.tobytes() for one in first}) > 1


@pytest.mark.parametrize("name", OPERATIONS)
def test_kinds_of_arrays_and_dtypes_stay_what_they_are(name):
    for dtype in ("uint8", "float32"):
        photo = PHOTO.astype(dtype)
        result, on_device = drawn(name, photo), drawn(name, jax.numpy.asarray(photo))
        assert isinstance(result, np.ndarray)
        assert isinstance(on_device, jax.Array)
        assert result.dtype == on_device.dtype == dtype
        assert result.shape == on_device.shape == ((4, 5, 3) if name == "crop" else PHOTO.shape)


@pytest.mark.parametrize("name", OPERATIONS)
def test_compiled_programs_draw_anew_at_every_call(name):
    tf.random.set_seed(1)
    compiled = sx.function(lambda photo: drawn(name, photo))
    results = {np.asarray(compiled(jax.numpy.asarray(FLOATS))).tobytes() for _ in range(12)}
    assert len(results) > 1


@pytest.mark.parametrize("library", [np.asarray, jax.numpy.asarray], ids=["numpy", "jax"])
def test_the_images_of_a_batch_are_flipped_one_by_one(library):
    batch = library(np.stack([FLOATS] * 64))
    for function, flipped in (
        (image.random_flip_left_right, FLOATS[:, ::-1]),
        (image.random_flip_up_down, FLOATS[::-1]),
    ):
        results = np.asarray(function(batch, seed=1))
        is_flipped = (results == flipped).all(axis=(1, 2, 3))
        assert (is_flipped | (results == FLOATS).all(axis=(1, 2, 3))).all()
        assert 16 < is_flipped.sum() < 48


def test_draws_are_within_their_limits_and_fill_them():
    gray = np.full((1, 1, 3), 0.5, np.float32)
    deltas = [image.random_brightness(gray, 0.2, seed=seed).item(0) - 0.5 for seed in range(200)]
    assert -0.2 <= min(deltas) < -0.18
    assert 0.18 < max(deltas) < 0.2
    pair = np.array([[[0.4]], [[0.6]]], np.float32)
    factors = [5 * np.ptp(image.random_contrast(pair, 0.5, 1.5, seed=seed)) for seed in range(200)]
    assert 0.5 - 1e-5 <= min(factors) < 0.52
    assert 1.48 < max(factors) < 1.5 + 1e-5


@pytest.mark.parametrize("library", [np.asarray, jax.numpy.asarray], ids=["numpy", "jax"])
def test_every_place_of_a_crop_comes_about_as_often(library):
    numbers = library(np.arange(5))
    starts = collections.Counter(int(image.random_crop(numbers, (3,), seed=seed)[0]) for seed in range(120))
    assert set(starts) == {0, 1, 2}
    assert min(starts.values()) > 20


def test_a_crop_of_the_whole_is_the_whole():
    np.testing.assert_array_equal(image.random_crop(PHOTO, PHOTO.shape), PHOTO)


def test_limits_are_checked():
    with pytest.raises(BadArgumentError, match="max_delta has to be at least 0"):
        image.random_brightness(PHOTO, -0.1)
    for wrong in (-0.1, 0.6):
        with pytest.raises(BadArgumentError, match="from 0 to 0.5"):
            image.random_hue(PHOTO, wrong)
    for function in (image.random_contrast, image.random_saturation):
        for lower, upper in ((-0.1, 1), (1, 1), (2, 1)):
            with pytest.raises(
                BadArgumentError, match="The smallest factor is at least 0 and less than the largest"
            ):
                function(PHOTO, lower, upper)
    for seed in (1.5, "x", (1, 2)):
        with pytest.raises(BadTypeError, match="A seed is an integer. Received: seed="):
            image.random_flip_left_right(PHOTO, seed)
    for size in ((7, 7, 3), (4, 5), (4, 5, 3, 1), (-1, 5, 3)):
        with pytest.raises(
            BadArgumentError, match=r"one number for each axis, at most the array's, which are \(6, 7, 3\)"
        ):
            image.random_crop(PHOTO, size)
    with pytest.raises(BadTypeError, match="`size` must be whole numbers"):
        image.random_crop(PHOTO, (4.0, 5, 3))
    for function in (image.random_flip_left_right, image.random_flip_up_down):
        with pytest.raises(BadArgumentError, match=r"An image has the shape \[height, width, channels\]"):
            function(PHOTO[0])
