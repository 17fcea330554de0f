"""`tf.contrib.eager`: derivatives of functions, and what programs that compute at once used before TensorFlow 2."""

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import list_logical_devices
from stratax.core import GradientTape
from stratax.data import Dataset
from stratax.tensorflow import v1
from stratax.tensorflow.ops.calls.creation import on_device

_Pairs = list[tuple[Any, keras.Variable]]


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., tuple[Any, _Pairs]]:
    """Return a function that gives another one's value, and its gradients for the variables that it reads.

    Args:
        f: A function that gives a scalar. The new one takes its arguments, and raises `BadArgumentError` where it reads
            no variable that is trained.
    """

    @functools.wraps(f)
    def value_and_gradients(*args: object, **kwargs: object) -> tuple[Any, _Pairs]:
        with GradientTape() as tape:
            value = f(*args, **kwargs)
        variables = list(tape.watched_variables())
        if not variables:
            raise errors.BadArgumentError(
                "No trainable variables were accessed while the function was being computed."
            )
        return value, list(zip(tape.gradient(value, variables), variables, strict=True))

    return value_and_gradients


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., _Pairs]:
    """Return a function that gives another one's gradients for the variables that it reads, in pairs with these.

    Args:
        f: A function that gives a scalar. The new one takes its arguments.
    """
    both = implicit_value_and_gradients(f)

    @functools.wraps(f)
    def gradients(*args: object, **kwargs: object) -> _Pairs:
        return both(*args, **kwargs)[1]

    return gradients


def value_and_gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., tuple[Any, list[Any]]]:
    """Return a function that gives another one's value, and its gradients for arguments.

    Args:
        f: A function of arrays.
        params: The arguments, by number or name; by default all. The new function takes those of `f`, and `dy`, the
            gradient of its value.
    """
    names = list(inspect.signature(f).parameters)
    chosen = range(len(names)) if params is None else [_place(names, each) for each in params]

    @functools.wraps(f)
    def value_and_gradients(*args: object, dy: object = None) -> tuple[Any, list[Any]]:
        arrays = [on_device(each) for each in args]
        places = [place for place in chosen if place < len(arrays)]
        with GradientTape() as tape:
            sources = [arrays[place] for place in places]
            tape.watch(sources)
            value = f(*arrays)
        return value, list(tape.gradient(value, sources, dy))

    return value_and_gradients


def _place(names: list[str], parameter: int | str) -> int:
    place = parameter if isinstance(parameter, int) else names.index(parameter) if parameter in names else -1
    if not 0 <= place < len(names):
        raise errors.BadArgumentError(
            f"params must be numbers or names of arguments, which are {', '.join(names)}. Received: {shown(parameter)}."
        )
    return place


def gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., list[Any]]:
    """Return a function that gives another one's gradients for arguments, as `tf.contrib.eager.gradients_function`.

    Args:
        f: A function of arrays.
        params: The arguments, by number or name; by default all.
    """
    both = value_and_gradients_function(f, params)

    @functools.wraps(f)
    def gradients(*args: object, dy: object = None) -> list[Any]:
        return both(*args, dy=dy)[1]

    return gradients


def list_devices() -> list[str]:
    """Return the names of this process' devices, as `tf.contrib.eager.list_devices`."""
    return [f"/job:localhost/replica:0/task:0{each.name}" for each in list_logical_devices()]


def num_gpus() -> int:
    """Return how many GPUs there are, as `tf.contrib.eager.num_gpus`."""
    return sum(each.device_type == "GPU" for each in list_logical_devices())


class EagerIterator:
    """Gives a Dataset's elements one after the other, as `tf.contrib.eager.Iterator`.

    Args:
        dataset: The Dataset.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._elements = iter(dataset)

    def __iter__(self) -> "EagerIterator":
        return self

    def __next__(self) -> Any:
        return next(self._elements)

    def next(self) -> Any:
        """Return the next element.

        Raises:
            StopIteration: Behind the last one.
        """
        return next(self._elements)

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element.

        Args:
            name: Ignored.

        Raises:
            OutOfRangeError: Behind the last one.
        """
        return self._elements.get_next()


class Network(keras.Model):
    """A model whose layers are told of, as `tf.contrib.eager.Network`.

    Args:
        name: Its name.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)

    def track_layer(self, layer: keras.layers.Layer) -> keras.layers.Layer:
        """Return a layer: one that is set as an attribute is known.

        Args:
            layer: The layer.
        """
        return layer


class EagerSaver:
    """Saves variables and restores them, as `tf.contrib.eager.Saver`.

    Args:
        var_list: The variables, or a dict of them by name.
    """

    def __init__(self, var_list: Any) -> None:
        self._saver = v1.train.Saver(var_list)

    def save(self, file_prefix: str | os.PathLike[str], global_step: Any = None) -> str:
        """Save the variables' present values, and return the checkpoint's path.

        Args:
            file_prefix: The path, without the step.
            global_step: The step; None for a path without one.
        """
        return self._saver.save(None, file_prefix, global_step)

    def restore(self, file_prefix: str | os.PathLike[str]) -> None:
        """Give the variables the values of a checkpoint.

        Args:
            file_prefix: The checkpoint's path.
        """
        self._saver.restore(None, file_prefix)
