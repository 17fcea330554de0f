"""`stratax run`: a program that says `import tensorflow`, as it is (cli layer)."""

import os
import sys

import click

from stratax.base.shown import shown
from stratax.errors import BadArgumentError


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM [ARGUMENTS]...")
def run(program: tuple[str, ...]) -> None:
    """Run a TensorFlow program unchanged: its `import tensorflow` gives Stratax.

    What follows is what would follow `python`: a file and its arguments, -m and a module, -c and code, or - for a
    program on standard input. All else is as there: arguments, exit code, tracebacks, Ctrl-C.

    A TensorFlow that is installed is hidden from the program and from the Python processes that it starts.
    `stratax check` tells what a program uses that Stratax does not have, or does differently.
    """
    from stratax.tf.migration import environment_as_tensorflow

    # Options are Python's business, and what they lead to; a folder or an archive may be a program, too.
    if not program[0].startswith("-") and not os.path.exists(program[0]):
        raise BadArgumentError(
            "There is no such program. Expected: a Python file, -m and a module, -c and code, or -. Received: "
            f"program={shown(program[0])}."
        )
    sys.stdout.flush()
    # The process becomes Python's: nothing of this command is left that a signal or a traceback could meet.
    os.execve(sys.executable, [sys.executable, *program], environment_as_tensorflow())
