"""Variables that are kept for others outside of a `model_fn`, where they are made at once (v1 layer)."""

import contextlib

import keras

from stratax.core import Variable
from stratax.core.regions import outside_scopes
from stratax.distribute.replicas import get_strategy
from stratax.distribute.strategies import owner
from stratax.seams.keras import at_path


def make_now(beside: keras.Variable, value: object, name: str) -> keras.Variable:
    """Return a variable that lies where another one does, and is not trained.

    Args:
        beside: The other one, below whose name it is named.
        value: Its first value, an array of the host.
        name: Its name.
    """
    strategy = owner(beside)
    is_in_force = strategy is None or get_strategy() is strategy
    # A compiled function that calls it for the first time makes it for real, too.
    with (
        outside_scopes(),
        contextlib.nullcontext() if strategy is None or is_in_force else strategy.scope(),
        at_path(beside.path.split("/")),
    ):
        return Variable(value, trainable=False, dtype=beside.dtype, name=name)
