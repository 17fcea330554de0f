"""Images become the bytes of files."""

import io

import numpy as np
import pytest
from PIL import Image

from stratax import image
from stratax.errors import BadArgumentError

PHOTO = np.arange(20 * 30 * 3).reshape(20, 30, 3).astype(np.uint8)


def opened(contents):
    return Image.open(io.BytesIO(contents))


def test_the_settings_of_a_jpeg_file_are_heeded():
    plain = image.encode_jpeg(PHOTO)
    assert opened(plain).info["dpi"] == (300, 300)
    assert len(image.encode_jpeg(PHOTO, quality=10)) < len(plain)
    assert len(image.encode_jpeg(PHOTO, optimize_size=True)) < len(plain)
    assert len(image.encode_jpeg(PHOTO, chroma_downsampling=False)) > len(plain)
    assert "progressive" in opened(image.encode_jpeg(PHOTO, progressive=True)).info
    assert opened(image.encode_jpeg(PHOTO, x_density=100, y_density=50)).info["dpi"] == (100, 50)
    assert opened(image.encode_jpeg(PHOTO, density_unit="cm", x_density=100)).info["dpi"][0] == 254
    assert b"<x/>" in image.encode_jpeg(PHOTO, xmp_metadata="<x/>")


@pytest.mark.parametrize(("channels", "format"), [(1, ""), (1, "grayscale"), (3, ""), (3, "rgb")])
def test_the_format_of_a_jpeg_file_fits_the_channels(channels, format):
    assert image.decode_jpeg(image.encode_jpeg(PHOTO[..., :channels], format)).shape == (20, 30, channels)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_files_lose_nothing(channels):
    pixels = np.arange(20 * 30 * channels).reshape(20, 30, channels).astype(np.uint8)
    np.testing.assert_array_equal(image.decode_png(image.encode_png(pixels)), pixels)


def test_png_files_are_compressed_as_asked():
    assert len(image.encode_png(PHOTO, compression=0)) > len(image.encode_png(PHOTO, compression=9))


@pytest.mark.parametrize(
    "pixels",
    [
        PHOTO.astype(np.float32),
        PHOTO[..., 0],
        PHOTO[None],
        PHOTO[..., :2],
        PHOTO[:0],
        np.zeros((4, 4, 5), np.uint8),
    ],
    ids=["floats", "no channels", "batch", "two channels", "empty", "five channels"],
)
def test_what_is_no_image_of_bytes_is_refused(pixels):
    with pytest.raises(BadArgumentError, match="encode_jpeg takes one image of dtype uint8"):
        image.encode_jpeg(pixels)
    if pixels.shape != (20, 30, 2):
        with pytest.raises(BadArgumentError, match="encode_png takes one image of dtype uint8 or uint16"):
            image.encode_png(pixels)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: image.encode_jpeg(PHOTO, "rgba"), "format has to be one of"),
        (
            lambda: image.encode_jpeg(PHOTO, "grayscale"),
            "channels of an image in this format has to be one of 1",
        ),
        (lambda: image.encode_jpeg(PHOTO, quality=101), "from 0 to 100"),
        (lambda: image.encode_jpeg(PHOTO, quality=50.5), "a whole number from 0 to 100"),
        (
            lambda: image.encode_jpeg(np.zeros((65_501, 1, 1), np.uint8)),
            "can't make a JPEG file.*65501, 1, 1",
        ),
        (
            lambda: image.encode_jpeg(PHOTO, xmp_metadata="x" * 70_000),
            "can't make a JPEG file.*XMP data is too long",
        ),
        (lambda: image.encode_jpeg(PHOTO, density_unit="mm"), "density_unit has to be one of"),
        (lambda: image.encode_png(PHOTO, compression=10), "compression has to be one of"),
        (lambda: image.encode_png(PHOTO.astype(np.uint16)), "channels of a uint16 image has to be one of 1"),
    ],
)
def test_arguments_have_to_be_one_of_their_values(call, message):
    with pytest.raises(BadArgumentError, match=message):
        call()
