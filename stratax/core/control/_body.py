"""The regions of loops' bodies and of branches, and how they are traced (core layer)."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
from jax.extend import core as jax_core
from jax.interpreters import ad

from stratax import errors
from stratax.base.shown import shown
from stratax.base.tracing import CHOSEN
from stratax.base.typing import DTypeLike, PyTree
from stratax.core import jaxprs, regions

# A loop that the host drives, window by window: `loop_p.bind(*values, loop=...)`.
loop_p = jax_core.Primitive("stratax_loop")
loop_p.multiple_results = True
# Types only: the program is cut here before JAX would evaluate or compile it.
loop_p.def_abstract_eval(lambda *_, loop: loop.results)
# A condition one of whose branches has such a loop: `branch_p.bind(predicate, *values, branches=...)`.
branch_p = jax_core.Primitive("stratax_branch")
branch_p.multiple_results = True
branch_p.def_abstract_eval(lambda *_, branches: branches.results)
DRIVEN = frozenset({loop_p, branch_p})


def _refuse_to_differentiate(*_: object, **__: object) -> Any:
    raise errors.TracingError(
        "A loop over a dataset, or one that takes more of an iterator than fits one window, can't be differentiated: "
        "it runs window by window. Expected: the gradient of one element's loss in the loop, with the tape or "
        "`value_and_grad` in its body."
    )


# JAX's own error would name a primitive that the user has never heard of.
ad.primitive_jvps[loop_p] = _refuse_to_differentiate
ad.primitive_jvps[branch_p] = _refuse_to_differentiate


class BranchRegion(regions.Region):
    """The region of one branch of a condition: it sees what the region around it sees."""

    parent: regions.Region

    def lift(self, variable: keras.Variable) -> Any:
        # Closed over: `jax.lax.cond` makes operands of the values itself.
        return self.parent.get_current_value(variable)

    def next_element(self, stream: object) -> Any:
        raise errors.TracingError(
            "next(iterator) was called in one branch of an `if` on an array: whether an element is taken is known only "
            "when the compiled function runs. Expected: a call before the `if`, or a loop over the iterator in it. "
            f"Received: iterator={shown(stream)}. Take the element first and use it in the branch, or let the caller "
            "choose with a Python bool."
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What a body takes from a stream in every iteration: `count` elements from `offset` on."""

    stream: Any
    structure: Any
    offset: int
    count: int
    block: bool
    is_optional: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class TakenLeaf:
    """One array of what a body takes from a stream, as the source of an input of the body."""

    taken: Taken
    index: int


@dataclasses.dataclass(frozen=True, slots=True)
class RowLeaf:
    """One array of the rows that a loop goes through, as the source of an input of the body."""

    index: int


class LoopRegion(regions.Region):
    """The region of a loop's body: variables and streams become inputs of the body.

    Args:
        parent: The region that the loop stands in.
        structures: The structures that streams' elements have in these iterations, by the stream's id. Where
            there is none the first iteration's elements tell.
        path: Where the body stands in the program.
    """

    parent: regions.Region

    def __init__(
        self,
        parent: regions.Region,
        structures: dict[int, Any] | None = None,
        path: regions.Path | None = None,
    ) -> None:
        super().__init__(parent, path)
        self.inputs: list[Any] = []
        # The number that the loop counts, and the largest that it comes to, where that is known.
        self.counter: tuple[Any, int] | None = None
        self.taken_elements: list[Taken] = []
        # A copy, as tracing adds the streams that it meets.
        self._structures = dict(structures or {})
        self._counts: dict[int, int] = {}

    def lift(self, variable: keras.Variable) -> Any:
        value = self.parent.get_current_value(variable)
        return self.new_input(variable, value.shape, value.dtype)

    def new_input(self, source: object, shape: Sequence[int], dtype: DTypeLike) -> Any:
        """Return a tracer of the body's trace for a value that `source` stands for."""
        with jax_core.set_current_trace(self.trace):
            # In the body's trace: a `jax.grad` inside would own the tracer otherwise.
            tracer = jaxprs.input_p.bind(
                index=len(self.inputs), aval=jax.core.ShapedArray(tuple(shape), dtype)
            )
        self.inputs.append(source)
        return tracer

    def count_taken(self, stream: object) -> int:
        """Return how many elements of `stream` are taken before this point in the first iteration."""
        return count_taken_before(self.parent, stream) + self.per_iteration(stream)

    def structure(self, stream: object) -> Any:
        """Return the structure of the elements of `stream` in these iterations."""
        return self._structures[id(stream)]

    @property
    def structures(self) -> dict[int, Any]:
        """The structures of all streams' elements, by the stream's id."""
        return dict(self._structures)

    def per_iteration(self, stream: object) -> int:
        """Return how many elements of `stream` an iteration takes, as far as it is traced."""
        return self._counts.get(id(stream), 0)

    def first_stream(self) -> Any:
        """Return a stream that the body, or a loop in it, takes from."""
        return self.taken_elements[0].stream if self.taken_elements else None

    def next_element(self, stream: object) -> Any:
        structure = self._structures.get(id(stream))
        if structure is None:
            ((structure, _),) = self.peek(stream, self.count_taken(stream), 1)
            self._structures[id(stream)] = structure
        return self.feed(stream, structure, count=1, block=False)

    def next_optional(self, stream: object) -> tuple[Any, Any]:
        structure = self._structures.get(id(stream))
        if structure is None:
            structure = regions.optional_structure(self, stream, self.count_taken(stream))
            self._structures[id(stream)] = structure
        present, value = self.feed(
            stream, (regions.OPTIONAL, structure), count=1, block=False, is_optional=True
        )
        return present, value

    def feed(
        self,
        stream: object,
        structure: PyTree,
        *,
        count: int,
        block: bool,
        count_argument: int | None = None,
        per_count: int = 1,
        pinned: tuple[int, int] | None = None,
        is_optional: bool = False,
    ) -> Any:
        """Take `count` elements from `stream` in every iteration; the same as :meth:`ProgramRegion.feed`."""
        if count_argument is not None or pinned is not None:
            raise errors.TracingError(
                "next(iterator) was called in a loop inside another loop, and the number of its iterations is an "
                "array or its elements' shapes differ. Expected: the inner loop over `stratax.range(n)` with a Python "
                "int n, elements of one shape. Received: n is an argument of the compiled function. Pass an int."
            )
        # All iterations take elements of one structure; another one is another body.
        self._structures.setdefault(id(stream), structure[1] if is_optional else structure)
        entry = Taken(stream, structure, self.per_iteration(stream), count, block, is_optional)
        self._counts[id(stream)] = entry.offset + count
        self.taken_elements.append(entry)
        leaves, treedef = jax.tree.flatten(structure)
        lead = (count,) if block else ()
        tracers = [
            self.new_input(TakenLeaf(entry, index), (*lead, *leaf.shape), leaf.dtype)
            for index, leaf in enumerate(leaves)
        ]
        return jax.tree.unflatten(treedef, tracers)


def count_taken_before(region: regions.Region, stream: object) -> int:
    """Return how many elements of a stream are taken before this point, as far as that is known while tracing."""
    # A branch takes nothing itself, so what was taken before it is what was taken around it.
    while isinstance(region, BranchRegion):
        region = region.parent
    return feeding_region(region, stream).count_taken(stream)


def feeding_region(region: regions.Region | None, stream: object) -> "regions.ProgramRegion | LoopRegion":
    """Return `region`, if a loop in it can take input from a stream."""
    if isinstance(region, (regions.ProgramRegion, LoopRegion)):
        return region
    (region or regions.Region()).refuse_loop(stream)


@dataclasses.dataclass(slots=True)
class TracedBlock:
    """A traced block.

    Attributes:
        region: Its region.
        run: A function `(inputs, arguments) -> results` on lists of arrays.
        results: The types of `results`, as `jax.ShapeDtypeStruct`.
        has_effects: Whether running it does something besides computing them (printing, say).
        is_driven: Whether the host has to drive it, because a loop in it takes input of unknown length.
    """

    region: regions.Region
    run: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    results: list[Any]
    has_effects: bool
    is_driven: bool = False


def trace_block(
    region: regions.Region, body: Callable[[list[Any]], list[Any]], arguments: Sequence[Any]
) -> TracedBlock:
    """Trace a block once.

    Args:
        region: The region for it.
        body: The block: a function of a list of tracers that returns a list of arrays.
        arguments: What to trace it with, `jax.ShapeDtypeStruct`.

    Returns:
        The block.
    """

    def trace(*values: object) -> list[Any]:
        with region:
            return body(list(values))

    closed, shapes = jax.make_jaxpr(trace, return_shape=True)(*arguments)
    if CHOSEN and jaxprs.has_own_sizes(closed.jaxpr):
        closed = jaxprs.settle_sizes(closed, is_part=True)
    count = len(region.inputs) if isinstance(region, LoopRegion) else 0
    flat = jaxprs.lift_inputs(closed, count)
    driven = any(equation.primitive in DRIVEN for equation in jaxprs.equations(closed.jaxpr))
    return TracedBlock(
        region, lambda inputs, values: flat(*inputs, *values), list(shapes), bool(closed.effects), driven
    )
