"""`tf.flags` and `tf.app`: a program's command line, read by absl as TensorFlow 1 does it (v1 layer)."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from absl import app
from absl import flags as absl_flags


class Flags:
    """The values of the flags that a program has defined, as `tf.flags.FLAGS`.

    The command line is read when the first value is asked for, if :func:`run` has not done it before.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(_parse_once(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_parse_once(), name, value)

    def __dir__(self) -> list[str]:
        return list(absl_flags.FLAGS)


FLAGS = Flags()


def _parse_once() -> absl_flags.FlagValues:
    # When the first flag is read, as in TensorFlow.
    if not absl_flags.FLAGS.is_parsed():
        _parse(sys.argv)
    return absl_flags.FLAGS


def _parse(arguments: Sequence[str]) -> list[str]:
    try:
        # As TensorFlow: what nobody has defined is left for `main`.
        return list(absl_flags.FLAGS(list(arguments), known_only=True))
    except absl_flags.Error as error:
        sys.exit(f"{error}\nPass --help to see which flags there are.")


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Read the command line, call `main` with what is left of it, and end the program, as `tf.app.run`.

    Args:
        main: Takes the program's name and the arguments that are no flags. None: `main` of the program's file.
        argv: The command line. None: the program's own.

    Example:
        >>> import stratax.tf as tf
        >>> tf.app.run(main=lambda arguments: print(arguments), argv=["train.py"])  # doctest: +SKIP
        ['train.py']
    """
    function = sys.modules["__main__"].main if main is None else main
    app.define_help_flags()
    # Not `app.run`: it would send the messages of all loggers through absl's.
    sys.exit(function(_parse(sys.argv if argv is None else argv)))
