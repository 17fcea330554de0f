"""Trials of calls: what shapes their results have, of operands whose sizes are not known (graph layer).

A call is made on stand-ins, twice, with two sizes in the place of each size that is not known. Where the results'
sizes differ, they are not known either. What a call gives as a number of the host, such as `tf.shape`, keeps its value
in each trial, so that shapes that are made of shapes are found as well.
"""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.typing import DTypeLike, PyTree
from stratax.core import jaxprs, regions
from stratax.data.elements import if_constant
from stratax.seams import jax as seam
from stratax.summary.forms import SummaryRecord
from stratax.tensorflow.graph._blanks import has_blanks, make_blank
from stratax.tensorflow.graph._evaluation import Evaluation, is_leaf
from stratax.tensorflow.graph._nodes import Abstract, GraphCall, GraphOperation, GraphTensor, Position
from stratax.tensorflow.graph._scopes import BuiltScope
from stratax.tensorflow.v1 import Operation

# Divisible by the sizes of batches that programs write, so that a batch can be divided.
_SIZE, _OTHER_SIZE = 1920, 3840
# Of so many numbers a value is kept, which may be a shape.
_MOST_KEPT = 64


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    """What stands for what is not known in a trial.

    Attributes:
        size: Each size.
        rank: The rank of a tensor of which not even that is known.
        shapes: The shapes of some tensors, by id.
    """

    size: int
    rank: int
    shapes: Mapping[int, Sequence[int]] = dataclasses.field(default_factory=dict)


# By number: tensors of known rank have the first three alone. Of one row some things are less than of many.
WORLDS = (
    World(_SIZE, 1),
    World(_OTHER_SIZE, 1),
    World(1, 1),
    World(_SIZE, 0),
    World(_SIZE, 2),
    World(_OTHER_SIZE, 2),
    World(_SIZE, 3),
    World(_SIZE, 4),
)
BASE = (0, 1, 2)
_MANY = (0, 1)


class SkippedError(Exception):
    """An operand has no value in this trial: what it is made of can't be computed so."""


@dataclasses.dataclass(frozen=True, slots=True)
class Assigned:
    """What an operation is in a trial.

    Attributes:
        operation: The operation.
        value: What it is worth as a tensor; None if it is none.
    """

    operation: Operation
    value: Any


def stand_ins(shape: PyTree, dtype: DTypeLike) -> dict[int, Abstract]:
    """Return what a tensor of a shape is in each trial.

    Args:
        shape: A `TensorShape`, of which sizes or the rank may be unknown.
        dtype: Its dtype.
    """
    if shape.rank is None:
        return {
            number: _make_abstract((world.size,) * world.rank, dtype) for number, world in enumerate(WORLDS)
        }
    sizes = shape.as_list()
    return {
        number: _make_abstract([WORLDS[number].size if size is None else size for size in sizes], dtype)
        for number in BASE
    }


def _make_abstract(shape: Sequence[int], dtype: Any) -> Abstract:
    kind = np.dtype(dtype)
    if kind.hasobject:
        # Text has a value: the empty one.
        return np.broadcast_to(np.array(b"", object), tuple(shape))
    return jax.ShapeDtypeStruct(tuple(shape), jax.dtypes.canonicalize_dtype(kind))


class Trial(Evaluation):
    """Makes a call on stand-ins.

    Args:
        scope: The scope of the graph.
        call: The call; what it turns out to compute with is noted there.
        number: Which of the trials it is.
        world: What stands for what is not known, where it is none of `WORLDS`.
        fills: Whether whole numbers have a value, as a call needs one.
        kept: Replicas' own values of variables.

    Attributes:
        leaves: What the call gave.
        structure: The structure of that.
        position: What is around behind the call.
        reads: The variables that it has read.
        writes: Those that its operations have written.
    """

    def __init__(
        self,
        scope: BuiltScope,
        call: GraphCall,
        number: int,
        world: World | None = None,
        *,
        fills: bool = False,
        kept: Sequence[regions.Spread] = (),
    ) -> None:
        super().__init__(scope)
        self.leaves: list[Any] = []
        self.structure: Any = None
        self.position: Position = call.position
        self.reads: list[keras.Variable] = []
        self.writes: list[keras.Variable] = []
        self._call = call
        self._number = number
        self._world = world
        self._fills = fills
        self._values: dict[int, Any] = {}
        self._region = regions.ProgramRegion()
        self._region.kept = list(kept)

    def value(self, tensor: GraphTensor) -> Any:
        self._call.add_input(tensor)
        if id(tensor) not in self._values:
            self._values[id(tensor)] = self._stand_in(tensor)
        return self._values[id(tensor)]

    def operation(self, operation: GraphOperation) -> Any:
        return Operation(None, operation.name, (), -1)

    def _stand_in(self, tensor: GraphTensor) -> Any:
        if tensor.is_summary:
            return SummaryRecord("summary", [], lambda: None)
        abstract = self._find_abstract(tensor)
        if isinstance(abstract, np.ndarray):
            if abstract.dtype.hasobject and has_blanks(self._call) and not any(abstract.reshape(-1).tolist()):
                # By another way NumPy takes zeros off the end.
                filled = np.empty(abstract.shape, object)
                filled.fill(make_blank(self._call, self._number))
                return filled
            return abstract
        if self._fills and np.dtype(abstract.dtype).kind in "iu" and len(abstract.shape) <= 1:
            world = self._world or WORLDS[self._number]
            return np.full(abstract.shape, world.size, abstract.dtype)
        return self._region.new_input(tensor, abstract.shape, jax.dtypes.canonicalize_dtype(abstract.dtype))

    def _find_abstract(self, tensor: GraphTensor) -> Abstract:
        trials = tensor.trials
        if self._world is not None:
            known = next(iter(trials.values()))
            unknown: list[int | None] = [None] * self._world.rank
            sizes = unknown if tensor.sizes is None else tensor.sizes
            shape = self._world.shapes.get(id(tensor), sizes)
            return jax.ShapeDtypeStruct([size or self._world.size for size in shape], known.dtype)
        if self._number in trials:
            return trials[self._number]
        # As in the trial whose sizes are the same.
        base = next(number for number in BASE if WORLDS[number].size == WORLDS[self._number].size)
        if self._number in BASE or base not in trials or not trials.keys() <= set(BASE):
            raise SkippedError
        return trials[base]

    def run(self) -> None:
        """Make the call with values that have types alone, in each world of sizes."""

        def body() -> None:
            with self._region, self.scope.evaluating(self), self._noting():
                leaves, self.structure = self.make(self._call)
                done: set[int] = set()
                self.leaves = [self._finish(leaf, done) for leaf in leaves]
                for operation in self.scope.operations_behind_end():
                    self.scope.make_operation(operation, done)

        try:
            with seam.without_folding():
                jax.eval_shape(body)
        except Exception:
            # What it has made is there all the same.
            self.scope.keep_variables(self.position)
            raise
        finally:
            regions.initialize_pending()
        self.reads, self.writes = (
            [each for each in found.values() if isinstance(each, keras.Variable)]
            for found in (self._region.reads, self._region.writes)
        )

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.position = self.scope.position()

    def _finish(self, leaf: PyTree, done: set[int]) -> Any:
        if isinstance(leaf, Operation) and not isinstance(leaf, GraphOperation):
            self.scope.make_operation(leaf, done)
            return Assigned(leaf, leaf.value() if leaf.has_value else None)
        if isinstance(leaf, jax.core.Tracer):
            is_small = leaf.dtype.kind in "iu" and leaf.size <= _MOST_KEPT
            known = if_constant(leaf) if is_small else leaf
            return leaf if known is leaf else np.asarray(known)
        return leaf


def as_abstract(leaf: PyTree) -> Abstract | None:
    """Return what a result of a trial is as a tensor; None if it is none."""
    if isinstance(leaf, Assigned):
        return None if leaf.value is None else jax.ShapeDtypeStruct(leaf.value.shape, leaf.value.dtype)
    if isinstance(leaf, jax.core.Tracer):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    if isinstance(leaf, SummaryRecord):
        return np.array(b"", object)
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    if isinstance(leaf, np.ndarray | np.generic | jax.Array | bytes):
        array = np.asarray(leaf, object) if isinstance(leaf, bytes) else np.asarray(leaf)
        is_kept = array.size <= _MOST_KEPT or array.dtype.hasobject
        return array if is_kept else jax.ShapeDtypeStruct(array.shape, array.dtype)
    return None


def _has_own_size(leaf: PyTree) -> bool:
    """Return whether values decide a result's size: in another trial they are known."""
    return isinstance(leaf, jax.core.Tracer) and any(map(jaxprs.is_size, leaf.shape))


def find_results(scope: BuiltScope, call: GraphCall) -> tuple[Trial, dict[int, Trial]]:
    """Make a call on stand-ins; return the first trial that was right, and all of them by number.

    Raises:
        Exception: What the call raises, if it does in all trials.
    """
    found: dict[int, Trial] = {}
    of_own_size: dict[int, Trial] = {}
    failures: list[Exception] = []
    has_numbers = any(np.dtype(each.dtype).kind in "iu" for each in call.inputs)

    def attempt(
        number: int, world: World | None = None, *, fills: bool = False, kept: Sequence[regions.Spread] = ()
    ) -> Trial | None:
        trial = Trial(scope, call, number, world, fills=fills, kept=kept)
        try:
            trial.run()
        except regions.TraceAgainError as found_kept:
            # Variables of which replicas have their own values.
            return attempt(number, world, fills=fills, kept=[*kept, *found_kept.kept])
        except SkippedError:
            return None
        except Exception as error:
            failures.append(error)
            return None
        return trial

    def attempt_all(*, fills: bool) -> None:
        for number in BASE:
            if number and 0 in found and not fills and _is_settled(call):
                found[number] = found[0]
                continue
            if (trial := attempt(number, fills=fills)) is not None:
                take(number, trial, fills=fills)
        others = {number for each in call.inputs for number in each.trials} - set(BASE)
        for number in sorted(others):
            if (trial := attempt(number, fills=fills)) is not None:
                take(number, trial, fills=fills)

    def take(number: int, trial: Trial, *, fills: bool) -> None:
        if not fills and has_numbers and any(map(_has_own_size, trial.leaves)):
            of_own_size[number] = trial
            return
        _settle(scope, call, trial, is_first=not found)
        found[number] = trial

    attempt_all(fills=False)
    if found.keys() == {2}:
        # Only rows of one fit: what is 1 may be any size.
        return found[2], _forget_size(found[2], WORLDS[2])
    if not found and has_numbers:
        attempt_all(fills=True)
    # Where known numbers do not help.
    for number, of_own in of_own_size.items() if not found else ():
        take(number, of_own, fills=True)
    if not found and not _is_settled(call):
        for world in _guesses(call):
            if (trial := attempt(0, world)) is not None:
                _settle(scope, call, trial, is_first=True)
                return trial, _forget_size(trial, world)
    if not found:
        raise failures[0]
    return next(iter(found.values())), found


def _settle(scope: BuiltScope, call: GraphCall, trial: Trial, *, is_first: bool) -> None:
    if is_first:
        # Variables and names that the call has made are there from now on.
        scope.go_on_from(trial.position)
        call.reads.extend(trial.reads)
        call.writes.extend(trial.writes)


def _is_settled(call: GraphCall) -> bool:
    """Return whether all that a call computes with has known sizes and values."""
    return not has_blanks(call) and all(
        set(each.trials) == set(BASE) and all(_is_same(each.trials[0], each.trials[other]) for other in BASE)
        for each in call.inputs
    )


def _is_same(first: Abstract, second: Abstract) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    return type(first) is type(second) and tuple(first.shape) == tuple(second.shape)


def _guesses(call: GraphCall) -> list[World]:
    """Return what to try where sizes have to fit those of other operands."""
    sizes: dict[int, None] = {1: None}
    ranks = [0]
    for each in call.inputs:
        if each.shape.rank is None:
            ranks = [1, 2, 0, 3, 4]
        else:
            sizes.update({size: None for size in each.shape.as_list() if size})
    leaves = jax.tree.leaves((call.args, call.kwargs), is_leaf=is_leaf)
    # As many elements as there are in a shape that is asked for.
    whole = [each for each in leaves if type(each) is int]
    if len(whole) > 1 and min(whole) > 0:
        sizes = {math.prod(whole): None, **sizes}
    for each in leaves:
        if isinstance(each, keras.Variable):
            sizes.update(dict.fromkeys(each.shape))
    # A gradient, or what is assigned, is like the variable that it stands beside.
    shapes = {
        id(each): tuple(other.shape)
        for first, second in itertools.pairwise(leaves)
        for each, other in ((first, second), (second, first))
        if isinstance(each, GraphTensor) and each.shape.rank is None and isinstance(other, keras.Variable)
    }
    return [
        *([World(_SIZE, 1, shapes)] if shapes else []),
        *(World(size, rank) for rank in ranks for size in sizes),
    ]


def _forget_size(trial: Trial, world: World) -> dict[int, Trial]:
    """Return a trial as two, in which sizes that were guessed differ."""

    def replace(leaf: PyTree, size: int) -> Any:
        abstract = as_abstract(leaf)
        if abstract is None or isinstance(leaf, Assigned):
            return leaf
        sizes = [size if each == world.size else each for each in abstract.shape]
        return jax.ShapeDtypeStruct(sizes, abstract.dtype)

    made = {}
    for number in BASE:
        made[number] = other = Trial.__new__(Trial)
        other.leaves = [replace(leaf, WORLDS[number].size) for leaf in trial.leaves]
        other.structure = trial.structure
    return made
