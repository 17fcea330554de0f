"""`tf.contrib.training`: which parameter server has which variable, where a program asks for that."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown


class GreedyLoadBalancingStrategy:
    """Places each variable where there is least so far, as `tf.contrib.training.GreedyLoadBalancingStrategy`.

    Args:
        num_tasks: How many servers there are.
        load_fn: Gives the load of a variable.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._load_fn = load_fn
        self._loads = np.zeros(num_tasks)

    def __call__(self, op: Any) -> int:
        """Return the server of a variable.

        Args:
            op: The variable, or its operation.
        """
        task = int(np.argmin(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """Places each variable anywhere, as `tf.contrib.training.RandomStrategy`.

    Args:
        num_ps_tasks: How many servers there are.
        seed: Says where.
    """

    def __init__(self, num_ps_tasks: int, seed: int | None = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._random = random.Random(seed)

    def __call__(self, op: Any) -> int:
        """Return the server of a variable.

        Args:
            op: The variable, or its operation.
        """
        return self._random.randrange(self._num_tasks)


def byte_size_load_fn(op: Any) -> float:
    """Return how many bytes a variable has, as `tf.contrib.training.byte_size_load_fn`.

    Args:
        op: The variable, or its operation.

    Raises:
        BadArgumentError: If its shape is not known.
    """
    (variable,) = getattr(op, "outputs", None) or (op,)
    shape = tuple(variable.shape)
    if not all(isinstance(size, int | np.integer) for size in shape):
        raise errors.BadArgumentError(
            f"The shape of a variable that is placed has to be known. Received: {shown(shape)}."
        )
    return float(np.prod(shape, dtype=np.int64)) * np.dtype(variable.dtype).itemsize
