"""Whether a program of TensorFlow 1 runs sessions, told by its text (v1 layer).

In such a program functions of `tf` add to a graph from the beginning; in one with Estimators alone they compute at
once, as its `model_fn` is all that makes a graph.
"""

import linecache
import re
from types import FrameType

_SESSIONS = re.compile(r"\b(?:\w*Session|Supervisor|managed_session|placeholder(?:_with_default)?)\s*\(")
_COMMENTS = re.compile(r"#.*")


def names_sessions(source: str) -> bool:
    """Return whether the text of a program names sessions, or placeholders, which only sessions are fed."""
    return any(_SESSIONS.search(_COMMENTS.sub("", line)) for line in source.splitlines())


def begin_graph(frame: FrameType) -> None:
    """Have functions of `tf` add to a graph from now on, if the program runs sessions.

    Args:
        frame: Where the program says that it was written for TensorFlow 1.
    """
    if names_sessions("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))):
        # Only where it is needed: a program with an Estimator loads nothing of it.
        from stratax.tensorflow.graph import enter_program_graph

        enter_program_graph()
