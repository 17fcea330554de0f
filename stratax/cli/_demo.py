"""`stratax demo`: Keras' `fit` under a strategy, on real handwritten digits (cli layer)."""

import dataclasses
import pathlib
import sys
import time
from typing import TYPE_CHECKING

import click
import numpy as np

from stratax.cli._datasets import Images, load_images
from stratax.cli._options import apply_simulation, simulate_option
from stratax.cli._pictures import draw
from stratax.cli._plan import TrainingPlan
from stratax.cli._strategies import STRATEGIES, build_strategy

if TYPE_CHECKING:
    from stratax.cluster import SimulatedDevices
    from stratax.distribute import Strategy

_NUM_SHOWN = 4
_POSITIVE = click.IntRange(min=1)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Defaults:
    """What the demo does with a dataset where the command line does not say.

    Attributes:
        epochs: How often every example is seen.
        batch_size: Examples in a global batch.
    """

    epochs: int
    batch_size: int


DEFAULTS = {
    "digits": Defaults(epochs=20, batch_size=64),
    "mnist": Defaults(epochs=3, batch_size=256),
}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOutcome:
    """What came of a training run.

    Attributes:
        accuracy: Share of the held-out images that were recognised.
        examples_per_second: Training speed after the first epoch, in which the program is compiled; if there
            is only that one, its speed.
        seconds: Time that `fit` took, compilation included.
        probabilities: float32 `[num_held_out, 10]`, on the host.
    """

    accuracy: float
    examples_per_second: float
    seconds: float
    probabilities: np.ndarray


@click.command()
@click.option(
    "--strategy",
    type=click.Choice(list(STRATEGIES)),
    default="mirrored",
    show_default=True,
    help="What runs where: the first device, all devices, all with the variables on the host, a TPU.",
)
@simulate_option
@click.option(
    "--dataset",
    type=click.Choice(list(DEFAULTS)),
    default="digits",
    show_default=True,
    help="1,797 images that need no download, or 70,000.",
)
@click.option(
    "--data",
    "path",
    type=click.Path(path_type=pathlib.Path),
    help="Where mnist.npz lies.  [default: in Keras' cache]",
)
@click.option("--epochs", type=_POSITIVE, metavar="N", help="[default: 20 for digits, 3 for mnist]")
@click.option(
    "--batch-size",
    type=_POSITIVE,
    metavar="N",
    help="Of a global batch.  [default: 64 for digits, 256 for mnist]",
)
@click.option(
    "--steps-per-execution",
    type=_POSITIVE,
    metavar="N",
    default=1,
    show_default=True,
    help="Steps in one dispatch.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Decides the first weights and the order of the examples.",
)
def demo(
    strategy: str,
    simulate: "SimulatedDevices | None",
    dataset: str,
    path: pathlib.Path | None,
    epochs: int | None,
    batch_size: int | None,
    steps_per_execution: int,
    seed: int,
) -> None:
    """Learn handwritten digits with Keras' fit under a strategy."""
    # First: JAX must not have started.
    apply_simulation(simulate)
    images = load_images(dataset, path)
    built = build_strategy(strategy)
    plan = TrainingPlan(
        strategy=type(built).__name__,
        devices=built.device_names,
        num_replicas=built.num_replicas_in_sync,
        num_examples=len(images.x_train),
        batch_size=batch_size or DEFAULTS[dataset].batch_size,
        steps_per_execution=steps_per_execution,
        epochs=epochs or DEFAULTS[dataset].epochs,
    )
    _print_plan(images, plan)
    _print_outcome(images, train(built, images, plan, seed=seed))


def train(strategy: "Strategy", images: Images, plan: TrainingPlan, *, seed: int) -> TrainingOutcome:
    """Train a small network on `images` under `strategy` and try it on the held-out ones.

    Args:
        strategy: A strategy of `stratax.distribute`.
        images: What to learn from.
        plan: How.
        seed: Decides the first weights and the order of the examples.

    Returns:
        How well and how fast it went.
    """
    import keras

    keras.utils.set_random_seed(seed)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.layers.Input(images.x_train.shape[1:]),
                keras.layers.Flatten(),
                keras.layers.Dense(128, activation="relu"),
                keras.layers.Dense(10, activation="softmax"),
            ]
        )
        model.compile(
            optimizer=keras.optimizers.Adam(0.003),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
            steps_per_execution=plan.steps_per_execution,
        )
    epoch_ends: list[float] = []
    clock = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: epoch_ends.append(time.perf_counter())
    )
    start = time.perf_counter()
    model.fit(
        images.x_train,
        images.y_train,
        batch_size=plan.batch_size,
        epochs=plan.epochs,
        # The bar redraws its line, which a file or a pipe can't; there, a line an epoch.
        verbose=1 if sys.stdout.isatty() else 2,
        callbacks=[clock],
    )
    _, accuracy = model.evaluate(images.x_test, images.y_test, batch_size=plan.batch_size, verbose=0)
    return TrainingOutcome(
        accuracy=float(accuracy),
        examples_per_second=_speed(plan, start, epoch_ends),
        seconds=epoch_ends[-1] - start,
        probabilities=np.asarray(model.predict(images.x_test, batch_size=plan.batch_size, verbose=0)),
    )


def _speed(plan: TrainingPlan, start: float, epoch_ends: list[float]) -> float:
    if len(epoch_ends) == 1:
        return plan.num_examples / (epoch_ends[0] - start)
    # From the end of the first epoch on, which contains the compilation.
    return plan.num_examples * (len(epoch_ends) - 1) / (epoch_ends[-1] - epoch_ends[0])


def _print_plan(images: Images, plan: TrainingPlan) -> None:
    click.echo(f"{images.name}: {len(images.x_train)} images to learn from, {len(images.x_test)} held out")
    for label, text in plan.lines():
        click.echo(f"  {label:<9} {text}")


def _print_outcome(images: Images, outcome: TrainingOutcome) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    recognised = outcome.probabilities.argmax(axis=1)
    table = Table(title="Some of the held-out images", show_lines=False)
    shown = _choose_shown(recognised, images.y_test)
    for index in shown:
        is_right = recognised[index] == images.y_test[index]
        share = outcome.probabilities[index, recognised[index]]
        mark = "right" if is_right else f"wrong, it is {images.y_test[index]}"
        table.add_column(f"{recognised[index]} ({share:.0%})\n{mark}", style="green" if is_right else "red")
    table.add_row(*(Text(draw(images.x_test[index])) for index in shown))
    Console().print(table, highlight=False)
    click.echo(
        f"held-out accuracy {outcome.accuracy:.1%} ({len(images.x_test)} images), "
        f"{outcome.examples_per_second:,.0f} examples/s, {outcome.seconds:.1f} s with compilation"
    )


def _choose_shown(recognised: np.ndarray, y_test: np.ndarray) -> list[int]:
    """Return the first few held-out images, the last of them replaced by the first mistake where there is one."""
    shown = list(range(min(_NUM_SHOWN, len(y_test))))
    mistakes = np.flatnonzero(recognised != y_test)
    if len(mistakes) and mistakes[0] not in shown:
        shown[-1] = int(mistakes[0])
    return shown
