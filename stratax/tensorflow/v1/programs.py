"""Whether a program of TensorFlow 1 runs sessions, told by its text (v1 layer).

In such a program functions of `tf` add to a graph from the beginning; in one with Estimators alone they compute at
once, as its `model_fn` is all that makes a graph. So they do where a session is there to configure Keras, whose models
are trained by `fit`.
"""

import ast
import functools
import linecache
import re
import sys
from collections.abc import Collection
from types import FrameType

from stratax.base import callers

_SESSIONS = re.compile(r"\b(?:\w*Session|Supervisor|managed_session|placeholder(?:_with_default)?)\s*\(")
_COMMENTS = re.compile(r"#.*")
# Make a session, and say what a graph is: no program has the latter for Keras' sake.
_MAKES = ("Session", "InteractiveSession", "get_session")
_OF_GRAPHS = ("Supervisor", "managed_session", "placeholder", "placeholder_with_default")
# What is asked of a session that only configures Keras.
_HARMLESS = ("close", "list_devices")


def names_sessions(source: str) -> bool:
    """Return whether the text of a program runs sessions, or names placeholders, which only sessions are fed."""
    named = any(_SESSIONS.search(_COMMENTS.sub("", line)) for line in source.splitlines())
    return named and not only_configures(source)


@functools.lru_cache(maxsize=64)
def only_configures(source: str) -> bool:
    """Return whether the sessions of a program's text are made for their settings alone.

    So it is where they are given to `K.set_session`, initialize variables, are closed, or are not used at all.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    around = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    makes = (
        {*_MAKES, *_makers(tree)} if any(_last_name(call.func) == "set_session" for call in calls) else _MAKES
    )
    made = [call for call in calls if _last_name(call.func) in makes]
    others = {_last_name(call.func) for call in calls} - {*_MAKES}
    if not made or any(name in _OF_GRAPHS or name.endswith("Session") for name in others):
        return False
    names = {
        target.id
        for call in made
        if isinstance(assigned := around[call], ast.Assign)
        for target in assigned.targets
        if isinstance(target, ast.Name)
    }
    used = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names
    ]
    return all(_is_harmless(use, around, makes) for use in (*made, *used))


def _makers(tree: ast.Module) -> set[str]:
    """Return the names of a program's functions that make a session and return something."""
    return {
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        and any(isinstance(node, ast.Call) and _last_name(node.func) in _MAKES for node in ast.walk(function))
        and any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))
    }


def _is_harmless(use: ast.expr, around: dict[ast.AST, ast.AST], makes: Collection[str]) -> bool:
    """Return whether what is done with a session leaves all else to be computed without it."""
    match around[use]:
        case ast.Return() as node:
            function = around[node]
            while function in around and not isinstance(function, ast.FunctionDef):
                function = around[function]
            return isinstance(function, ast.FunctionDef) and function.name in makes
        case ast.Expr():
            return True
        case ast.Assign(targets=targets):
            return isinstance(use, ast.Call) and all(isinstance(target, ast.Name) for target in targets)
        case ast.Call(func=function):
            return _last_name(function) == "set_session"
        case ast.Attribute(attr="run") as attribute:
            call = around[attribute]
            return isinstance(call, ast.Call) and all(map(_is_initializer, call.args)) and not call.keywords
        case ast.Attribute(attr=name):
            return name in _HARMLESS
    return False


def _is_initializer(fetched: ast.expr) -> bool:
    if isinstance(fetched, ast.List | ast.Tuple):
        return all(map(_is_initializer, fetched.elts))
    return isinstance(fetched, ast.Call) and _last_name(fetched.func).endswith(("_initializer", "_variables"))


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def find_program() -> FrameType | None:
    """Return the nearest frame outside of the libraries and Python's own modules; None where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_of_libraries(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_of_libraries(filename: str) -> bool:
    return callers.is_library(filename) or callers.is_python(filename)


def read_program(frame: FrameType) -> str:
    """Return the text of the file in which a frame runs; empty where there is none."""
    return "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))


def begin_graph(frame: FrameType) -> None:
    """Have functions of `tf` add to a graph from now on, if the program runs sessions.

    Args:
        frame: Where the program says that it was written for TensorFlow 1.
    """
    if names_sessions(read_program(frame)):
        # Only where it is needed: a program with an Estimator loads nothing of it.
        from stratax.tensorflow.graph import enter_program_graph

        enter_program_graph()
