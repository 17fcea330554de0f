"""Layers, operations and models of Keras in a graph (graph layer)."""

from typing import Any

import keras

from stratax.base.typing import PyTree
from stratax.seams import keras2 as seam
from stratax.tensorflow.graph._nodes import GraphTensor


class OperationCall:
    """Calls a layer or an operation of Keras, as a call of a graph.

    Args:
        operation: The layer, or the operation.
    """

    # A layer names what it gives by its own name.
    is_composite = True

    def __init__(self, operation: Any) -> None:
        self._operation = operation
        self.__name__ = operation.name

    def follows_phase(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether a call does in training what the learning phase says."""
        return len(args) == 1 and kwargs.get("training") is None and seam.phase() is None

    def __call__(self, phase: PyTree, *args: Any, **kwargs: Any) -> Any:
        """Call it.

        Args:
            phase: Whether it is called for training; None where the arguments say it.
            *args: What it takes.
            **kwargs: Likewise, by name.
        """
        if phase is not None:
            kwargs = kwargs | {"training": bool(phase)}
        return self._operation(*args, **kwargs)


def is_of_model(value: object) -> bool:
    """Return whether something is a tensor of a model of Keras, which has no graph yet."""
    return isinstance(value, keras.KerasTensor) and not isinstance(value, GraphTensor)


def find_inputs(tensor: keras.KerasTensor) -> list[keras.KerasTensor]:
    """Return the inputs of models that a tensor is computed of, each once.

    Args:
        tensor: A tensor of a model of Keras; an input is computed of itself.
    """
    found: dict[int, keras.KerasTensor] = {}
    waiting = [tensor]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        sources = seam.sources_of(each)
        if not sources:
            found[id(each)] = each
        waiting.extend(reversed(sources))
    return list(found.values())
