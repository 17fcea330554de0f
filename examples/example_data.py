"""The images that the examples learn from."""

import atexit
import io
import pathlib
import shutil
import sys
import tempfile
import zipfile
from typing import Any

import numpy as np

import stratax.tf as tf
from stratax import convert

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


def digit_records(data: str | None, limit: int, split: str) -> str:
    """Writes digits to a TFRecord file in a temporary folder.

    Args:
        data: A Keras `mnist.npz`; see `mnist`.
        limit: How many digits to learn from at most.
        split: "train" or "test".

    Returns:
        The file's path. An Example has the features `image_raw` and `label`.
    """
    images, labels = mnist(_existing(data), limit)[split == "test"]
    path = _temporary_folder() / f"{split}.tfrecord"
    write_digits(path, images, labels)
    return str(path)


def write_digits(path: pathlib.Path, images: np.ndarray, labels: np.ndarray) -> None:
    """Writes one Example for each image. The file is there when it is whole, so a second run finds it."""
    if path.exists():
        return
    with tf.io.TFRecordWriter(path) as writer:
        for image, label in zip(images, labels, strict=True):
            pixels = tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()]))
            number = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)]))
            features = tf.train.Features(feature={"image_raw": pixels, "label": number})
            writer.write(tf.train.Example(features=features).SerializeToString())


def use_photographs(flags: Any) -> list[str]:
    """Has a program's flags name records of the photographs in `flags.data`, which it converts if none are named.

    Args:
        flags: Those of `flowers_tpu_estimator.py`.

    Returns:
        The names of the classes.
    """
    if flags.data is None:
        sys.exit(
            "Give the folder of the photographs: --data flowers, with train/<class> and val/<class> in it."
        )
    source = _existing(flags.data)
    folder = _temporary_folder() if flags.records is None else pathlib.Path(flags.records)
    folder.mkdir(parents=True, exist_ok=True)
    write = _convert_by_beam if flags.beam else _convert
    flags.num_train_images, flags.num_eval_images = (
        write(source, folder, "train"),
        write(source, folder, "val"),
    )
    flags.train_batch_size = min(flags.train_batch_size, flags.num_train_images)
    flags.train_data_path, flags.eval_data_path = str(folder / "train-*"), str(folder / "val-*")
    return convert.read_classes(folder / "labels.txt")


def _convert(source: pathlib.Path, folder: pathlib.Path, split: str) -> int:
    settings = convert.ConversionSettings(name=split, shards=4, resize=128)
    return convert.convert_images(source / split, folder, settings, on_error="skip").images


def _convert_by_beam(source: pathlib.Path, folder: pathlib.Path, split: str) -> int:
    import apache_beam as beam

    from stratax.convert.beam import ConvertImages

    photographs = sorted((source / split).glob("*/*.jpg"))
    classes = sorted({path.parent.name for path in photographs})
    settings = convert.ConversionSettings(name=split, shards=4, resize=128)
    with beam.Pipeline("DirectRunner") as pipeline:
        pairs = pipeline | beam.Create([(str(path), path.parent.name) for path in photographs])
        _ = pairs | ConvertImages(str(folder), classes, settings, root=str(source / split), on_error="skip")
    return sum(1 for _ in tf.data.TFRecordDataset(sorted(folder.glob(f"{split}-*.tfrecord"))))


def _existing(path: str | None) -> pathlib.Path | None:
    if path is not None and not pathlib.Path(path).exists():
        sys.exit(f"--data: there is no {path!r}.")
    return None if path is None else pathlib.Path(path)


def _temporary_folder() -> pathlib.Path:
    folder = tempfile.mkdtemp()
    # A program of TensorFlow 1 does not end where it began: `tf.app.run` leaves.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


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
