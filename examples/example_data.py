"""The images that the examples learn from."""

import io
import pathlib
import sys
import zipfile

import numpy as np

Images = tuple[np.ndarray, np.ndarray]


def mnist(path: pathlib.Path | None, limit: int) -> tuple[Images, Images]:
    """Handwritten digits: `((train images, labels), (test images, labels))`.

    Args:
        path: A Keras `mnist.npz`. None: the one in Keras' cache, else scikit-learn's bundled digits, enlarged.
        limit: How many images to learn from at most; the test images are a sixth of that.

    Returns:
        Images uint8 `[n, 28, 28, 1]`, labels int64 `[n]`.
    """
    cached = pathlib.Path.home() / ".keras" / "datasets" / "mnist.npz"
    if path is None and not cached.is_file():
        return _bundled_digits(limit)
    with np.load(path or cached, allow_pickle=False) as file:
        arrays = [file[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    x_train, y_train, x_test, y_test = arrays
    return (
        (x_train[:limit, ..., None], y_train[:limit].astype(np.int64)),
        (x_test[: limit // 6, ..., None], y_test[: limit // 6].astype(np.int64)),
    )


def _bundled_digits(limit: int) -> tuple[Images, Images]:
    from sklearn import datasets

    digits = datasets.load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    # 8x8 with values to 16, made 28x28 with values to 255: each pixel three times in both directions, and a border.
    large = np.pad(np.kron(digits.images, np.ones((3, 3))), ((0, 0), (2, 2), (2, 2)))
    images = np.minimum(large * 16, 255).astype(np.uint8)[order, ..., None]
    labels = digits.target[order].astype(np.int64)
    end = min(limit, 1500)
    return (images[:end], labels[:end]), (images[1500 : 1500 + end // 6], labels[1500 : 1500 + end // 6])


def cifar10(path: pathlib.Path | None, limit: int) -> tuple[Images, Images]:
    """Small photographs of ten classes: `((train images, labels), (test images, labels))`.

    Args:
        path: A folder or zip file of `train/<class>/*.jpg` and `test/<class>/*.jpg`. None: what
            `keras.datasets.cifar10` has in its cache or downloads.
        limit: How many images to learn from at most, evenly over the classes; the test images are a fifth of that.

    Returns:
        Images uint8 `[n, 32, 32, 3]`, labels uint8 `[n, 1]`, as Keras' loader gives them.
    """
    if path is None:
        import keras

        try:
            (x_train, y_train), (x_test, y_test) = keras.datasets.cifar10.load_data()
        except Exception as error:  # Keras has no narrower one for a download that fails.
            sys.exit(
                f"CIFAR-10 is not in Keras' cache, and can't be downloaded: {error}\n"
                "Give its images: --data, a folder or zip file of train/<class>/*.jpg and test/<class>/*.jpg."
            )
        return (x_train[:limit], y_train[:limit]), (x_test[: limit // 5], y_test[: limit // 5])
    files = _files(path)
    return _images(files, "train", limit), _images(files, "test", limit // 5)


def _files(path: pathlib.Path) -> dict[str, bytes | pathlib.Path]:
    """From names such as `train/cat/0001.jpg` to where the bytes are."""
    if path.is_dir():
        return {found.relative_to(path).as_posix(): found for found in sorted(path.rglob("*.jpg"))}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in sorted(archive.namelist()) if name.endswith(".jpg")}


def _images(files: dict[str, bytes | pathlib.Path], split: str, limit: int) -> Images:
    from PIL import Image

    names = [name for name in files if name.startswith(f"{split}/") and name.count("/") >= 2]
    if not names:
        sys.exit(f"There are no images {split}/<class>/*.jpg in what --data names.")
    classes = sorted({name.split("/")[1] for name in names})
    by_class = [[name for name in names if name.split("/")[1] == kind] for kind in classes]
    # One of each class in turn, so that the first `limit` are even and in no order of classes.
    chosen = [group[i] for i in range(max(map(len, by_class))) for group in by_class if i < len(group)][
        :limit
    ]
    contents = [files[name] for name in chosen]
    opened = [Image.open(io.BytesIO(file) if isinstance(file, bytes) else file) for file in contents]
    labels = [[classes.index(name.split("/")[1])] for name in chosen]
    return np.stack([np.asarray(image.convert("RGB")) for image in opened]), np.array(labels, np.uint8)
