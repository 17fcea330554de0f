"""`stratax convert checkpoint` and `savedmodel`: TensorFlow's values for Stratax' variables (cli layer)."""

import importlib
import importlib.util
import json
import os
import pathlib
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from stratax.base.shown import shown
from stratax.errors import AlreadyExistsError, BadArgumentError, FileMissingError

if TYPE_CHECKING:
    from stratax.tensorflow.checkpoints.conversion import ConversionRow, Report

_Command = Callable[..., None]
_MOST_WIDTH = 60


def _options(command: _Command) -> _Command:
    options = [
        click.argument("source", type=click.Path(path_type=pathlib.Path)),
        click.argument("out", type=click.Path(path_type=pathlib.Path), required=False),
        click.option(
            "--model",
            metavar="MODULE:FUNCTION",
            help="A function without arguments that gives what the values are for: a built Keras model, a dict such as "
            "{'model': model, 'optimizer': optimizer}, a Checkpoint, or variables. Also FILE.py:FUNCTION.",
        ),
        click.option(
            "--like",
            type=click.Path(path_type=pathlib.Path),
            metavar="CHECKPOINT",
            help="A checkpoint of Stratax of the same program, whose variables the values are for.",
        ),
        click.option(
            "--map",
            "names",
            multiple=True,
            metavar="OLD=NEW",
            help="A value's name in TensorFlow and its variable's here, or two scopes: old/=new/, where / is the root. "
            "Or a file with one of these on each line. May be given again.",
        ),
        click.option("--partial", is_flag=True, help="Write OUT also if some variables have no value."),
        click.option("--overwrite", "--force", is_flag=True, help="Replace a checkpoint that is in OUT."),
        click.option("--dry-run", is_flag=True, help="Report, and write nothing; OUT may be left out."),
        click.option("--json", "as_json", is_flag=True, help="Report as JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_options
def checkpoint(source: pathlib.Path, **options: Any) -> None:
    """Convert the checkpoint SOURCE of TensorFlow to the checkpoint OUT.

    SOURCE is what `Saver.save` or `Checkpoint.save` returned, such as logs/model.ckpt-10, a folder whose latest is
    meant, or a SavedModel. Both formats of `Saver` are read, and TensorFlow need not be installed.

    With --model or --like, OUT is for those variables: what TensorFlow saved by objects is found by its place among
    them, and what it saved by name by its name; the slots of optimizers too. Without, OUT has all values: by name,
    for Estimators and `Saver`, or by the places of objects. The exit code is 1, and OUT is not written, if a
    variable has no value of its shape.

    \b
    Examples:
      stratax convert checkpoint model_dir new_model_dir/model.ckpt-10
      stratax convert checkpoint logs/ckpt-3 converted --model my_models:make_model
      stratax convert checkpoint old/model.ckpt-9 converted --model my_models:make_model --map net/=dense/
      stratax convert checkpoint logs/ckpt-3 --dry-run --like checkpoints --json
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped is the control character
    _convert(source, **options)


@click.command()
@_options
def savedmodel(source: pathlib.Path, **options: Any) -> None:
    """Convert the weights of the SavedModel SOURCE to the checkpoint OUT.

    The functions of a SavedModel are TensorFlow's and stay behind: --model gives the model that the weights are for.
    They are found by the model's structure, where Keras saved it, and else by the variables' names.

    \b
    Examples:
      stratax convert savedmodel exported/1 converted --model my_models:make_model
      stratax convert savedmodel exported/1 --dry-run
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped is the control character
    if not any((source / name).is_file() for name in ("saved_model.pb", "saved_model.pbtxt")):
        raise FileMissingError(
            "There is no SavedModel. Expected: a folder with a file saved_model.pb. Received: "
            f"{shown(os.fspath(source))}. For a checkpoint: stratax convert checkpoint."
        )
    _convert(source, **options)


def _convert(
    source: pathlib.Path,
    out: pathlib.Path | None,
    model: str | None,
    like: pathlib.Path | None,
    names: tuple[str, ...],
    partial: bool,
    overwrite: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    if out is None and not dry_run:
        raise click.UsageError("Missing argument 'OUT'; only a --dry-run needs none.")
    if model is not None and like is not None:
        raise click.UsageError(
            "--model and --like both say which variables the values are for. Give one of them."
        )
    # Here, so that `--help` and the other commands start without JAX.
    from stratax.tensorflow.checkpoints import conversion

    if out is not None:
        _check_free(out, overwrite=overwrite)
    opened = conversion.source_of(source)
    renamed = _names(names)
    target = None
    if like is not None:
        target = conversion.of_checkpoint(like)
    elif model is not None:
        target = conversion.of_objects(_make_model(model))
    report = conversion.convert(opened, target, renamed)
    written = None
    if out is not None and not dry_run and (report.is_complete or partial):
        conversion.write(out, report)
        written = os.fspath(out)
    if as_json:
        click.echo(json.dumps(_as_json(report, written), indent=1))
    else:
        _print(report, written)
    if not (report.is_complete or partial):
        raise click.ClickException(
            f"{report.totals['missing']} variables have no value in the checkpoint, and {report.totals['different']} "
            "have one of another shape or dtype: see the report. Nothing was written. Say with --map which values "
            "they are, or convert the others with --partial."
        )


def _check_free(out: pathlib.Path, *, overwrite: bool) -> None:
    if out.exists() and not overwrite and not (out.is_dir() and not any(out.iterdir())):
        raise AlreadyExistsError(
            f"There is something at OUT already. Received: {shown(os.fspath(out))}. Choose another path, or replace a "
            "checkpoint with --overwrite."
        )


def _names(given: Iterable[str]) -> dict[str, str]:
    """Return new names by old ones."""
    found = {}
    for each in given:
        lines = [each]
        if "=" not in each or pathlib.Path(each).is_file():
            try:
                lines = pathlib.Path(each).read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise BadArgumentError(
                    f"--map takes OLD=NEW, or a file of such lines. Received: {shown(each)}, which is no file that can "
                    f"be read: {error}."
                ) from error
        for line in lines:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            old, equals, new = (part.strip() for part in line.partition("="))
            if not (old and equals and new):
                raise BadArgumentError(f"--map takes OLD=NEW. Received: {shown(line)}.")
            found[old.removesuffix(":0")] = new.removesuffix(":0")
    return found


def _make_model(name: str) -> Any:
    """Return what the function of --model gives."""
    place, colon, function = name.rpartition(":")
    if not (place and colon and function):
        raise BadArgumentError(f"--model takes MODULE:FUNCTION. Received: {shown(name)}.")
    # As `python -m` does, so that a program's modules are found.
    sys.path.insert(0, os.getcwd())
    module = _file(pathlib.Path(place)) if place.endswith(".py") else _module(place)
    found = module
    for part in function.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise BadArgumentError(
            f"--model names a function that is not there. Received: {shown(function)} of {shown(place)}."
        )
    return found()


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "tensorflow":
            raise BadArgumentError(
                f"--model names a program that imports TensorFlow, which is not installed. Received: {shown(name)}. "
                "Let it have Stratax instead: stratax run -m stratax convert checkpoint ..."
            ) from error
        # Another one that it imports is the program's own matter.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise BadArgumentError(
            f"--model names a module that is not there: {error}. Received: {shown(name)}. Run the command in the "
            "folder that the module is in, or give the file: FILE.py:FUNCTION."
        ) from error


def _file(path: pathlib.Path) -> Any:
    if not path.is_file():
        raise BadArgumentError(f"--model names a file that is not there. Received: {shown(os.fspath(path))}.")
    sys.path.insert(0, os.fspath(path.absolute().parent))
    return _module(path.stem)


def _as_json(report: "Report", out: str | None) -> dict[str, Any]:
    return {
        "source": report.source,
        "out": out,
        "complete": report.is_complete,
        "totals": report.totals,
        "variables": [
            {
                "status": row.status,
                "tensorflow": row.name,
                "key": row.key,
                "here": row.here,
                "shape": list(row.shape),
                "dtype": row.dtype,
                "here_shape": None if row.here_shape is None else list(row.here_shape),
                "here_dtype": row.here_dtype,
                "why": row.why,
            }
            for row in report.rows
        ],
    }


def _print(report: "Report", out: str | None) -> None:
    header = ("status", "in TensorFlow", "here", "shape", "dtype", "why")
    lines = [header, *map(_cells, report.rows)]
    widths = [min(_MOST_WIDTH, max(len(line[column]) for line in lines)) for column in range(len(header) - 1)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True))
        click.echo("  ".join(cells).rstrip())
    click.echo()
    click.echo(", ".join(f"{count} {status}" for status, count in report.totals.items()))
    click.echo(f"written: {out}" if out is not None else "nothing was written")


def _cells(row: "ConversionRow") -> tuple[str, ...]:
    shape, dtype = str(list(row.shape)), row.dtype
    if row.here_shape not in (None, row.shape):
        shape += f" -> {list(row.here_shape or ())}"
    if row.here_dtype not in (None, row.dtype):
        dtype += f" -> {row.here_dtype}"
    return (row.status, _text(row.name), _text(row.here), shape, dtype, row.why)


def _text(name: str | None) -> str:
    # Control characters in a name could change the terminal.
    return "-" if name is None else name if name.isprintable() else ascii(name)
