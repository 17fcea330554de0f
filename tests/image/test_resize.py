"""Resizing: what it refuses, what it is like in compiled programs. For its numbers see test_references."""

import jax
import numpy as np
import pytest

from stratax import image
from stratax.errors import BadArgumentError, BadTypeError

pytestmark = pytest.mark.usefixtures("_loops")

PHOTO = np.random.default_rng(0).integers(0, 256, (30, 40, 3)).astype(np.uint8)
ALL = (
    image.resize,
    image.resize_images,
    image.resize_bilinear,
    image.resize_bicubic,
    image.resize_nearest_neighbor,
    image.resize_area,
)


@pytest.mark.parametrize("function", ALL)
def test_compiled_and_mapped_over_a_batch_it_gives_the_same(function):
    wanted = function(PHOTO, (7, 50))
    many = jax.jit(jax.vmap(lambda photo: function(photo, (7, 50))))(np.stack([PHOTO, PHOTO[::-1]]))
    np.testing.assert_allclose(many[0], wanted, rtol=1e-5)
    assert many.dtype == wanted.dtype


@pytest.mark.parametrize("method", range(4))
def test_the_first_methods_have_numbers(method):
    names = ("bilinear", "nearest", "bicubic", "area")
    old = image.resize_images(PHOTO, (9, 11), method)
    np.testing.assert_array_equal(old, image.resize_images(PHOTO, (9, 11), names[method]))


def test_newer_methods_are_the_same_under_the_old_name():
    old = image.resize_images(PHOTO, (9, 11), "lanczos3")
    np.testing.assert_array_equal(old, image.resize(PHOTO, (9, 11), "lanczos3", antialias=True))


def test_rows_that_are_never_looked_at_make_no_difference():
    tall = np.random.default_rng(1).random((2, 300, 8, 3), np.float32)
    quick = image.resize(tall, (20, 6))
    np.testing.assert_allclose(quick, image.resize(jax.numpy.asarray(tall), (20, 6)), atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64"])
def test_results_are_float32_but_for_the_nearest_pixel(dtype):
    photo = PHOTO.astype(dtype)
    for size in ((9, 11), (30, 40)):
        assert image.resize(photo, size).dtype == np.float32
        assert image.resize(photo, size, "lanczos5").dtype == np.float32
        assert image.resize(photo, size, "nearest").dtype == dtype


@pytest.mark.parametrize("shape", [(0, 6, 8, 3), (2, 6, 8, 0), (6, 8, 0)])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "area", "lanczos3"])
def test_a_batch_without_images_or_channels_stays_one(method, shape):
    for size in ((2, 3), (9, 12)):
        result = image.resize(np.zeros(shape, np.float32), size, method)
        assert result.shape == (*shape[:-3], *size, shape[-1])


def test_the_image_that_was_given_stays_as_it_is():
    floats = PHOTO.astype(np.float32)
    before = floats.copy()
    for size in ((30, 40), (9, 11)):
        image.resize(floats, size)[:] = 0
        image.resize(floats, size, "bicubic")[:] = 0
    np.testing.assert_array_equal(floats, before)


def test_a_size_that_keeps_the_proportions_fits_in():
    assert image.resize(PHOTO, (300, 80), preserve_aspect_ratio=True).shape == (60, 80, 3)
    assert image.resize(PHOTO, (3, 80), preserve_aspect_ratio=True).shape == (3, 4, 3)


def test_padding_goes_around_what_is_resized():
    padded = image.resize_with_pad(PHOTO + np.uint8(1), 60, 60)
    assert padded.shape == (60, 60, 3)
    assert (padded[:7] == 0).all()
    np.testing.assert_array_equal(padded[7:52], image.resize(PHOTO + np.uint8(1), (45, 60)))


@pytest.mark.parametrize("function", ALL)
def test_images_have_real_numbers(function):
    for wrong in (PHOTO.astype(complex), np.full((3, 3, 1), "a")):
        with pytest.raises(BadArgumentError, match="Images of real numbers can be resized.*dtype="):
            function(wrong, (2, 2))


@pytest.mark.parametrize("function", ALL)
def test_sizes_have_to_be_two_positive_integers(function):
    with pytest.raises(BadArgumentError, match="both at least 1"):
        function(PHOTO, (0, 5))
    with pytest.raises(BadArgumentError, match="both at least 1"):
        function(PHOTO, (5, 5, 3))
    with pytest.raises(BadTypeError, match="`size` must be whole numbers"):
        function(PHOTO, (5.5, 5))
    with pytest.raises(BadTypeError, match="known while a program is traced"):
        jax.jit(lambda size: function(PHOTO, size))(np.array([5, 5]))
    with pytest.raises(BadArgumentError, match=r"shape \[height, width, channels\]"):
        function(PHOTO[..., 0], (5, 5))
    with pytest.raises(BadArgumentError, match="An image without pixels"):
        function(PHOTO[:0], (5, 5))


def test_methods_and_ways_of_placing_pixels_are_checked():
    with pytest.raises(BadArgumentError, match="A method of resizing is one of bilinear, nearest"):
        image.resize(PHOTO, (5, 5), "cubic")
    with pytest.raises(BadArgumentError, match="A method of resizing is one of bilinear, nearest"):
        image.resize(PHOTO, (5, 5), 0)
    for method in (4, -1, ["bilinear"], None):
        with pytest.raises(BadArgumentError, match="A method of resizing is one of bilinear, nearest"):
            image.resize_images(PHOTO, (5, 5), method)
    for function in (image.resize_bilinear, image.resize_bicubic, image.resize_nearest_neighbor):
        with pytest.raises(BadArgumentError, match="Either the corners are aligned"):
            function(PHOTO, (5, 5), align_corners=True, half_pixel_centers=True)
