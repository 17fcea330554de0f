"""The labelled images that `stratax demo` learns from (cli layer)."""

import dataclasses
import os
import pathlib
import zipfile

import click
import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadArgumentError

_MNIST_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_NUM_DIGITS_FOR_TRAINING = 1500
_DIGITS_SEED = 0


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Images:
    """Labelled images, split into those to learn from and those held out.

    Attributes:
        name: What they are called.
        x_train: float32 `[num_examples, height, width]` between 0 and 1, on the host.
        y_train: int32 `[num_examples]`, the digit that each shows.
        x_test: As `x_train`, held out.
        y_test: As `y_train`, held out.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def load_images(dataset: str, path: pathlib.Path | None) -> Images:
    """Load the images of `dataset` (``"digits"`` or ``"mnist"``).

    Args:
        dataset: ``"digits"``: the 1,797 images of 8x8 that scikit-learn brings along. ``"mnist"``: 70,000 of
            28x28, from `path` or Keras' cache.
        path: Where ``mnist.npz`` lies. None: in Keras' cache.

    Returns:
        The images, scaled to between 0 and 1.

    Raises:
        BadArgumentError: If there is no such file, it is no ``mnist.npz``, or `path` is given with ``"digits"``.
        click.ClickException: If scikit-learn is not installed.
    """
    if dataset == "mnist":
        return load_mnist(path or default_mnist_path())
    if path is not None:
        raise BadArgumentError(
            "--data is for --dataset mnist; the digits come with scikit-learn. "
            f"Received: dataset={shown(dataset)}, data={shown(str(path))}. Leave --data out, or add --dataset mnist."
        )
    return load_digits()


def load_digits() -> Images:
    """Return scikit-learn's handwritten digits: 1,500 to learn from, 297 held out, always the same ones."""
    try:
        from sklearn import datasets
    except ImportError as error:
        raise click.ClickException(
            "The digits are part of scikit-learn, which is not installed. Expected: the extra 'demo'. "
            "Received: no package sklearn. Run: pip install 'stratax-train[demo]'"
        ) from error
    digits = datasets.load_digits()
    # The same split in every run, drawn from the whole file.
    order = np.random.default_rng(_DIGITS_SEED).permutation(len(digits.target))
    x = (digits.images[order] / 16).astype(np.float32)
    y = digits.target[order].astype(np.int32)
    return Images(
        name="digits",
        x_train=x[:_NUM_DIGITS_FOR_TRAINING],
        y_train=y[:_NUM_DIGITS_FOR_TRAINING],
        x_test=x[_NUM_DIGITS_FOR_TRAINING:],
        y_test=y[_NUM_DIGITS_FOR_TRAINING:],
    )


def default_mnist_path() -> pathlib.Path:
    """Return where `keras.datasets.mnist.load_data()` keeps its file: under $KERAS_HOME, else ~/.keras."""
    home = os.environ.get("KERAS_HOME")
    return (pathlib.Path(home) if home else pathlib.Path.home() / ".keras") / "datasets" / "mnist.npz"


def load_mnist(path: pathlib.Path) -> Images:
    """Read a ``mnist.npz`` as Keras distributes it.

    Args:
        path: The file, with the arrays x_train, y_train, x_test and y_test.

    Returns:
        The images, scaled to between 0 and 1.

    Raises:
        BadArgumentError: If there is no such file or it is not an ``mnist.npz``.
    """
    arrays = _read_arrays(path)
    for part in ("train", "test"):
        _check_labelled_images(path, part, arrays[f"x_{part}"], arrays[f"y_{part}"])
    return Images(
        name="mnist",
        x_train=(arrays["x_train"] / 255).astype(np.float32),
        y_train=arrays["y_train"].astype(np.int32),
        x_test=(arrays["x_test"] / 255).astype(np.float32),
        y_test=arrays["y_test"].astype(np.int32),
    )


def _read_arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise BadArgumentError(
            "There is no MNIST file there. Expected: an mnist.npz with the arrays "
            f"{', '.join(_MNIST_ARRAYS)}. Received: data={shown(str(path))}. Give its path with --data, or let Keras "
            'download it: KERAS_BACKEND=jax python -c "import keras; keras.datasets.mnist.load_data()"'
        )
    try:
        # Without pickle, which could run code of whoever made the file.
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in _MNIST_ARRAYS}
    except (KeyError, ValueError, EOFError, OSError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise BadArgumentError(
            f"This file is not a readable mnist.npz ({error}). Expected: an .npz with the arrays "
            f"{', '.join(_MNIST_ARRAYS)}. Received: data={shown(str(path))}. Give another file with --data."
        ) from error


def _check_labelled_images(path: pathlib.Path, part: str, x: np.ndarray, y: np.ndarray) -> None:
    if x.ndim != 3 or y.shape != x.shape[:1] or len(x) == 0 or not _are_digits(y):
        raise BadArgumentError(
            f"The arrays x_{part} and y_{part} are not labelled images. Expected: x [n, height, width] and y [n] "
            f"with whole numbers from 0 to 9, n at least 1. Received: data={shown(str(path))}, x{list(x.shape)} "
            f"{x.dtype}, y{list(y.shape)} {y.dtype}. Give another file with --data."
        )


def _are_digits(y: np.ndarray) -> bool:
    return bool(np.issubdtype(y.dtype, np.integer) and y.min() >= 0 and y.max() <= 9)
