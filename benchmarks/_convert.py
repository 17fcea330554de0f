"""The conversion of images to record files."""

import pathlib
import resource
import tempfile
import time

import numpy as np
import psutil

from benchmarks import _measure
from stratax import image
from stratax.command import convert

_FILES = 100
_HEIGHT, _WIDTH = 240, 320
_WORKERS = 2
_IMAGES = {True: 600, False: 12_000}
"""How many images are converted in a quick run and in a whole one, which takes some ten seconds on two cores."""


def busy(plan: _measure.Plan) -> _measure.Figure:
    """The share of two cores that a conversion by two processes keeps busy, from its call to its return.

    On a machine that does other things as well, they get less; `busy_or_ready` counts the time in which they wait for
    a core, too.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = _write_source(pathlib.Path(folder), _IMAGES[plan.processes == 1])
        rounds = [
            _convert(source, pathlib.Path(folder, f"out-{turn}")) for turn in range(min(plan.rounds, 3))
        ]
    shares, ready, speeds = (list(column) for column in zip(*rounds, strict=True))
    details = {
        "images_per_second": _measure.spread(speeds).value,
        "busy_or_ready": _measure.spread(ready).value,
    }
    return _measure.spread(shares, details)


def _convert(source: pathlib.Path, out: pathlib.Path) -> tuple[float, float, float]:
    """The share of the cores' time that was used, that with the time of waiting for a core, and images per second."""
    waits: dict[int, float] = {}

    def look(progress: convert.ConversionProgress) -> None:
        waits.update({child.pid: _seconds_of_waiting(child.pid) for child in psutil.Process().children()})

    before, started = _processor_seconds(), time.perf_counter()
    settings = convert.ConversionSettings(shards=16)
    report = convert.convert_images(source, out, settings, workers=_WORKERS, progress=look)
    seconds = time.perf_counter() - started
    used = _processor_seconds() - before
    whole = _WORKERS * seconds
    return used / whole, (used + sum(waits.values())) / whole, report.images / seconds


def _seconds_of_waiting(process: int) -> float:
    """How long a process was ready to run and had no core; 0 where the system does not tell."""
    try:
        return int(pathlib.Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def _processor_seconds() -> float:
    """Of this process and of those that it has started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _write_source(folder: pathlib.Path, count: int) -> pathlib.Path:
    """A list of so many images: files of the size of a small photograph, each named many times."""
    generator = np.random.default_rng(0)
    names = [f"{number}.jpg" for number in range(_FILES)]
    for name in names:
        coarse = generator.integers(0, 255, (1, _HEIGHT // 8, _WIDTH // 8, 3), np.uint8)
        pixels = image.resize(coarse.astype(np.float32), [_HEIGHT, _WIDTH])[0] + generator.normal(
            0, 6, (1, 1, 3)
        )
        folder.joinpath(name).write_bytes(image.encode_jpeg(np.clip(pixels, 0, 255).astype(np.uint8)))
    source = folder / "images.csv"
    source.write_text("".join(f"{names[number % _FILES]},{number % 5}\n" for number in range(count)))
    return source
