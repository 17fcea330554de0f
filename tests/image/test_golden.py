"""Image operations give TensorFlow's numbers: `image_ops.npz` of the shared folder, which TensorFlow 2.21 made."""

import jax
import numpy as np
import pytest

from stratax import image

pytestmark = pytest.mark.usefixtures("_loops")

TOLERANCE = 1e-5
ON = {"numpy": np.asarray, "jax": jax.numpy.asarray}
OPERATIONS = {
    "resize_bilinear": lambda x: image.resize(x, (37, 51)),
    "resize_bilinear_up": lambda x: image.resize(x, (90, 100)),
    "resize_antialias": lambda x: image.resize(x, (20, 30), antialias=True),
    "resize_nearest": lambda x: image.resize(x, (37, 51), image.ResizeMethod.NEAREST_NEIGHBOR),
    "resize_bicubic": lambda x: image.resize(x, (37, 51), image.ResizeMethod.BICUBIC),
    "v1_resize_bilinear": lambda x: image.resize_bilinear(x, (37, 51), align_corners=False),
    "crop_or_pad": lambda x: image.resize_with_crop_or_pad(x, 70, 50),
    "central_crop": lambda x: image.central_crop(x, 0.5),
    "flip_lr": image.flip_left_right,
    "brightness": lambda x: image.adjust_brightness(x, 0.2),
    "contrast": lambda x: image.adjust_contrast(x, 1.7),
    "saturation": lambda x: image.adjust_saturation(x, 0.5),
    "hue": lambda x: image.adjust_hue(x, 0.1),
    "standardize": image.per_image_standardization,
    "gray": image.rgb_to_grayscale,
}


@pytest.fixture(scope="module")
def golden(shared):
    with np.load(shared / "golden" / "image_ops.npz") as file:
        return dict(file)


@pytest.mark.parametrize("number", range(3))
def test_photographs_are_decoded_as_tensorflow_decodes_them(golden, shared, number):
    pixels = image.decode_jpeg((shared / str(golden[f"{number}_file"])).read_bytes())
    assert pixels.shape == tuple(golden[f"{number}_shape"])
    np.testing.assert_allclose(pixels.mean((0, 1)), golden[f"{number}_jpeg_mean"], atol=1e-9)


@pytest.mark.parametrize("library", ON)
@pytest.mark.parametrize("number", range(3))
def test_conversions_give_tensorflows_numbers(golden, number, library):
    patch = ON[library](golden[f"{number}_patch"])
    floats = image.convert_image_dtype(patch, "float32")
    np.testing.assert_allclose(floats, golden[f"{number}_float"], atol=1e-7)
    back = image.convert_image_dtype(ON[library](golden[f"{number}_float"]), "uint8", saturate=True)
    np.testing.assert_array_equal(back, golden[f"{number}_uint8_back"])
    assert type(floats) is type(back)
    assert isinstance(floats, np.ndarray) is isinstance(patch, np.ndarray)


@pytest.mark.parametrize("library", ON)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_tensorflows_numbers(golden, name, library):
    operation = jax.jit(OPERATIONS[name]) if library == "jax" else OPERATIONS[name]
    for number in range(3):
        floats = ON[library](golden[f"{number}_float"])
        result, wanted = operation(floats), golden[f"{number}_{name}"]
        assert isinstance(result, type(floats))
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=0, atol=TOLERANCE)


def test_every_key_of_the_file_is_looked_at(golden):
    looked_at = {*OPERATIONS, "file", "shape", "jpeg_mean", "patch", "float", "uint8_back"}
    assert {key.partition("_")[2] for key in golden} == looked_at
