"""What Keras 2 does with images: folders of them, cropped, and layers that take lists (keras2 layer)."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from keras.ops import convert_to_tensor

from stratax import image as images
from stratax.base.typing import TensorLike
from stratax.tensorflow.ops.control.whole_files import read_file


def cropping(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what loads an image for Keras, with `crop_to_aspect_ratio=True` on the host.

    Args:
        original: Keras' own function, which imports its TensorFlow backend to crop.
    """

    @functools.wraps(original)
    def load(
        path: Any,
        image_size: tuple[int, int],
        num_channels: int,
        interpolation: str,
        data_format: str,
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
    ) -> Any:
        if pad_to_aspect_ratio or not crop_to_aspect_ratio:
            return original(
                path,
                image_size,
                num_channels,
                interpolation,
                data_format,
                crop_to_aspect_ratio=crop_to_aspect_ratio,
                pad_to_aspect_ratio=pad_to_aspect_ratio,
            )
        image = images.decode_image(read_file(path), channels=num_channels, expand_animations=False)
        image = images.resize(_crop(image, image_size), image_size, method=interpolation)
        return image if data_format == "channels_last" else np.transpose(image, (2, 0, 1))

    return load


def taking_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what computes a layer of images, which takes lists of numbers or of images, too.

    Args:
        original: Keras' own method.
    """

    @functools.wraps(original)
    def call(self: Any, data: TensorLike, *args: object, **kwargs: object) -> Any:
        data = convert_to_tensor(data, self.compute_dtype) if isinstance(data, (list, tuple)) else data
        return original(self, data, *args, **kwargs)

    return call


def _crop(image: Any, size: tuple[int, int]) -> Any:
    """Return the largest window in the middle of an image that has the proportions of a size."""
    height, width = image.shape[:2]
    # In single precision, as Keras on TensorFlow computes them: the window must not differ by a pixel.
    wanted = int(np.float32(width * size[0]) / np.float32(size[1]))
    window_height = max(min(height, wanted), 1)
    wanted = int(np.float32(height * size[1]) / np.float32(size[0]))
    window_width = max(min(width, wanted), 1)
    return images.crop_to_bounding_box(
        image, (height - window_height) // 2, (width - window_width) // 2, window_height, window_width
    )
