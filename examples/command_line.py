"""The options that all examples share: which strategy, on which devices, with which data, and how much of it."""

import argparse
import contextlib
import dataclasses
import importlib.util
import itertools
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator

import stratax as sx
import stratax.tf as tf

STRATEGIES = ("one", "mirrored", "central", "tpu")
SIMULATED_TPU = "tpu:8"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line said.

    Attributes:
        strategy: One of `STRATEGIES`, or `"detect"`.
        data: A file or folder, or None.
        records: Where the program keeps its record files, or None for a folder that goes when it ends.
        limit: How many examples to learn from at most.
        epochs: How often they are seen.
        batch_size: Examples in a batch.
        width: How wide the layers are.
    """

    strategy: str
    data: pathlib.Path | None
    records: pathlib.Path | None
    limit: int
    epochs: int
    batch_size: int
    width: int

    @property
    def device_type(self) -> str:
        """The kind of device that the strategy computes on: "TPU", "GPU" or "CPU"."""
        kinds = [device.device_type for device in tf.config.list_logical_devices()]
        return next(kind for kind in ("TPU", "GPU", "CPU") if kind in kinds)

    @contextlib.contextmanager
    def record_folder(self) -> Iterator[pathlib.Path]:
        """The folder for record files: the one that was named, or a temporary one."""
        if self.records is None:
            with tempfile.TemporaryDirectory() as folder:
                yield pathlib.Path(folder)
        else:
            self.records.mkdir(parents=True, exist_ok=True)
            yield self.records

    def make_strategy(self) -> tf.distribute.Strategy:
        """The strategy that was asked for, over the devices that are here."""
        if self.strategy == "one":
            return tf.distribute.OneDeviceStrategy(f"/{self.device_type}:0")
        if self.strategy == "mirrored":
            return tf.distribute.MirroredStrategy()
        if self.strategy == "central":
            return tf.distribute.experimental.CentralStorageStrategy()
        return tf.distribute.TPUStrategy()


def parse(
    description: str,
    *,
    strategy: str,
    limit: int = 2000,
    epochs: int = 2,
    batch_size: int = 200,
    width: int = 16,
    uses: tuple[str, ...] = (),
) -> Options:
    """Reads the command line, and simulates devices before any is started.

    Args:
        description: What the program does.
        strategy: The default strategy.
        limit: Default number of examples.
        epochs: Default number of epochs.
        batch_size: Default batch size.
        width: Default width of layers.
        uses: Which of `data`, `records`, `limit`, `epochs`, `batch_size` and `width` the program has.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    choices = (*STRATEGIES, strategy) if strategy not in STRATEGIES else STRATEGIES
    parser.add_argument("--strategy", choices=choices, default=strategy, help=f"what runs where [{strategy}]")
    parser.add_argument(
        "--simulate",
        metavar="KIND:COUNT",
        help="present the CPU as several devices: tpu:8, gpu:4, cpu:2 [tpu:8 for --strategy tpu without a TPU]",
    )
    defaults = {
        "data": None,
        "records": None,
        "limit": limit,
        "epochs": epochs,
        "batch_size": batch_size,
        "width": width,
    }
    for name in uses:
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=KINDS[name], default=defaults[name], help=HELP[name]
        )
    given = vars(parser.parse_args())
    simulate(given.pop("simulate"), given["strategy"])
    return Options(**{**defaults, **given})


HELP = {
    "data": "a file or folder with the examples",
    "records": "a folder for the record files, kept for the next run [a temporary one]",
    "limit": "learn from so many examples at most [%(default)s]",
    "epochs": "how often all examples are seen [%(default)s]",
    "batch_size": "examples in a batch [%(default)s]",
    "width": "channels and units of the layers [%(default)s]",
}


# Of programs that define their own flags, as programs of TensorFlow 1 do.
FLAGS = {
    "beam": "convert the photographs by a pipeline of Apache Beam",
    "simulate": "present the CPU as several devices, such as tpu:8",
    "steps_per_eval": "how many steps are run at once, and between two evaluations",
}


def help_of(name: str) -> str:
    """What a flag is for, without its default."""
    return FLAGS.get(name, HELP.get(name, "")).partition(" [")[0]


def positive(text: str) -> int:
    """A whole number above 0."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, received {number}")
    return number


def existing(text: str) -> pathlib.Path:
    """A file or folder that is there."""
    path = pathlib.Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no {text!r}")
    return path


KINDS: dict[str, Callable[[str], object]] = {
    "data": existing,
    "records": pathlib.Path,
    "limit": positive,
    "epochs": positive,
    "batch_size": positive,
    "width": positive,
}


def has_a_tpu() -> bool:
    """Whether TPUs are attached, which is known before JAX starts; libtpu alone may be here to compile for them."""
    attached = itertools.chain.from_iterable(map(pathlib.Path("/dev").glob, ("accel*", "vfio/[0-9]*")))
    return importlib.util.find_spec("libtpu") is not None and any(attached)


def simulate(specification: str | None, strategy: str) -> None:
    """Simulates the devices asked for, or a TPU where one is needed and there is none."""
    if (
        specification is None
        and strategy == "tpu"
        and not has_a_tpu()
        and not os.environ.get("STRATAX_SIMULATE")
    ):
        specification = SIMULATED_TPU
    if specification is not None:
        simulated = sx.cluster.parse_specification(specification)
        sx.simulate_devices(simulated.count, simulated.kind)
