"""Input that a compiled function takes for itself, with `next(iterator)` (core layer).

TensorFlow's iterators are resources: `next(iterator)` inside a `tf.function` is an operation of the graph. A compiled
JAX program can't pull from the host, so the function pulls before it dispatches: while tracing, every
`next(stream)` becomes an input of the program, and each call takes as many elements as the trace did.
"""

import abc
from collections.abc import Hashable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base import tracebacks
from stratax.core.regions import _capture
from stratax.core.regions._tensor_type import TensorType
from stratax.errors import BadArgumentError, OutOfRangeError, TracingError

_METHODS = ("signature", "peek_runs", "peek_up_to", "peek_block", "take", "take_block", "pass_over")


def _has_all(kind: type, methods: tuple[str, ...]) -> Any:
    """Answer for a `__subclasshook__` whether a class, or one that it inherits from, defines all methods."""
    # By definition, not by `hasattr`: a class with `__getattr__` would have all of them.
    found = {name for base in kind.__mro__ for name in methods if name in base.__dict__}
    # NotImplemented and not False, so that a class that inherits from `Stream` is one in any case.
    return True if len(found) == len(methods) else NotImplemented


class Stream(abc.ABC):
    """An iterator that may be given to a compiled function, which calls `next` on it while it is traced.

    A class with these methods is one without inheriting from it, as with the classes of `collections.abc`: what reads
    data does so in programs, too, that do not use JAX. In its `__next__` and `__iter__` it asks the region that is
    being traced, as this class does.
    """

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        # A subclass asks for inheritance, as usual.
        # Subclasses are asked, too; having the methods makes a class a stream, but none of its kinds.
        if cls is not Stream:
            return NotImplemented
        return _has_all(other, _METHODS)

    @property
    @abc.abstractmethod
    def signature(self) -> Hashable:
        """What two streams have in common when one compiled program serves both."""

    @abc.abstractmethod
    def peek_runs(self, skip: int, count: int) -> list[tuple[Any, int]]:
        """Return the structures of the elements `skip` to `skip + count`, run-length coded, without taking them.

        Args:
            skip: How many coming elements to pass over.
            count: How many to look at.

        Returns:
            A list of `(structure, length)`: `structure` is an element with `jax.ShapeDtypeStruct` leaves and
            `length` says how many elements in a row have it. The lengths add up to `count`.

        Raises:
            OutOfRangeError: If fewer than `skip + count` elements are left. None is lost.
        """

    @abc.abstractmethod
    def peek_up_to(self, skip: int, count: int) -> list[tuple[Any, int]]:
        """Peek like :meth:`peek_runs` at as many of these elements as there are. Over several workers as many in each.

        An error in the place of an element is raised if it is the first of them, else the elements before it are given.
        """

    @abc.abstractmethod
    def peek_block(self, skip: int, count: int, capacity: int) -> Any:
        """Return what :meth:`take_block` gives behind the next `skip` elements, without taking them."""

    @abc.abstractmethod
    def pass_over(self, count: int) -> None:
        """Take `count` elements that were looked at, without giving them."""

    @abc.abstractmethod
    def take(self) -> Any:
        """Take the next element: a structure of arrays, placed for the strategy."""

    def take_block(self, count: int, capacity: int) -> Any:
        """Take `count` elements of one structure, stacked on a new leading dimension of size `capacity`.

        The rows after the first `count` are padding with unspecified, finite content.
        """
        block = self.peek_block(0, count, capacity)
        self.pass_over(count)
        return block

    def get_next_as_optional(self) -> Any:
        """Return the next element if there is one. Follows `tf.distribute.DistributedIterator`.

        Returns:
            An object with `has_value()` and `get_value()`. In a compiled function `has_value()` is an array.
        """
        return next_optional(self)

    def __iter__(self) -> Any:
        region = _capture.current_region()
        return self if region is None else region.iterate(self)

    def __next__(self) -> Any:
        region = _capture.current_region()
        if region is not None:
            return region.next_element(self)
        try:
            return self.take()
        except OutOfRangeError:
            # Python's `for` ends without a second error in the traceback.
            raise StopIteration from None
        except Exception as error:
            tracebacks.shorten(error)
            raise


_SOURCE_METHODS = ("__iter__", "stream_signature")


class StreamSource(abc.ABC):
    """What can be iterated anew again and again, and gives a :class:`Stream` each time: a dataset.

    A class with these methods is one without inheriting from it.
    """

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        if cls is not StreamSource:
            return NotImplemented
        return _has_all(other, _SOURCE_METHODS)

    @property
    @abc.abstractmethod
    def stream_signature(self) -> Hashable:
        """What two sources have in common when one compiled program serves both."""

    @abc.abstractmethod
    def __iter__(self) -> Any:
        """Begin a new pass; while a function is traced it asks the region, as a stream's `__iter__` does."""


class Pass:
    """A pass over a source that a compiled function makes anew each time it comes to this place.

    Args:
        source: The source that was traced with; None once the program is made, if it was an argument of the function.

    Attributes:
        opened: A pass that was begun while tracing, to see what its elements look like; the first run goes on with it.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        self.opened: Stream | None = None

    def __repr__(self) -> str:
        return f"<a pass over {self.source!r}>"

    def open(self) -> Stream:
        """Return the pass that shows while tracing what the elements look like."""
        if self.opened is None:
            # Beginning a pass may compute, which must not become part of the program.
            with _capture.outside_scopes():
                self.opened = iter(self.source)
        return self.opened

    def begin(self, source: Any) -> Stream:
        """Return a pass for a run of the program."""
        # Handed over once: the next run begins a pass of its own.
        opened, self.opened = self.opened, None
        return iter(source) if opened is None else opened

    @property
    def element_spec(self) -> Any:
        """The structure of the dataset's elements, as it declares it."""
        return self.source.element_spec

    def peek_runs(self, skip: int, count: int) -> list[tuple[Any, int]]:
        return self.open().peek_runs(skip, count)

    def peek_up_to(self, skip: int, count: int) -> list[tuple[Any, int]]:
        return self.open().peek_up_to(skip, count)

    def close(self) -> None:
        """End a pass that no run has gone on with."""
        if self.opened is not None:
            self.opened.close()  # type: ignore[attr-defined]
            self.opened = None


class CallPass(Pass):
    """A pass that every call of a compiled function begins anew: what `iter(dataset)` in the function gives."""

    def __iter__(self) -> "CallPass":
        return self

    def __next__(self) -> Any:
        region = _capture.current_region()
        if region is None:
            raise TracingError(
                "An iterator that a compiled function made is used outside of it. Expected: `next` of it in the "
                "function."
            )
        return region.next_element(self)

    def get_next(self) -> Any:
        """Take the next element, as `next(stream)` does."""
        return next(self)

    def get_next_as_optional(self) -> "Optional":
        """Return the next element if there is one."""
        return next_optional(self)


@jax.tree_util.register_pytree_node_class
class Optional:
    """An element that may be missing. Follows `tf.experimental.Optional`.

    Args:
        present: Whether it is there: a bool or a boolean array.
        value: The element; what stands there if it is missing has no meaning.
        spec: What describes the element, where no value does, or a function that gives it.
    """

    def __init__(self, present: object, value: object, spec: Any = None) -> None:
        self._present = present
        self._value = value
        self._spec = spec

    @property
    def element_spec(self) -> Any:
        """The structure of the specs of the element, also where there is none."""
        if self._spec is None:
            return jax.tree.map(lambda part: TensorType(np.shape(part), np.dtype(part.dtype)), self._value)
        return self._spec() if callable(self._spec) else self._spec

    @staticmethod
    def from_value(value: object) -> "Optional":
        """Return one that has a value.

        Args:
            value: A structure of arrays and numbers.
        """
        return Optional(True, jax.tree.map(lambda part: part if _is_made(part) else jnp.asarray(part), value))

    @staticmethod
    def empty(element_spec: object) -> "Optional":
        """Return one without a value.

        Args:
            element_spec: What a value would be like.
        """
        return Optional(False, None, element_spec)

    def has_value(self) -> Any:
        """Return whether there is an element: a scalar array of booleans."""
        if not isinstance(self._present, bool):
            return self._present
        # A constant also while something is traced, so that what is known decides at once.
        with jax.ensure_compile_time_eval():
            return jnp.asarray(self._present)

    def get_value(self) -> Any:
        """Return the element.

        Raises:
            BadArgumentError: There is none, and that is known.
        """
        # In a program this is known only when it runs; an absent element has an arbitrary value there.
        if isinstance(self._present, bool) and not self._present:
            raise BadArgumentError(
                "This optional has no value: the dataset has ended. Ask has_value() first."
            )
        return self._value

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        """Take it apart, as JAX wants to: one without a value has zeros, if its spec says of which shape."""
        value = _zeros(self.element_spec) if self._present is False and self._value is None else self._value
        return (self._present, value), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> "Optional":
        """Put it together again."""
        return cls(*children)


def _zeros(element_spec: object) -> Any:
    specs, structure = jax.tree.flatten(element_spec)
    shapes = [getattr(spec, "shape", None) for spec in specs]
    if any(
        shape is None or None in shape or np.dtype(spec.dtype).hasobject
        for shape, spec in zip(shapes, specs, strict=True)
    ):
        return None
    return jax.tree.unflatten(structure, [np.zeros(spec.shape, spec.dtype) for spec in specs])


def _is_made(part: object) -> bool:
    """Return whether a value is an array already, or text, which is none on a device."""
    return hasattr(part, "dtype") or isinstance(part, str | bytes)


def next_optional(stream: Any) -> Optional:
    """Return the next element of a stream, if there is one."""
    region = _capture.current_region()
    if region is not None:
        return Optional(*region.next_optional(stream))
    try:
        # Plain booleans outside of programs, so that `has_value()` can be tested at once.
        return Optional(True, next(stream), lambda: stream.element_spec)
    except StopIteration:
        return Optional(False, None, lambda: stream.element_spec)
