"""Images are decoded as TensorFlow 2.21 decodes them; the numbers are what it gave for files made in the same way."""

import io

import numpy as np
import pytest
from PIL import Image

import stratax.tf as tf
from stratax.errors import BadArgumentError, DataLossError

COLORS = [10, 20, 30, 40, 50, 60, 70, 80, 90]


def picture(mode, color=0):
    made = Image.new(mode, (4, 3), color)
    if mode == "P":
        made.putpalette(COLORS + [0] * (768 - len(COLORS)))
        made.putpixel((1, 1), 2 if color == 1 else 1)
    return made


def saved(made, kind="PNG", **options):
    file = io.BytesIO()
    made.save(file, kind, **options)
    return file.getvalue()


def first(pixels):
    return pixels.reshape(-1, pixels.shape[-1])[0].tolist()


@pytest.mark.parametrize(
    ("contents", "channels", "expected"),
    [
        (saved(picture("L", 5), transparency=5), 0, [5]),
        (saved(picture("L", 5), transparency=5), 4, [5, 5, 5, 0]),
        (saved(picture("RGB", (1, 2, 3)), transparency=(1, 2, 3)), 0, [1, 2, 3]),
        (saved(picture("RGB", (1, 2, 3)), transparency=(1, 2, 3)), 4, [1, 2, 3, 0]),
        (saved(picture("RGB", (1, 2, 3))), 1, [1]),
        (saved(picture("RGBA", (40, 50, 60, 9))), 1, [48]),
        (saved(picture("P"), transparency=1), 0, [10, 20, 30, 255]),
        (saved(picture("P"), transparency=bytes([128, 0])), 0, [10, 20, 30, 128]),
        (saved(picture("P")), 0, [10, 20, 30]),
        (saved(picture("P")), 1, [18]),
        (saved(picture("LA", (5, 100))), 0, [5, 100]),
        (saved(picture("1"), transparency=0), 0, [0]),
    ],
)
def test_channels_of_png_files(contents, channels, expected):
    assert first(tf.io.decode_png(contents, channels)) == expected
    if not channels:
        assert first(tf.io.decode_image(contents)) == expected


def test_a_palette_of_a_bmp_file_is_not_looked_up():
    contents = saved(picture("P"), "BMP")
    assert tf.io.decode_bmp(contents)[:2, :, 0].tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]]
    assert tf.io.decode_image(contents).shape == (3, 4, 1)
    assert tf.io.decode_bmp(contents, channels=3)[1, 1].tolist() == [1, 1, 1]
    assert tf.io.decode_bmp(contents, channels=4)[1, 1].tolist() == [1, 1, 1, 255]
    assert tf.io.decode_bmp(saved(picture("L", 9), "BMP")).shape == (3, 4, 1)
    small = bytearray(contents)
    small[28] = 4
    with pytest.raises(DataLossError, match="decode_bmp can't read the image"):
        tf.io.decode_bmp(bytes(small))


def gif(transparency, disposal):
    second = Image.new("P", (4, 3), 2)
    second.putpalette(COLORS + [0] * (768 - len(COLORS)))
    second.putpixel((1, 1), 1)
    made = Image.new("P", (4, 3), 0)
    made.putpalette(COLORS + [0] * (768 - len(COLORS)))
    options = {"transparency": transparency, "disposal": disposal, "optimize": False}
    return saved(made, "GIF", save_all=True, append_images=[second], **options)


class TestGif:
    @pytest.mark.parametrize("disposal", [0, 1, 2, 3])
    @pytest.mark.parametrize(("transparency", "total"), [(0, 2790), (1, 3420), (2, 1530)])
    def test_images_are_painted_over_each_other(self, transparency, total, disposal):
        images = tf.io.decode_gif(gif(transparency, disposal))
        assert images.shape == (2, 3, 4, 3)
        assert int(images.sum()) == total

    def test_what_is_transparent_in_the_first_image_is_black(self):
        contents = saved(picture("P"), "GIF", transparency=0, optimize=False)
        expected = np.zeros((3, 4, 3), np.uint8)
        expected[1, 1] = [40, 50, 60]
        for pixels in (
            tf.io.decode_gif(contents)[0],
            tf.io.decode_png(contents),
            tf.io.decode_jpeg(contents, channels=3),
            tf.io.decode_image(contents, expand_animations=False),
        ):
            np.testing.assert_array_equal(pixels, expected)
        for decode in (tf.io.decode_png, tf.io.decode_image):
            with pytest.raises(BadArgumentError, match="channels of a GIF file"):
                decode(contents, channels=4)

    def test_what_no_image_covers_is_black(self):
        contents = bytearray(saved(picture("P"), "GIF", optimize=False))
        contents[6:10] = b"\x06\x00\x05\x00"
        pixels = tf.io.decode_gif(bytes(contents))[0]
        assert pixels.shape == (5, 6, 3)
        assert not pixels[3:].any()
        assert not pixels[:, 4:].any()
        assert pixels[1, 1].tolist() == [40, 50, 60]


class TestWebP:
    def test_one_image(self):
        contents = saved(picture("RGB", (1, 2, 3)), "WEBP", lossless=True)
        for decode in (tf.io.decode_webp, tf.io.decode_image, tf.io.decode_jpeg, tf.io.decode_png):
            images = decode(contents)
            assert images.shape == (1, 3, 4, 3)
            assert first(images) == [1, 2, 3]
        assert tf.io.decode_image(contents, expand_animations=False).shape == (3, 4, 3)
        assert tf.io.decode_webp(contents, channels=3).shape == (1, 3, 4, 3)
        for decode in (tf.io.decode_webp, tf.io.decode_image):
            with pytest.raises(BadArgumentError, match="with the channels that it has. Expected: 0 or 3"):
                decode(contents, channels=4)

    def test_opacity_and_loss(self):
        contents = saved(picture("RGBA", (1, 2, 3, 100)), "WEBP", lossless=True)
        assert first(tf.io.decode_webp(contents)) == [1, 2, 3, 100]
        wave = Image.fromarray((np.arange(300) % 256).astype(np.uint8).reshape(10, 10, 3))
        assert first(tf.io.decode_webp(saved(wave, "WEBP", lossless=True))) == [0, 1, 2]

    def test_animations_have_opacity(self):
        others = [picture("RGB", (9, 8, 7))]
        contents = saved(
            picture("RGB", (1, 2, 3)), "WEBP", lossless=True, save_all=True, append_images=others
        )
        images = tf.io.decode_webp(contents)
        assert images.shape == (2, 3, 4, 4)
        assert [first(part) for part in images] == [[1, 2, 3, 255], [9, 8, 7, 255]]

    def test_damaged_files(self):
        contents = saved(picture("RGB", (1, 2, 3)), "WEBP", lossless=True)
        with pytest.raises(DataLossError, match="decode_webp can't read the image"):
            tf.io.decode_webp(contents[:-8])
        with pytest.raises(DataLossError, match="decode_webp needs the bytes of a WebP file"):
            tf.io.decode_webp(saved(picture("L")))
        with pytest.raises(DataLossError, match="at most max_pixels=11 pixels"):
            tf.io.decode_webp(contents, max_pixels=11)


@pytest.fixture
def contents():
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 4), np.uint8)
    return saved(Image.fromarray(noise, "CMYK"), "JPEG", quality=90)


class TestInks:
    def test_colors(self, contents):
        pixels = tf.io.decode_jpeg(contents)
        assert pixels[0, :2].tolist() == [[20, 16, 8], [18, 7, 90]]
        assert int(pixels.sum()) == 764780
        assert tf.io.decode_jpeg(contents, channels=1).shape == (64, 64, 1)

    def test_a_half_is_an_error_also_with_an_end(self, contents):
        half = contents[: len(contents) // 2]
        for damaged in (half, half + b"\xff\xd9", half + bytes(len(half)), contents[:-2]):
            with pytest.raises(DataLossError, match="decode_jpeg can't read the image: libjpeg-turbo says"):
                tf.io.decode_jpeg(damaged)
            recovered = tf.io.decode_jpeg(damaged, try_recover_truncated=True)
            assert recovered[0, :2].tolist() == [[20, 16, 8], [18, 7, 90]]


@pytest.mark.parametrize("channels", [0, 4])
@pytest.mark.parametrize("decode", [tf.io.decode_bmp, tf.io.decode_image])
def test_the_opacity_of_bmp_files_is_kept(decode, channels):
    pixels = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    contents = saved(Image.fromarray(pixels, "RGBA"), "BMP")
    np.testing.assert_array_equal(decode(contents, channels), pixels)
    np.testing.assert_array_equal(decode(contents, 3), pixels[..., :3])
    upside_down = bytearray(contents)
    upside_down[22:26] = (-2).to_bytes(4, "little", signed=True)
    np.testing.assert_array_equal(decode(bytes(upside_down), channels), pixels[::-1])


def test_a_png_file_without_its_end_or_with_a_flipped_bit_is_damaged():
    noise = np.random.default_rng(0).integers(0, 255, (8, 9, 3), np.uint8)
    contents = saved(Image.fromarray(noise))
    assert tf.io.decode_png(contents + b"what comes behind").shape == (8, 9, 3)
    for size in range(1, 24):
        with pytest.raises(DataLossError, match="the file ends within the chunk|Pillow says"):
            tf.io.decode_png(contents[:-size])
    at = contents.index(b"IDAT")
    for position in range(at + 4, len(contents) - 12):
        damaged = bytearray(contents)
        damaged[position] ^= 4
        with pytest.raises(DataLossError, match="can't read the image"):
            tf.io.decode_png(bytes(damaged))


def test_sixteen_bits_of_a_png_file_of_eight():
    white = saved(picture("L", 255))
    assert tf.io.decode_image(white, dtype=tf.uint16).max() == 65535
    assert tf.io.decode_png(white, dtype=tf.uint16).max() == 65535
