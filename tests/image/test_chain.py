"""Operations on a photograph that follow one another give the same in one loop, to the bit."""

import random

import numpy as np
import pytest

from stratax import image
from stratax.data import Dataset
from stratax.data.elements import element_scope, flatten
from stratax.data.vectorise import chain_operations, result_of
from stratax.image import _chain

pytestmark = pytest.mark.usefixtures("_compiled_loops")
SINGLE = flatten(0)[1]


def augmented(photo):
    photo = image.convert_image_dtype(photo, np.float32)
    photo = image.resize_bilinear(photo, (27, 35))
    photo = image.random_crop(photo, (20, 25, 3))
    photo = image.random_flip_left_right(photo)
    photo = image.random_brightness(photo, 63 / 255)
    photo = image.random_contrast(photo, 0.2, 1.8)
    return photo * np.float32(2) - np.float32(1)


def of_bytes(photo):
    photo = image.resize(photo, (30, 30))
    photo = image.crop_to_bounding_box(photo, 2, 3, 20, 21)
    photo = image.crop_to_bounding_box(photo, 1, 2, 10, 11)
    photo = image.flip_left_right(photo)
    return image.adjust_contrast(photo, 1.3)


def mirrored_twice(photo):
    photo = image.resize_bilinear(photo, (50, 20), align_corners=True)
    photo = image.flip_left_right(photo)
    photo = image.flip_left_right(photo)
    return image.adjust_brightness(photo, -0.25)


def steps(photo):
    photo = image.resize_bilinear(photo, (50, 60), half_pixel_centers=True) * 2 + 0.5 - 3
    photo = image.adjust_contrast(photo, 0.0) * 0.1 + 1
    return photo + 2


def too_many_steps(photo):
    photo = image.resize(photo, (8, 9)) + 1
    return photo * 2 * 3 * 4 * 5 * 6 + 7


def only_cropped(photo):
    photo = image.resize(photo, (30, 31))
    return image.random_crop(photo, (9, 8, 3))


def only_floats(photo):
    photo = image.convert_image_dtype(photo, np.float32)
    return image.adjust_brightness(photo, 0.5)


def other_operations(photo):
    photo = image.resize(photo, (30, 31))
    photo = image.random_saturation(photo, 0.5, 1.5)
    photo = image.random_brightness(photo, 0.2)
    photo = image.random_hue(photo, 0.2)
    return image.adjust_contrast(photo, 1.2)


def twice(photo):
    photo = image.resize(photo, (30, 31))
    photo = image.adjust_contrast(photo, 1.2)
    photo = image.adjust_contrast(photo, 0.7)
    photo = image.random_crop(photo, (12, 12, 3))
    return image.resize(photo, (5, 6))


def other_numbers(photo):
    photo = image.resize(photo, (30, 31)) * np.float64(2)
    photo = image.adjust_brightness(photo, np.array([0.1, 0.2, 0.3]))
    return image.adjust_contrast(photo, np.float64(1.5))


def large_numbers(photo):
    photo = image.resize(photo, (30, 31)) * 1e30
    return image.adjust_contrast(photo, 3e6) * 1e5


def antialiased(photo):
    photo = image.resize(photo, (10, 11), antialias=True)
    return image.adjust_contrast(photo, 1.5)


FUNCTIONS = (
    augmented, of_bytes, mirrored_twice, steps, too_many_steps, only_cropped, only_floats, other_operations, twice,
    other_numbers, large_numbers, antialiased,
)  # fmt: skip
PHOTOS = {
    "photo": lambda x: x,
    "many rows": lambda x: np.repeat(x, 5, axis=0),
    "black": np.zeros_like,
    "gray": lambda x: np.ascontiguousarray(x[..., :1]),
    "part": lambda x: x[1:-1, 2:-2],
    "columns first": np.asfortranarray,
    "floats": lambda x: (x / 255).astype(np.float32),
    "wide": lambda x: x.astype(np.uint16) * 257,
    "two": lambda x: np.stack([x, x]),
}


def photo_of(kind):
    return PHOTOS[kind](np.random.default_rng(3).integers(0, 256, (43, 57, 3), dtype=np.uint8))


def outcome(function, photo, seed):
    with element_scope(lambda: (seed,)), np.errstate(over="ignore"):
        try:
            return result_of(function, SINGLE, [photo])[0][0], image.random_crop(np.arange(1000.0), (1,))
        except Exception as e:
            return type(e), str(e)


@pytest.mark.parametrize("kind", PHOTOS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_chain_gives_the_numbers_of_its_operations(function, kind):
    outcome(function, photo_of(kind), 0)
    joined = chain_operations(function)
    assert joined is not function
    for seed in range(6):
        photo = photo_of(kind)
        found, wanted = outcome(joined, photo, seed), outcome(function, photo_of(kind), seed)
        np.testing.assert_array_equal(photo, photo_of(kind))
        # The same was drawn, too, and lies alike in memory, which decides in which order NumPy adds.
        assert found[1] == wanted[1]
        if isinstance(wanted[0], type):
            assert found[0] is wanted[0]
            continue
        assert (found[0].dtype, found[0].shape, type(found[0])) == (
            wanted[0].dtype,
            wanted[0].shape,
            np.ndarray,
        )
        assert found[0].strides == wanted[0].strides
        assert found[0].tobytes() == wanted[0].tobytes()


@pytest.mark.parametrize("function", [augmented, of_bytes, mirrored_twice, steps, only_cropped])
def test_a_photograph_is_developed_in_one_loop(monkeypatch, function):
    outcome(function, photo_of("photo"), 0)
    calls = []
    part = _chain.Developed._part
    monkeypatch.setattr(_chain.Developed, "_part", lambda *args: calls.append(1) or part(*args))
    outcome(chain_operations(function), photo_of("photo"), 0)
    assert calls == [1]


def test_arguments_that_are_wrong_are_told_by_the_operation():
    def cropped(photo):
        photo = image.resize(photo, (30, 31))
        return image.random_crop(photo, (31, 31, 3))

    def sized(photo):
        photo = image.resize(photo, (0, 31))
        return image.adjust_contrast(photo, 2)

    def contrast(photo):
        photo = image.resize(photo, (30, 31))
        return image.random_contrast(photo, 2, 1)

    def text(photo):
        photo = image.resize(photo, (30, 31))
        return image.adjust_brightness(photo, "much")

    for function in (cropped, sized, contrast, text):
        joined = chain_operations(function)
        assert joined is not function
        found, wanted = (outcome(each, photo_of("photo"), 0) for each in (joined, function))
        assert found == wanted
        assert issubclass(found[0], Exception)


def test_in_a_pipeline_the_numbers_are_those_without_numba(leave_out_loops):
    photos = np.random.default_rng(1).integers(0, 256, (8, 43, 57, 3), dtype=np.uint8)

    def made(threads):
        random.seed(5)
        dataset = Dataset.from_tensor_slices(photos).map(augmented, num_parallel_calls=threads)
        return [np.array(photo) for photo in dataset]

    joined = made(2)
    np.testing.assert_array_equal(joined, made(1))
    leave_out_loops()
    # A mean may differ in its last bit.
    np.testing.assert_allclose(joined, made(2), atol=1e-5)


def test_a_chain_is_computed_where_its_result_is_put():
    joined, photo = chain_operations(augmented), photo_of("photo")
    columns = [np.full((20, 25, 3), -7, np.float32), np.zeros((20, 25), np.float32), np.zeros((20, 25, 3))]
    wanted = outcome(augmented, photo, 1)[0]
    for into in columns:
        with element_scope(lambda: (1,)):
            (found,), _ = result_of(joined, SINGLE, [photo], [into])
        assert (found is into) == (into is columns[0])
        np.testing.assert_array_equal(found, wanted)


def test_labels_are_put_beside_photographs_on_threads():
    photos = np.random.default_rng(1).integers(0, 256, (9, 43, 57, 3), dtype=np.uint8)
    dataset = Dataset.from_tensor_slices((photos, np.arange(9)))
    made = dataset.map(lambda photo, label: (of_bytes(photo), label), num_parallel_calls=2).batch(9)
    for _ in range(2):
        ((found, labels),) = list(made)
        np.testing.assert_array_equal(labels, np.arange(9))
        np.testing.assert_array_equal(found, [of_bytes(photo) for photo in photos])
