"""Cropping, padding and turning: on NumPy and JAX, alone and in batches, and what is refused."""

import jax
import numpy as np
import pytest

from stratax import image
from stratax.errors import BadArgumentError, BadTypeError

pytestmark = pytest.mark.usefixtures("_loops")

PHOTO = np.arange(1, 5 * 6 * 2 + 1).reshape(5, 6, 2)
CALLS = {
    "flip_left_right": (image.flip_left_right, PHOTO[:, ::-1]),
    "flip_up_down": (image.flip_up_down, PHOTO[::-1]),
    "transpose": (image.transpose, PHOTO.transpose(1, 0, 2)),
    "rot90": (image.rot90, np.rot90(PHOTO)),
    "rot90 backwards": (lambda x: image.rot90(x, -1), np.rot90(PHOTO, -1)),
    "rot90 twice": (lambda x: image.rot90(x, k=6), np.rot90(PHOTO, 2)),
    "rot90 not": (lambda x: image.rot90(x, 4), PHOTO),
    "crop": (lambda x: image.crop_to_bounding_box(x, 1, 2, 3, 4), PHOTO[1:4, 2:6]),
    "pad": (lambda x: image.pad_to_bounding_box(x, 1, 2, 9, 8), np.pad(PHOTO, [(1, 3), (2, 0), (0, 0)])),
    "central_crop": (lambda x: image.central_crop(x, 0.5), PHOTO[1:4, 1:5]),
    "crop_or_pad": (
        lambda x: image.resize_with_crop_or_pad(x, 3, 9),
        np.pad(PHOTO[1:4], [(0, 0), (1, 2), (0, 0)]),
    ),
    "same size": (lambda x: image.resize_with_crop_or_pad(x, 5, 6), PHOTO),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_that_of_numpy_for_one_image_and_a_batch_on_the_host_and_compiled(name):
    function, wanted = CALLS[name]
    np.testing.assert_array_equal(function(PHOTO), wanted)
    for factor, one in zip((1, 2), function(np.stack([PHOTO, PHOTO * 2])), strict=True):
        np.testing.assert_array_equal(one, wanted * factor)
    compiled = jax.jit(function)(PHOTO)
    assert isinstance(compiled, jax.Array)
    np.testing.assert_array_equal(compiled, wanted)


def test_nothing_is_copied_where_a_view_will_do():
    for function in (image.flip_up_down, image.transpose, lambda x: image.central_crop(x, 0.5)):
        assert np.shares_memory(function(PHOTO), PHOTO)


def test_old_names():
    assert image.resize_image_with_crop_or_pad is image.resize_with_crop_or_pad
    assert image.transpose_image is image.transpose


def test_nested_lists_are_images_too():
    np.testing.assert_array_equal(image.flip_left_right([[[1], [2]]]), [[[2], [1]]])


@pytest.mark.parametrize(
    "function",
    [
        image.flip_left_right,
        image.flip_up_down,
        image.transpose,
        image.rot90,
        lambda x: image.crop_to_bounding_box(x, 0, 0, 1, 1),
        lambda x: image.pad_to_bounding_box(x, 0, 0, 9, 9),
        lambda x: image.central_crop(x, 0.5),
        lambda x: image.resize_with_crop_or_pad(x, 3, 3),
        lambda x: image.resize_with_pad(x, 3, 3),
    ],
)
def test_what_is_neither_an_image_nor_a_batch_is_refused(function):
    for wrong in (PHOTO[0], PHOTO[None, None]):
        with pytest.raises(BadArgumentError, match=r"An image has the shape \[height, width, channels\]"):
            function(wrong)


@pytest.mark.parametrize("box", [(0, 0, 6, 1), (0, 0, 1, 7), (3, 0, 3, 1), (0, 5, 1, 2)])
def test_a_part_has_to_be_within_the_image(box):
    with pytest.raises(
        BadArgumentError, match="The part has to be within the image, whose height is 5 and width 6"
    ):
        image.crop_to_bounding_box(PHOTO, *box)


@pytest.mark.parametrize("box", [(0, 0, 4, 6), (0, 0, 5, 5), (1, 0, 5, 6), (0, 1, 5, 6)])
def test_an_image_has_to_fit_into_what_is_padded(box):
    with pytest.raises(BadArgumentError, match="The image, of height 5 and width 6, has to fit"):
        image.pad_to_bounding_box(PHOTO, *box)


@pytest.mark.parametrize("box", [(-1, 0, 1, 1), (0, -1, 1, 1), (0, 0, 0, 1), (0, 0, 1, 0)])
def test_offsets_and_sizes_are_not_negative(box):
    for function in (image.crop_to_bounding_box, image.pad_to_bounding_box):
        with pytest.raises(BadArgumentError, match="Offsets are at least 0"):
            function(PHOTO, *box)


def test_other_arguments_are_checked():
    for fraction in (0, -0.5, 1.1):
        with pytest.raises(BadArgumentError, match="above 0 and at most 1"):
            image.central_crop(PHOTO, fraction)
    with pytest.raises(BadTypeError, match="`k` must be whole numbers"):
        image.rot90(PHOTO, 1.5)
    with pytest.raises(BadTypeError, match="`target_height` must be whole numbers that are known"):
        jax.jit(lambda n: image.resize_with_crop_or_pad(PHOTO, n, 5))(3)
