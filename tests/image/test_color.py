"""Colors: compiled programs, dtypes and what is refused; the numbers are compared with TensorFlow's elsewhere."""

import jax
import numpy as np
import pytest

from stratax import image
from stratax.errors import BadArgumentError, BadTypeError

pytestmark = pytest.mark.usefixtures("_loops")

PHOTO = np.random.default_rng(0).integers(0, 256, (2, 5, 6, 3)).astype(np.uint8)
CALLS = {
    "brightness": lambda x, n: image.adjust_brightness(x, n),
    "contrast": lambda x, n: image.adjust_contrast(x, n),
    "gamma": lambda x, n: image.adjust_gamma(x, n),
    "saturation": lambda x, n: image.adjust_saturation(x, n),
    "hue": lambda x, n: image.adjust_hue(x, n),
    "standardization": lambda x, n: image.per_image_standardization(x),
    "grayscale": lambda x, n: image.grayscale_to_rgb(image.rgb_to_grayscale(x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_compiled_program_gives_the_same_with_a_number_that_it_computes(name):
    wanted = CALLS[name](PHOTO, 0.3)
    compiled = jax.jit(CALLS[name])(PHOTO, np.float32(0.3))
    assert compiled.dtype == wanted.dtype
    tolerance = 1 if wanted.dtype == np.uint8 else 1e-5
    np.testing.assert_allclose(np.asarray(compiled, np.float32), wanted, atol=tolerance)


@pytest.mark.parametrize("name", ["brightness", "contrast", "gamma", "saturation", "hue", "grayscale"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "float64"])
def test_dtypes_stay_what_they_are(name, dtype):
    photo = image.convert_image_dtype(PHOTO, dtype)
    assert CALLS[name](photo, 0.3).dtype == dtype


@pytest.mark.parametrize("name", CALLS)
def test_the_image_that_was_given_stays_as_it_is(name):
    for photo in (PHOTO.copy(), image.convert_image_dtype(PHOTO, "float32")):
        before = photo.copy()
        CALLS[name](photo, 0.3)
        np.testing.assert_array_equal(photo, before)


def test_hue_saturation_and_value_go_back_to_the_same_colors():
    colors = image.convert_image_dtype(PHOTO, "float32")
    np.testing.assert_allclose(image.hsv_to_rgb(image.rgb_to_hsv(colors)), colors, atol=1e-6)


def test_gradients_of_images_without_color_are_finite():
    gray = np.full((2, 2, 3), 0.5, np.float32)
    for function in (
        lambda x: image.adjust_hue(x, 0.1),
        lambda x: image.adjust_saturation(x, 0.5),
        image.rgb_to_hsv,
    ):
        gradient = jax.jit(jax.grad(lambda x, function=function: function(x).sum()))(gray)
        assert np.isfinite(gradient).all()


def test_arguments_are_checked():
    for function in (image.adjust_saturation, image.adjust_hue):
        with pytest.raises(BadArgumentError, match="last axis holds 3 channels"):
            function(PHOTO[..., :2], 0.5)
    with pytest.raises(BadArgumentError, match="last axis holds 3 channels"):
        image.rgb_to_grayscale(PHOTO[..., :1])
    with pytest.raises(BadArgumentError, match="last axis holds 1 channel"):
        image.grayscale_to_rgb(PHOTO)
    for function in (lambda x: image.adjust_contrast(x, 1.5), image.per_image_standardization):
        with pytest.raises(BadArgumentError, match="several have more axes before"):
            function(PHOTO[0, 0])
    for function in (image.rgb_to_hsv, image.hsv_to_rgb):
        with pytest.raises(BadArgumentError, match="Hue, saturation and value are floats"):
            function(PHOTO)
    for delta in (-1.5, np.float32(1.1)):
        with pytest.raises(BadArgumentError, match="from -1 to 1"):
            image.adjust_hue(PHOTO, delta)
    with pytest.raises(BadArgumentError, match="gamma has to be at least 0"):
        image.adjust_gamma(PHOTO, -1)
    for value in (None, "0.1"):
        for function in (
            image.adjust_brightness,
            image.adjust_contrast,
            image.adjust_saturation,
            image.adjust_hue,
        ):
            with pytest.raises(
                BadTypeError, match="is a number, or an array of them. Received: (None|'0.1')"
            ):
                function(PHOTO, value)
