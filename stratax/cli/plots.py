"""Pictures that commands write (cli layer)."""

import pathlib

from stratax.base.shown import shown
from stratax.errors import BadArgumentError


def check_plot(path: pathlib.Path | None) -> None:
    """Refuse a file for the picture that can't be written, before anything has run for minutes."""
    if path is None:
        return
    if path.suffix.lower() != ".svg":
        raise BadArgumentError(
            f"The picture is an SVG. Expected: a file name that ends with .svg. Received: --plot {shown(str(path))}."
        )
    if not path.resolve().parent.is_dir():
        raise BadArgumentError(
            f"There is no folder for the picture. Received: --plot {shown(str(path))}. Make it with mkdir -p."
        )


def write_plot(path: pathlib.Path, text: str, problems: list[str]) -> None:
    """Write a picture; what goes wrong is added to the problems of a command."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        problems.append(f"The picture could not be written: {error}.")
