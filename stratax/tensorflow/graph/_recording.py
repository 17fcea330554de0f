"""What stands on a thread while a graph is built or computed: it is told of calls with tensors (graph layer)."""

import abc
from collections.abc import Callable
from typing import Any, NoReturn

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, PyTree, TensorLike


class Recording(abc.ABC):
    """Takes calls of `tf`'s functions: adds them to a graph, or computes them with tensors' values."""

    # Of the recorders of exports: a graph looks up text by itself.
    lookup: Any = None
    apply: Any = None

    @abc.abstractmethod
    def record_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for a call's result, or its result; `NOT_RECORDED` where it is to be made as it is."""

    @abc.abstractmethod
    def compute(self, function: Callable[..., Any], operands: tuple[Any, ...], kind: str) -> Any:
        """Return what an operator gives.

        Args:
            function: Computes it.
            operands: Its operands.
            kind: TensorFlow's name of the operation.
        """

    @abc.abstractmethod
    def record_operation(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for the result of a layer or an operation of Keras, or its result.

        Args:
            operation: The layer, or the operation.
            args: What it is called with.
            kwargs: Likewise, by name.

        Returns:
            `NOT_RECORDED` where it is to be called as it is.
        """

    @property
    @abc.abstractmethod
    def phase(self) -> Any:
        """What stands for Keras' learning phase; None where each call says it."""

    @abc.abstractmethod
    def convert(self, tensor: PyTree) -> Any:
        """Return the value of a tensor, where it has one now.

        Raises:
            BadTypeError: If the graph is being built.
        """

    def is_value(self, value: object) -> bool:
        """Return False: no value of an export's host."""
        return False

    def placeholder(self, dtype: DTypeLike, shape: TensorLike, name: str | None) -> NoReturn:
        """Refuse an input of an export."""
        raise errors.ModelScopeError(f"A placeholder belongs to a graph. Received: name={shown(name)}.")
