"""Images come out of the bytes of files, and bytes that are none are refused with what they look like."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from stratax import image
from stratax.errors import BadArgumentError, BadTypeError, DataLossError

RNG = np.random.default_rng(0)
PHOTO = np.asarray(Image.fromarray(RNG.integers(0, 256, (6, 8, 3)).astype(np.uint8)).resize((80, 60)))
JPEG = image.encode_jpeg(PHOTO)
PNG = image.encode_png(PHOTO)


def saved(pixels, format, **options):
    file = io.BytesIO()
    picture = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    picture.save(file, format, **options)
    return file.getvalue()


BMP = saved(PHOTO, "BMP")
GIF = saved(PHOTO, "GIF", save_all=True, append_images=[Image.fromarray(PHOTO[::-1])])


def test_a_jpeg_file_has_the_pixels_that_libjpeg_gives():
    wanted = np.asarray(Image.open(io.BytesIO(JPEG)))
    np.testing.assert_array_equal(image.decode_jpeg(JPEG, dct_method="INTEGER_ACCURATE"), wanted)
    assert np.abs(image.decode_jpeg(JPEG).astype(int) - PHOTO).mean() < 3


@pytest.mark.parametrize("contents", [JPEG, PNG, BMP, GIF], ids=["jpeg", "png", "bmp", "gif"])
@pytest.mark.parametrize("channels", [0, 1, 3])
def test_as_in_tensorflow_every_decoder_takes_every_kind(contents, channels):
    if contents is GIF and channels == 1:
        with pytest.raises(BadArgumentError, match="channels of a GIF file"):
            image.decode_jpeg(contents, channels)
        return
    for decode in (image.decode_jpeg, image.decode_png):
        pixels = decode(contents, channels)
        assert (pixels.dtype, pixels.shape) == (np.uint8, (60, 80, channels or 3))
        assert pixels.flags.writeable
    pixels = image.decode_image(contents, channels, expand_animations=False)
    assert pixels.shape == (60, 80, channels or 3)


@pytest.mark.parametrize(("ratio", "shape"), [(2, (32, 40, 3)), (4, (16, 20, 3)), (8, (8, 10, 3))])
def test_a_jpeg_file_is_made_smaller_while_it_is_decoded(ratio, shape):
    assert image.decode_jpeg(JPEG, ratio=ratio).shape == (-(-60 // ratio), *shape[1:])
    whole = image.resize_with_crop_or_pad(PHOTO, 64, 80)
    small = image.decode_jpeg(image.encode_jpeg(whole), ratio=ratio)
    assert small.shape == shape
    assert np.abs(small - image.resize(whole, shape[:2], "area")).mean() < 4


def test_gray_files_have_one_channel():
    gray = PHOTO[..., :1]
    assert image.decode_jpeg(image.encode_jpeg(gray)).shape == (60, 80, 1)
    np.testing.assert_array_equal(image.decode_png(image.encode_png(gray)), gray)
    np.testing.assert_array_equal(image.decode_png(image.encode_png(gray), 3), np.repeat(gray, 3, -1))


def test_jpeg_files_of_four_inks_become_red_green_and_blue():
    contents = saved(Image.fromarray(PHOTO).convert("CMYK"), "JPEG", quality=95)
    pixels = image.decode_jpeg(contents)
    assert pixels.shape == (60, 80, 3)
    assert np.abs(pixels.astype(int) - PHOTO).mean() < 4
    assert image.decode_jpeg(contents, ratio=2).shape == (30, 40, 3)


def test_jpeg_files_that_come_in_passes_are_decoded():
    assert image.decode_jpeg(image.encode_jpeg(PHOTO, progressive=True)).shape == (60, 80, 3)


def test_palettes_and_opacity_of_png_files():
    palette = Image.fromarray(PHOTO).quantize(16)
    pixels = image.decode_png(saved(palette, "PNG"))
    np.testing.assert_array_equal(pixels, np.asarray(palette.convert("RGB")))
    with_opacity = np.concatenate([PHOTO, PHOTO[..., :1]], -1)
    np.testing.assert_array_equal(image.decode_png(image.encode_png(with_opacity)), with_opacity)
    np.testing.assert_array_equal(image.decode_png(image.encode_png(with_opacity), 3), PHOTO)
    gray = with_opacity[..., 2:]
    np.testing.assert_array_equal(image.decode_png(image.encode_png(gray)), gray)
    np.testing.assert_array_equal(image.decode_png(PNG, 4)[..., 3], np.full((60, 80), 255))


def test_png_files_of_sixteen_bits():
    deep = (np.arange(4800, dtype=np.uint16) * 13).reshape(60, 80, 1)
    contents = image.encode_png(deep)
    np.testing.assert_array_equal(image.decode_png(contents, dtype="uint16"), deep)
    np.testing.assert_array_equal(image.decode_png(contents), deep >> 8)
    np.testing.assert_allclose(image.decode_image(contents, dtype="float32"), deep / 65535, atol=1e-6)
    both = image.decode_png(contents, 4, "uint16")
    np.testing.assert_array_equal(
        both, np.concatenate([np.repeat(deep, 3, -1), np.full_like(deep, 65535)], -1)
    )
    np.testing.assert_array_equal(image.decode_png(PNG, dtype="uint16"), PHOTO * np.uint16(257))


def test_colors_of_sixteen_bits_are_refused_where_eight_are_not_enough():
    header = bytearray(PNG)
    header[24] = 16
    header[29:33] = zlib.crc32(header[12:29]).to_bytes(4, "big")
    with pytest.raises(BadArgumentError, match="16 bits of gray only"):
        image.decode_png(bytes(header), dtype="uint16")


def test_animations():
    frames = image.decode_gif(GIF)
    assert (frames.dtype, frames.shape) == (np.uint8, (2, 60, 80, 3))
    np.testing.assert_array_equal(image.decode_image(GIF), frames)
    np.testing.assert_array_equal(image.decode_image(GIF, expand_animations=False), frames[0])
    assert not np.array_equal(frames[0], frames[1])


def test_images_of_bmp_files():
    np.testing.assert_array_equal(image.decode_bmp(BMP), PHOTO)


def test_the_dtype_of_an_image_is_the_one_asked_for():
    floats = image.decode_image(JPEG, dtype="float32")
    assert floats.dtype == np.float32
    np.testing.assert_allclose(floats * 255, image.decode_jpeg(JPEG), atol=1e-4)


def test_a_part_of_a_jpeg_file():
    part = image.decode_and_crop_jpeg(JPEG, [10, 20, 30, 40])
    np.testing.assert_array_equal(part, image.decode_jpeg(JPEG)[10:40, 20:60])
    with pytest.raises(BadArgumentError, match="within the image"):
        image.decode_and_crop_jpeg(JPEG, [10, 20, 300, 40])
    with pytest.raises(BadArgumentError, match="four numbers"):
        image.decode_and_crop_jpeg(JPEG, [10, 20, 30])


def test_shape_and_kind_without_decoding():
    np.testing.assert_array_equal(image.extract_jpeg_shape(JPEG), [60, 80, 3])
    assert image.extract_jpeg_shape(JPEG, "int64").dtype == np.int64
    assert image.is_jpeg(JPEG)
    assert not image.is_jpeg(PNG)


def test_bytes_may_come_as_what_holds_one_value():
    for contents in (np.array(JPEG, object), bytearray(JPEG), memoryview(JPEG), np.array([JPEG], object)[0]):
        assert image.decode_jpeg(contents).shape == (60, 80, 3)


@pytest.mark.parametrize(
    ("contents", "looks"),
    [
        (b"", "no bytes at all"),
        (b"hello, world", "12 bytes that begin with b'hello, world' and look like text"),
        (b"\n<!DOCTYPE html><p>Not found</p>", "look like HTML"),
        (b"\x1f\x8b\x08\x00abc", "look like gzip"),
        (b"II*\x00\x08\x00", "look like TIFF"),
        (b"\x00\x00\x00\x20ftypavif", "look like AVIF or HEIF"),
        (b"<?xml version='1.0'?><svg>", "look like SVG"),
        (bytes(100), "are zeros"),
        (b"\x93\x01\x02\x03", "look like no kind of image"),
    ],
)
def test_what_is_no_image_is_reported_by_what_it_looks_like(contents, looks):
    for decode in (
        image.decode_jpeg,
        image.decode_png,
        image.decode_image,
        image.decode_gif,
        image.decode_bmp,
    ):
        with pytest.raises(DataLossError, match="needs the bytes of a") as caught:
            decode(contents)
        assert looks in str(caught.value)
    with pytest.raises(DataLossError, match="needs the bytes of a JPEG file"):
        image.extract_jpeg_shape(contents)


@pytest.mark.parametrize("contents", [JPEG, PNG, BMP, GIF], ids=["jpeg", "png", "bmp", "gif"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.95])
def test_files_that_are_cut_off_are_refused(contents, part):
    cut = contents[: int(len(contents) * part)]
    with pytest.raises(DataLossError, match="decode_image can't read the image"):
        image.decode_image(cut)
    with pytest.raises(DataLossError, match="decode_jpeg can't read the image"):
        image.decode_jpeg(cut) if contents is not GIF else image.decode_jpeg(cut[:300])


def test_files_of_one_kind_only_are_refused_when_cut_off():
    with pytest.raises(DataLossError, match="decode_bmp can't read the image"):
        image.decode_bmp(BMP[:1000])
    with pytest.raises(DataLossError, match="decode_gif can't read the image"):
        image.decode_gif(GIF[:1000])
    with pytest.raises(DataLossError, match="extract_jpeg_shape can't read the image"):
        image.extract_jpeg_shape(JPEG[:10])


def test_what_there_is_of_a_file_that_is_cut_off_can_be_had():
    whole, found = image.decode_jpeg(JPEG), image.decode_jpeg(JPEG[:-500], try_recover_truncated=True)
    np.testing.assert_array_equal(found[:8], whole[:8])
    assert (found[-1] == found[-1, -1]).all()
    with pytest.raises(DataLossError, match="Premature end of JPEG file"):
        image.decode_jpeg(JPEG[:-500])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP"])
def test_no_memory_is_taken_on_the_word_of_a_header(kind):
    damaged = bytearray({"JPEG": JPEG, "PNG": PNG, "BMP": BMP}[kind])
    if kind == "JPEG":
        at = damaged.index(b"\xff\xc0") + 5
        damaged[at : at + 4] = b"\xff\x00\xff\x00"
    elif kind == "PNG":
        damaged[16:24] = bytes([0, 0, 0x20, 0]) * 2
        damaged[29:33] = zlib.crc32(damaged[12:29]).to_bytes(4, "big")
    else:
        damaged[18:26] = bytes([0, 0x20, 0, 0]) * 2
    with pytest.raises(DataLossError, match="its header claims"):
        image.decode_image(bytes(damaged[:2000]))


def test_one_flipped_bit_never_crashes_a_decoder():
    for contents in (JPEG, PNG, GIF, BMP):
        for place in RNG.integers(0, len(contents), 60):
            damaged = bytearray(contents)
            damaged[place] ^= 1 << int(RNG.integers(8))
            try:
                pixels = image.decode_image(bytes(damaged))
            except DataLossError:
                continue
            assert pixels.dtype == np.uint8


@pytest.mark.parametrize("contents", ["a name", 3, np.array([JPEG, JPEG], object), None])
def test_contents_have_to_be_bytes(contents):
    with pytest.raises(BadTypeError, match="The contents of an image file are bytes"):
        image.decode_jpeg(contents)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: image.decode_jpeg(JPEG, channels=4), "channels"),
        (lambda: image.decode_jpeg(JPEG, ratio=3), "ratio"),
        (lambda: image.decode_jpeg(JPEG, dct_method="FLOAT"), "dct_method"),
        (lambda: image.decode_png(PNG, channels=2), "channels"),
        (lambda: image.decode_png(JPEG, channels=4), "channels of a JPEG file"),
        (lambda: image.decode_png(PNG, dtype="float32"), "dtype"),
        (lambda: image.decode_bmp(BMP, channels=2), "channels"),
        (lambda: image.decode_image(JPEG, channels=5), "channels"),
        (lambda: image.decode_image(GIF, channels=1), "channels of a GIF file"),
    ],
)
def test_arguments_have_to_be_one_of_their_values(call, name):
    with pytest.raises(BadArgumentError, match=f"{name} has to be one of"):
        call()


@pytest.mark.parametrize(
    ("kind", "content", "total"),
    [(None, b"", 3662), (b"sRGB", b"\0", 4048), (b"gAMA", struct.pack(">I", 30000), 4285)],
)
def test_colors_of_a_png_file_become_tensorflows_gray(kind, content, total):
    # Sums of TensorFlow 2.21 (libpng): a file that tells its gamma is averaged in linear light.
    random = np.random.RandomState(0)
    random.randint(0, 256, (64, 64, 3))
    plain = saved(random.randint(0, 256, (5, 6, 3)).astype(np.uint8), "PNG")
    chunk = b"" if kind is None else kind + content
    if chunk:
        chunk = struct.pack(">I", len(content)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    # Behind the signature and the header.
    assert image.decode_png(plain[:33] + chunk + plain[33:], channels=1).astype(int).sum() == total
