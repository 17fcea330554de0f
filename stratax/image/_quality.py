"""Images as they are after they were a JPEG file of some quality (image layer). All compute on the host."""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import TensorLike
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError, BadTypeError
from stratax.image._arrays import as_image
from stratax.image._decode import decode_jpeg
from stratax.image._draws import Draw, draw_of, stateless_draw_of
from stratax.image._dtypes import convert_image_dtype
from stratax.image._encode import encode_jpeg


@gives_tensors
def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Any:
    """Return an image as a JPEG file of some quality shows it, as `tf.image.adjust_jpeg_quality`.

    Args:
        image: uint8, or floats from 0 to 1, shape `[height, width, channels]` with 1 or 3 channels.
        jpeg_quality: From 0 to 100.
        dct_method: Ignored.
        name: Ignored.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadTypeError: If `image` is traced: files are made on the host.
    """
    array, xp = as_image(image)
    if is_traced(array) or is_traced(jpeg_quality):
        raise BadTypeError(
            "JPEG files are made on the host, which a compiled program can't do. Received: a traced image or quality. "
            "Call it in the pipeline, with Dataset.map."
        )
    pixels = np.asarray(convert_image_dtype(array, np.uint8, saturate=True))
    shown_pixels = decode_jpeg(
        encode_jpeg(pixels, quality=int(np.asarray(jpeg_quality))), channels=pixels.shape[-1]
    )
    return xp.asarray(convert_image_dtype(shown_pixels, array.dtype, saturate=True))


def _draw_quality(image: TensorLike, least: int, most: int, draw: Draw) -> Any:
    if not 0 <= least < most <= 100:
        raise BadArgumentError(
            "Qualities are from 0 to 100, the smallest below the largest. Received: "
            f"min_jpeg_quality={shown(least)}, max_jpeg_quality={shown(most)}."
        )
    return adjust_jpeg_quality(image, least + int(float(draw(())) * (most - least)))


@gives_tensors
def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Any:
    """Return an image as a JPEG file of a random quality shows it, as `tf.image.random_jpeg_quality`.

    Args:
        image: As in :func:`adjust_jpeg_quality`.
        min_jpeg_quality: The smallest quality.
        max_jpeg_quality: What the quality is below.
        seed: As in :func:`random_flip_left_right`.

    Raises:
        BadArgumentError: If the qualities are not in order.
    """
    return _draw_quality(image, min_jpeg_quality, max_jpeg_quality, draw_of(as_image(image)[0], seed))


@gives_tensors
def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: TensorLike
) -> Any:
    """Return an image as a JPEG file of a random quality shows it, as `tf.image.stateless_random_jpeg_quality`.

    Args:
        image: As in :func:`adjust_jpeg_quality`.
        min_jpeg_quality: The smallest quality.
        max_jpeg_quality: What the quality is below.
        seed: Two integers, from which alone the quality follows.

    Raises:
        BadArgumentError: If the qualities are not in order.
    """
    return _draw_quality(
        image, min_jpeg_quality, max_jpeg_quality, stateless_draw_of(as_image(image)[0], seed)
    )
