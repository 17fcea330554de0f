"""`stratax convert images`: labelled images into TFRecord files (cli layer)."""

import contextlib
import pathlib
import re
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

import click

from stratax.base.shown import shown
from stratax.cli._convert_checkpoint import checkpoint, savedmodel

if TYPE_CHECKING:
    from stratax.command.convert import ConversionProgress, ConversionReport

# The exit code after SIGTERM, as a shell tells it.
TERMINATED = 143

_POSITIVE = click.IntRange(min=1)
_NUM_NAMED = 10


class SizeType(click.ParamType):
    """A command-line value such as ``256`` (the shorter side) or ``224x224`` (height x width)."""

    name = "size"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> int | tuple[int, int]:
        """Read `value`; a wrong one fails as click's own types do, with exit code 2."""
        match = re.fullmatch(r"(\d+)(?:x(\d+))?", str(value))
        if match is None:
            self.fail(
                f"{shown(value)} is no size. Expected: 256 (the shorter side) or 224x224.", parameter, context
            )
        height, width = match.groups()
        return int(height) if width is None else (int(height), int(width))


@click.group()
def convert() -> None:
    """Convert data to the files that training reads, and TensorFlow's checkpoints to those of Stratax."""


convert.add_command(checkpoint)
convert.add_command(savedmodel)


@convert.command()
@click.argument("source", type=click.Path(exists=True, path_type=pathlib.Path))
@click.argument("out", type=click.Path(file_okay=False, path_type=pathlib.Path))
@click.option("--shards", type=_POSITIVE, metavar="N", help="How many files.  [default: 16]")
@click.option(
    "--workers", type=_POSITIVE, metavar="N", help="How many processes.  [default: one for each core]"
)
@click.option(
    "--resize",
    type=SizeType(),
    help="S: the shorter side becomes S pixels, smaller images stay. HxW: exactly so.  [default: as they are]",
)
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path),
    metavar="FILE",
    help="The classes in their order, one on each line; others are left out.  [default: all, sorted]",
)
@click.option("--name", default="train", show_default=True, help="What the files' names begin with.")
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="A broken image ends the conversion, or is left out and listed in NAME.skipped.txt.",
)
@click.option(
    "--quality",
    type=click.IntRange(1, 100),
    metavar="Q",
    default=95,
    show_default=True,
    help="JPEG quality of images that are encoded anew.",
)
@click.option(
    "--label-offset", type=int, metavar="N", default=1, show_default=True, help="The first class's number."
)
@click.option(
    "--seed", type=int, metavar="N", default=0, show_default=True, help="Decides the order of the images."
)
@click.option(
    "--overwrite", "--force", is_flag=True, help="Replace an earlier conversion instead of going on with it."
)
def images(
    source: pathlib.Path,
    out: pathlib.Path,
    shards: int | None,
    workers: int | None,
    resize: int | tuple[int, int] | None,
    labels: pathlib.Path | None,
    name: str,
    on_error: str,
    quality: int,
    label_offset: int,
    seed: int,
    overwrite: bool,
) -> None:
    """Convert the images of SOURCE to TFRecord files in OUT.

    SOURCE is a folder with one folder of images for each class, or a CSV file with lines `path,label`, paths being
    relative to its folder. OUT gets files such as train-00000-of-00016.tfrecord and labels.txt. A conversion that was
    interrupted goes on when the same command is given again.
    """
    # Here, so that `--help` and the other commands start without the image packages.
    from stratax.command.convert import ConversionSettings, convert_images, read_classes

    settings = ConversionSettings(
        shards=shards, name=name, resize=resize, quality=quality, label_offset=label_offset, seed=seed
    )
    classes = read_classes(labels) if labels is not None else None
    with _ending_on_sigterm(), _progress_bar() as progress:
        report = convert_images(
            source,
            out,
            settings,
            classes=classes,
            workers=workers,
            on_error=on_error,
            overwrite=overwrite,
            progress=progress,
        )
    _print_report(report)


@contextlib.contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command in order, worker processes first."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(TERMINATED)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not in the main thread, so it is not ours to say
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _progress_bar() -> Iterator[Callable[["ConversionProgress"], None]]:
    """Draw a bar with images per second on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    console = Console(stderr=True)
    # A file or a pipe gets the report only: it cannot redraw a line.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, rate="")

        def show(progress: "ConversionProgress") -> None:
            done = progress.images + progress.skipped
            elapsed = bar.tasks[0].elapsed or 0.0
            # Images of an earlier, interrupted call do not count for the speed.
            rate = f"{(done - progress.resumed) / elapsed:,.0f} images/s" if elapsed > 0 else ""
            bar.update(task, completed=done, total=progress.total, rate=rate)

        yield show


def _print_report(report: "ConversionReport") -> None:
    click.echo(
        f"{report.images:,} images of {len(report.classes)} classes in {len(report.files)} files, "
        f"{report.size / 2**20:,.1f} MiB: {report.files[0]}"
    )
    if report.resumed_images == report.images:
        click.echo("all of them were there already")
    else:
        went_on = f", {report.resumed_images:,} images were there already" if report.resumed_images else ""
        click.echo(f"{report.seconds:.1f} s, {report.images_per_second:,.0f} images/s{went_on}")
    for reason, count in sorted(report.ignored.items()):
        click.echo(f"ignored: {count} {reason}")
    for name in report.empty_classes:
        click.echo(f"no image of class {_show(name)}")
    for name, why in report.skipped[:_NUM_NAMED]:
        click.echo(f"skipped: {_show(name)}: {why}", err=True)
    if report.skipped:
        click.echo(f"{len(report.skipped)} broken images skipped, see {report.skipped_list}", err=True)


def _show(name: str) -> str:
    """Return a file name as a terminal can show it."""
    # Control characters in a name could change the terminal.
    return name if name.isprintable() else ascii(name)
