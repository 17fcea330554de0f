"""What of TensorFlow's names needs packages that come with an extra only (tf layer)."""

import functools
import importlib.util

from stratax.tf import _missing

# The packages of each extra, and the names that need them, or in which all do.
_EXTRAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "images": (
        ("PIL", "simplejpeg"),
        (
            *(
                "tf.io.decode_jpeg",
                "tf.io.decode_png",
                "tf.io.decode_image",
                "tf.io.decode_gif",
                "tf.io.decode_bmp",
            ),
            *(
                "tf.io.decode_and_crop_jpeg",
                "tf.io.extract_jpeg_shape",
                "tf.io.encode_jpeg",
                "tf.io.encode_png",
            ),
            *("tf.image.decode_jpeg", "tf.image.decode_png", "tf.image.decode_image", "tf.image.decode_gif"),
            *(
                "tf.image.decode_bmp",
                "tf.image.encode_jpeg",
                "tf.image.encode_png",
                "tf.image.adjust_jpeg_quality",
            ),
            *("tf.image.decode_and_crop_jpeg", "tf.image.extract_jpeg_shape", "tf.image.random_jpeg_quality"),
        ),
    ),
    "tensorboard": (
        ("tensorboard",),
        (
            *("tf.summary.create_file_writer", "tf.summary.FileWriter", "tf.summary.FileWriterCache"),
            *("tf.train.summary_iterator", "tf.keras.callbacks.TensorBoard"),
        ),
    ),
    "servers": (
        ("pyarrow", "cryptography"),
        ("tf.distribute.ParameterServerStrategy", "tf.distribute.experimental.ParameterServerStrategy"),
    ),
}


def lacking(name: str) -> str | None:
    """Return what is said about a name that needs packages which are not installed; None if it needs none.

    Args:
        name: A name of TensorFlow's, in full.
    """
    for spelling in _missing.spellings(name):
        extra = _by_name().get(spelling)
        packages = [] if extra is None else [each for each in _EXTRAS[extra][0] if not _is_installed(each)]
        if packages:
            return (
                f"It needs {' and '.join(packages)}, which {'is' if len(packages) == 1 else 'are'} not installed. Run "
                f"`pip install 'stratax-train[{extra}]'`."
            )
    return None


@functools.cache
def _by_name() -> dict[str, str]:
    return {name: extra for extra, (_, names) in _EXTRAS.items() for name in names}


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
