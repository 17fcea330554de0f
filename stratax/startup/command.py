"""What the `stratax` command says where importing Stratax fails, for an environment variable mostly (lowest layer)."""

import contextlib
import os
import sys
from collections.abc import Iterator

from stratax.errors import StrataxError

_MODULES = ("stratax", "stratax.cli")
_FAILED = 1


@contextlib.contextmanager
def tell_without_a_traceback() -> Iterator[None]:
    """End the process with one message if what is done here fails and the process is the command; else let it raise.

    Raises:
        SystemExit: In the command, in the place of an error of Stratax.
    """
    try:
        yield
    except StrataxError as error:
        if not _is_command():
            raise
        sys.stderr.write(f"Error: {error}\n")
        raise SystemExit(_FAILED) from None


def _is_command() -> bool:
    """Return whether this process is `stratax ...` or `python -m stratax ...`; its package is not imported yet."""
    # Of `-m`, `sys.argv` knows the module only when it runs.
    words = sys.orig_argv[1:]
    module = words[words.index("-m") + 1 :][:1] if "-m" in words else []
    if module:
        return module[0] in _MODULES
    return os.path.splitext(os.path.basename(sys.argv[0]))[0] == "stratax"
