"""Photographs: decoding, resizing and augmenting them, against tf.data; and what bounds it."""

import contextlib
import gc
import importlib.util
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np

from benchmarks import _measure, _peer
from stratax import image
from stratax.data import Dataset

_SIZE = 160
_BATCH = 32
# Passes before a turn: more images than either side makes ahead.
_LEAD = 2
_MADE = 120
_MADE_SIZE = (240, 320)
_TENSORFLOW = """
import pathlib
import tensorflow as tf
listing, size, batch, workers = sys.argv[1], *map(int, sys.argv[2:])
contents = [pathlib.Path(path).read_bytes() for path in pathlib.Path(listing).read_text().splitlines()]
num_batches = len(contents) // batch

def augmented(content):
    photo = tf.image.convert_image_dtype(tf.image.decode_jpeg(content, channels=3), tf.float32)
    photo = tf.compat.v1.image.resize_bilinear(photo[None], (size + 10, size + 10))[0]
    photo = tf.image.random_crop(photo, (size, size, 3))
    photo = tf.image.random_flip_left_right(photo)
    photo = tf.image.random_brightness(photo, 63 / 255)
    photo = tf.image.random_contrast(photo, 0.2, 1.8)
    return photo * 2 - 1

options = tf.data.Options()
options.threading.private_threadpool_size = workers
dataset = tf.data.Dataset.from_tensor_slices(contents).repeat().map(augmented, num_parallel_calls=workers)
batches = iter(dataset.batch(batch).prefetch(2).with_options(options))

def run():
    for _ in range(num_batches):
        next(batches)
"""


def flowers(workers: int, kind: str, is_compiled: bool, plan: _measure.Plan) -> _measure.Figure:
    """Images a second as a share of tf.data's; the details say what an image takes, and what parts of the work do.

    Both are in the middle of training: pipelines that repeat for ever and that have started. What they have made ahead
    of a turn does not count.

    Args:
        workers: How many threads make images for tf.data, and how many workers do here.
        kind: What those are: `"threads"` or `"processes"`.
        is_compiled: Whether Numba compiles operations here; else NumPy computes alone.
        plan: How long to measure.
    """
    _choose(is_compiled)
    # To look through all that is imported, before every turn, would count as time of the processor.
    gc.freeze()
    spent: dict[str, list[tuple[float, int]]] = {"stratax": [], "tf_data": []}
    with _photographs() as paths, tempfile.TemporaryDirectory() as folder:
        listing = pathlib.Path(folder) / "files.txt"
        listing.write_text("\n".join(map(str, paths)), encoding="utf-8")
        contents = [path.read_bytes() for path in paths]
        num_batches = len(contents) // _BATCH
        settings = [str(number) for number in (_SIZE, _BATCH, workers)]
        with (
            iter(pipeline(contents, workers, kind)) as batches,
            _peer.tensorflow(_TENSORFLOW, str(listing), *settings) as theirs,
        ):

            def ours(count: int) -> None:
                for _ in range(count * num_batches):
                    next(batches)
                spent["stratax"].append((time.process_time(), count * num_batches * _BATCH))

            def peers(count: int) -> None:
                spent["tf_data"].append((theirs(count), count * num_batches * _BATCH))

            mine, others = _measure.in_turns(ours, peers, plan=plan, lead=_LEAD)
    details = {
        "stratax_us": statistics.median(mine) / (num_batches * _BATCH) * 1e6,
        "tf_data_us": statistics.median(others) / (num_batches * _BATCH) * 1e6,
        **(
            {f"{side}_processor_us": _processor_time(turns) for side, turns in spent.items()}
            if kind == "threads"
            else {}
        ),
        **_parts(contents, workers),
    }
    return _measure.spread([other / own for own, other in zip(mine, others, strict=True)], details)


def _choose(is_compiled: bool) -> None:
    if not is_compiled:
        sys.modules["numba"] = cast(types.ModuleType, None)
    elif importlib.util.find_spec("numba") is None:
        raise _peer.NotInstalledError("not installed: numba (pip install 'stratax-train[image-speed]')")


def _processor_time(turns: list[tuple[float, int]]) -> float:
    """Microseconds of one process for an image, in all turns but the first."""
    return (turns[-1][0] - turns[0][0]) / sum(images for _, images in turns[1:]) * 1e6


def pipeline(contents: list[bytes], workers: int, kind: str) -> Dataset:
    """Photographs in memory as batches for training, for ever."""
    dataset = Dataset.from_tensor_slices(np.array(contents, object)).repeat()
    workers_of = {"num_parallel_calls": workers} if kind == "threads" else {"num_processes": workers}
    return dataset.map(augmented, **workers_of).batch(_BATCH).prefetch(2)


def augmented(content: bytes) -> np.ndarray:
    """What an image classifier is trained on: a part of the photograph, with other light."""
    photo = image.convert_image_dtype(image.decode_jpeg(content, channels=3), np.float32)
    photo = image.resize_bilinear(photo, (_SIZE + 10, _SIZE + 10))
    photo = image.random_crop(photo, (_SIZE, _SIZE, 3))
    photo = image.random_flip_left_right(photo)
    photo = image.random_brightness(photo, 63 / 255)
    photo = image.random_contrast(photo, 0.2, 1.8)
    return photo * np.float32(2) - np.float32(1)


def _decoded(content: bytes) -> np.ndarray:
    return image.decode_jpeg(content, channels=3)


def _parts(contents: list[bytes], workers: int) -> dict[str, float]:
    """What bounds it: an image's share of the decoder alone and of the whole function, on one thread and on all."""
    found = {}
    for name, work in (("decoding", _decoded), ("function", augmented)):
        for threads in (1, workers):
            found[f"{name}_{threads}_threads_us"] = min(_per_image(work, contents, threads) for _ in range(5))
    return found


def _per_image(work: Callable[[bytes], object], contents: list[bytes], count: int) -> float:
    def run(part: list[bytes]) -> None:
        for content in part:
            work(content)

    threads = [threading.Thread(target=run, args=(contents[i::count],)) for i in range(count)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - began) / len(contents) * 1e6


@contextlib.contextmanager
def _photographs() -> Iterator[list[pathlib.Path]]:
    """The photographs of flowers that are shared beside the checkout, or else some that are made up."""
    beside = pathlib.Path(__file__).resolve().parents[2] / "shared"
    folder = pathlib.Path(os.environ.get("STRATAX_SHARED", beside)) / "data" / "flowers" / "train"
    if paths := sorted(folder.glob("*/*.jpg")):
        yield paths
        return
    with tempfile.TemporaryDirectory() as made:
        yield [_made(pathlib.Path(made) / f"{number}.jpg", number) for number in range(_MADE)]


def _made(path: pathlib.Path, number: int) -> pathlib.Path:
    """A smooth picture with some noise, which takes about the time of a photograph."""
    generator = np.random.default_rng(number)
    smooth = image.resize(generator.random((12, 16, 3), np.float32), _MADE_SIZE, "bicubic")
    noisy = smooth + generator.normal(0, 0.03, smooth.shape).astype(np.float32)
    path.write_bytes(image.encode_jpeg(image.convert_image_dtype(noisy, np.uint8, saturate=True), quality=85))
    return path
