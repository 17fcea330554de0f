"""Image operations give TensorFlow's numbers: `references.npz` beside this file, by `make_references.py`."""

import ast
import pathlib

import jax
import numpy as np
import pytest

from stratax import image

pytestmark = pytest.mark.usefixtures("_loops")

ON = {"numpy": np.asarray, "jax": jax.numpy.asarray}
INTEGERS, FRACTIONS = [0, 1, 2, 100, 127], [0, 0.2, 0.5, 1]
with np.load(pathlib.Path(__file__).with_name("references.npz")) as _file:
    REFERENCES = dict(_file)
_CALLS_OF_JAX = 6
NAMES = sorted({key.partition("|")[0] for key in REFERENCES if "|" in key})


def operand(name, dtype):
    if name == "convert_image_dtype":
        return np.array(FRACTIONS if dtype.startswith("float") else INTEGERS, dtype)
    return REFERENCES[dtype] if dtype else REFERENCES["float32"][:1, ..., :1]


@pytest.mark.parametrize("library", ON)
@pytest.mark.parametrize("name", NAMES)
def test_every_call_gives_what_tensorflow_gave(name, library):
    calls = [key for key in REFERENCES if key.startswith(f"{name}|")]
    # Every call of JAX compiles something: some have to do.
    calls = calls[:: -(-len(calls) // _CALLS_OF_JAX)] if library == "jax" else calls
    for key in calls:
        _, arguments, *dtype = key.split("|")
        images = ON[library](operand(name, *dtype or ("",)))
        result, wanted = getattr(image, name)(images, *ast.literal_eval(arguments)), REFERENCES[key]
        assert isinstance(result, type(images)), key
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), key
        tolerance = 1 if wanted.dtype.kind in "iu" else 2e-3 if wanted.dtype == np.float16 else 3e-6
        np.testing.assert_allclose(
            np.asarray(result, np.float64), wanted, rtol=0, atol=tolerance, err_msg=key
        )


def test_single_images_are_those_of_a_batch():
    photos = REFERENCES["float32"]
    for function in (
        lambda x: image.resize(x, (4, 5)),
        lambda x: image.resize(x, (4, 5), "lanczos3", antialias=True),
        lambda x: image.resize(x, (4, 5), "nearest"),
        lambda x: image.adjust_contrast(x, 1.5),
        lambda x: image.resize_with_crop_or_pad(x, 12, 5),
        image.per_image_standardization,
        image.rot90,
    ):
        one_by_one = np.stack([function(photo) for photo in photos])
        np.testing.assert_allclose(function(photos), one_by_one, atol=1e-6)
