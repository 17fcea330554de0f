"""Tasks that end by themselves behind the training: the launcher waits for them (cluster layer)."""

import contextlib
import os
import pathlib

# Names a file that such a task makes.
OWN_END_VARIABLE = "STRATAX_OWN_END"


def end_by_itself() -> None:
    """Tell the launcher that this task ends by itself behind the training, an evaluator for instance.

    Others that do not train are ended with the last task that does. Where no launcher has started it, nothing happens.
    """
    path = os.environ.get(OWN_END_VARIABLE)
    if path:
        # Without its folder the launcher is gone.
        with contextlib.suppress(OSError):
            pathlib.Path(path).touch()
