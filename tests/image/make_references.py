"""Makes `references.npz`: what TensorFlow's image operations give. Needs TensorFlow; `python make_references.py`.

A key is a function's name and its arguments, as Python would print them after the images. The file in the checkout
is of TensorFlow 2.21.0, on a CPU.
"""

import itertools
import pathlib

import numpy as np
import tensorflow as tf

SIZES = ((4, 5), (9, 13), (14, 9), (3, 20))
METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
COLORS = {
    "adjust_brightness": ((0.3,), (-0.3,)),
    "adjust_contrast": ((1.7,), (0.0,)),
    "adjust_gamma": ((1.7,), (0.5, 2.0)),
    "adjust_saturation": ((-0.5,), (0.0,), (0.5,), (3.0,)),
    "adjust_hue": ((-1.0,), (-0.3,), (0.0,), (0.1,), (0.77,)),
    "per_image_standardization": ((),),
    "rgb_to_grayscale": ((),),
    "rgb_to_hsv": ((),),
    "hsv_to_rgb": ((),),
    "rot90": ((-1,), (0,), (2,), (3,), (5,)),
    "transpose": ((),),
    "flip_up_down": ((),),
    "central_crop": ((0.1,), (0.3,), (0.875,)),
    "resize_with_pad": ((4, 5), (14, 9), (3, 20)),
    "resize_with_crop_or_pad": ((4, 5), (14, 9), (3, 20)),
    "pad_to_bounding_box": ((1, 2, 12, 16),),
    "crop_to_bounding_box": ((1, 2, 3, 4),),
}
FLOATS_ONLY = ("adjust_gamma", "rgb_to_hsv", "hsv_to_rgb")
DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "float16", "float32")
INTEGERS, FRACTIONS = [0, 1, 2, 100, 127], [0, 0.2, 0.5, 1]


def main() -> None:
    """Writes the file."""
    bytes_ = np.random.default_rng(0).integers(0, 256, (2, 9, 13, 3)).astype(np.uint8)
    floats = (bytes_ / 255).astype(np.float32)
    found = {"uint8": bytes_, "float32": floats}
    found |= {
        key: value.numpy() for key, value in [*resized(floats[:1, ..., :1]), *changed(found), *converted()]
    }
    np.savez_compressed(pathlib.Path(__file__).with_name("references.npz"), **found)


def resized(images):
    """Of the first image's first channel."""
    for size, method, antialias in itertools.product(SIZES, METHODS, (False, True)):
        value = tf.image.resize(images, size, method, antialias=antialias)
        yield f"resize|{(size, method, False, antialias)}", value
    for size, (corners, centers) in itertools.product(SIZES, ((False, False), (True, False), (False, True))):
        for name in ("resize_bilinear", "resize_bicubic", "resize_nearest_neighbor"):
            old = getattr(tf.compat.v1.image, name)
            value = old(images, size, align_corners=corners, half_pixel_centers=centers)
            yield f"{name}|{(size, corners, None, centers)}", value
        if not centers:
            value = tf.compat.v1.image.resize_area(images, size, align_corners=corners)
            yield f"resize_area|{(size, corners)}", value
    for size in SIZES:
        yield f"resize|{(size, 'bilinear', True)}", tf.image.resize(images, size, preserve_aspect_ratio=True)


def changed(inputs):
    """Of both images, as bytes and as floats."""
    for dtype, (name, calls) in itertools.product(inputs, COLORS.items()):
        if dtype == "float32" or name not in FLOATS_ONLY:
            for arguments in calls:
                yield f"{name}|{arguments}|{dtype}", getattr(tf.image, name)(inputs[dtype], *arguments)


def converted():
    """Of numbers within the range of every dtype."""
    for before, after, saturate in itertools.product(DTYPES, DTYPES, (False, True)):
        is_float = before.startswith("float")
        if before == "float16" and after in ("uint16", "int16", "int32"):
            continue  # TensorFlow's overflow: 65535 is beyond what float16 holds.
        if is_float and after == "int32":
            continue  # 2**31 is beyond int32: what comes out is the processor's.
        value = np.array(FRACTIONS if is_float else INTEGERS, before)
        yield (
            f"convert_image_dtype|{(after, saturate)}|{before}",
            tf.image.convert_image_dtype(value, after, saturate),
        )


if __name__ == "__main__":
    main()
