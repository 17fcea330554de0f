"""The command's root: its subcommands, its exit codes, and how it leaves (cli layer).

Exit codes: 0 done, 1 it failed, 2 it was called wrongly, 130 it was interrupted with Ctrl-C, 143 with SIGTERM.
"""

import sys
from collections.abc import Sequence

import click

from stratax._version import __version__
from stratax.cli._check import check
from stratax.cli._compile import compile as compile_program
from stratax.cli._convert import convert
from stratax.cli._demo import demo
from stratax.cli._devices import devices
from stratax.cli._launch import launch
from stratax.cli._manifest import manifest
from stratax.cli._run import run as run_program
from stratax.cli._scaling import plan
from stratax.cli._serve import serve
from stratax.errors import BadArgumentError, BadTypeError, DataError, NoCheckpointError, StrataxError

FAILED = 1
MISUSED = 2
INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="stratax")
def program() -> None:
    """One training program for a CPU, several GPUs or a TPU: only the strategy changes."""


program.add_command(check)
program.add_command(compile_program, "compile")
program.add_command(convert)
program.add_command(demo)
program.add_command(devices)
program.add_command(launch)
program.add_command(manifest)
program.add_command(plan)
program.add_command(run_program, "run")
program.add_command(serve)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the `stratax` command and leave the process with its exit code.

    Args:
        arguments: The command line after the program's name; None means `sys.argv[1:]`.

    Raises:
        SystemExit: Always, with the exit code.
    """
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the `stratax` command.

    Args:
        arguments: The command line after the program's name; None means `sys.argv[1:]`.

    Returns:
        The exit code: 0 done, 1 failed, 2 called wrongly, 130 interrupted. A mistake or an interruption is told
        on standard error in a message without a traceback.
    """
    try:
        # Not standalone: click would choose the exit codes and end the process itself.
        code = program.main(arguments, prog_name="stratax", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except StrataxError as error:
        click.echo(f"Error: {error}", err=True)
        return _code_of(error)
    return code if isinstance(code, int) else 0


def _code_of(error: StrataxError) -> int:
    """Return the exit code for an error: data that is not as it should be is no wrong call."""
    is_misuse = isinstance(error, (BadArgumentError, BadTypeError))
    is_misuse = is_misuse and not isinstance(error, (DataError, NoCheckpointError))
    return MISUSED if is_misuse else FAILED
