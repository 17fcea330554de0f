import io
import struct

import numpy as np
import pytest
from PIL import Image

from stratax.command.convert import _example
from stratax.data import Example
from stratax.errors import DataLossError, MissingPackageError
from tests.command.convert.pictures import image_file


def features_of(contents, **options):
    record = _example.image_example(contents, filename="cat/ü.jpg", label=3, text="Kätzchen", **options)
    features = Example.FromString(record).features.feature
    return {name: getattr(value, value.WhichOneof("kind")).value[0] for name, value in features.items()}


def pixels_of(features):
    with Image.open(io.BytesIO(features["image/encoded"])) as image:
        assert (image.format, image.mode) == ("JPEG", "RGB")
        return np.asarray(image)


def test_a_jpeg_in_colour_stays_byte_by_byte_and_is_described():
    contents = image_file()
    assert features_of(contents) == {
        "image/encoded": contents,
        "image/class/label": 3,
        "image/class/text": "Kätzchen".encode(),
        "image/filename": "cat/ü.jpg".encode(),
        "image/height": 20,
        "image/width": 30,
        "image/channels": 3,
        "image/colorspace": b"RGB",
        "image/format": b"JPEG",
    }


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "P"), ("PNG", "L"), ("PNG", "1"),
        ("BMP", "RGB"), ("GIF", "P"), ("WEBP", "RGB"),
    ],
)  # fmt: skip
def test_everything_else_becomes_a_jpeg_in_rgb(kind, mode):
    features = features_of(image_file(kind, mode))
    assert pixels_of(features).shape == (20, 30, 3)
    assert (features["image/height"], features["image/width"]) == (20, 30)
    assert features["image/format"] == b"JPEG"


def test_a_png_of_16_bits_keeps_its_brightness():
    values = np.full((16, 16), 0x8000, np.uint16)
    file = io.BytesIO()
    Image.fromarray(values).save(file, "PNG")
    np.testing.assert_allclose(pixels_of(features_of(file.getvalue())), 128, atol=2)


def test_a_png_keeps_its_colours():
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[..., 0], pixels[..., 2] = 200, 60
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    np.testing.assert_allclose(pixels_of(features_of(file.getvalue())), pixels, atol=4)


@pytest.mark.parametrize(
    ("resize", "size"),
    [(10, (10, 15)), (20, (20, 30)), (40, (20, 30)), ((16, 16), (16, 16)), ((40, 50), (40, 50))],
)
def test_resizing_makes_the_shorter_side_so_long_or_the_size_exact(resize, size):
    contents = image_file()
    features = features_of(contents, resize=resize)
    assert (features["image/height"], features["image/width"]) == size
    assert pixels_of(features).shape == (*size, 3)
    assert (features["image/encoded"] == contents) == (size == (20, 30))


def test_a_reduced_image_is_the_mean_of_what_it_shows():
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[::2] = 200
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    reduced = pixels_of(features_of(file.getvalue(), resize=(8, 8)))
    np.testing.assert_allclose(reduced, 100, atol=6)


def test_quality_decides_the_size_of_what_is_encoded_anew():
    contents = image_file("PNG", size=(64, 64))
    sizes = [len(features_of(contents, quality=quality)["image/encoded"]) for quality in (20, 60, 95)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2] / 2


def test_equal_images_make_equal_records():
    options = {"filename": "a", "label": 1, "text": "b", "resize": 8}
    assert len({_example.image_example(image_file(), **options) for _ in range(5)}) == 1


WHOLE = image_file(size=(64, 64))


@pytest.mark.parametrize(
    "contents",
    [
        b"", b"\xff\xd8\xff", WHOLE[: len(WHOLE) // 2], WHOLE[:-2], WHOLE[:300], b"not an image", b"<svg></svg>",
        image_file("PNG")[:200], b"GIF89a" + bytes(20), bytes(1000),
    ],
)  # fmt: skip
def test_a_broken_image_is_an_error_that_names_the_file(contents):
    with pytest.raises(DataLossError, match=r"can't be decoded.*Received: 'cat/ü\.jpg'") as caught:
        features_of(contents)
    assert caught.value.filename == "cat/ü.jpg"


def test_a_header_that_claims_too_much_allocates_nothing():
    frame = WHOLE.index(b"\xff\xc0")
    claimed = WHOLE[: frame + 5] + struct.pack(">HH", 65500, 65500) + WHOLE[frame + 9 :]
    with pytest.raises(DataLossError, match="claims 65500 x 65500 pixels"):
        features_of(claimed)


def test_without_the_packages_for_images_the_extra_is_named(monkeypatch):
    def missing(module):
        raise MissingPackageError(f"no {module}: pip install 'stratax-train[images]'")

    monkeypatch.setattr(_example, "package", missing)
    with pytest.raises(MissingPackageError, match=r"stratax-train\[images\]"):
        _example.require_codecs()
    with pytest.raises(MissingPackageError, match=r"stratax-train\[images\]"):
        features_of(image_file())
