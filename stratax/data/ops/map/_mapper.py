"""A user's function given to `map`, and the best way to call it (data layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import (
    Composite,
    Nested,
    Row,
    Shape,
    Structure,
    TensorSpec,
    check_same,
    element_scope,
    flatten,
    names_of_fields,
    spec_of_row,
    unflatten,
)
from stratax.data.plan import OwnLock
from stratax.data.records import Origins
from stratax.data.vectorise import (
    BatchProgram,
    Proof,
    Vectorised,
    WithJAX,
    WithNumPy,
    block_agrees,
    chain_operations,
    keep_variables,
    on_host,
    prove,
    result_of,
    tell_of_function,
    uses_jax,
)

# How many results for a block are compared with those of one call for each element before blocks are trusted.
_CHECKED_ROWS = 16


class Mapper:
    """Calls a user's function, and knows the best way to.

    A function that is not proved pure is called once for each element. Of one that is, the first elements are computed
    one by one and as a block; where the two disagree, it is called one by one, too.

    Args:
        function: The user's.
        structure: Structure of the elements it gets.
    """

    def __init__(self, function: Callable[..., Any], structure: Callable[[], Structure]) -> None:
        self._function = function
        self._chained: Callable[..., Any] | None = None
        self._input_structure = structure
        self._lock = OwnLock()
        self._candidates: list[tuple[Vectorised, bool]] | None = None
        self._checked = 0
        self._proof: Proof | None = None
        self._was_looked_at = False
        self._of_batches: tuple[Proof | None, BatchProgram | None] | None = None
        self._expected: tuple[Structure, tuple[tuple[np.dtype | None, int], ...]] | None = None
        self._shapes: list[Shape | None] | None = None
        self._last: tuple[Structure, list[tuple[np.dtype, tuple[int, ...]]]] | None = None
        self.spec: Any = None

    @property
    def function(self) -> Callable[..., Any]:
        """The user's function."""
        return self._function

    @property
    def name(self) -> str:
        """How messages call the function."""
        return f"The function {getattr(self._function, '__qualname__', repr(self._function))} given to map"

    @property
    def is_vectorised(self) -> bool:
        """Whether whole blocks are known to come out right."""
        return self._checked > 0 and bool(self._candidates)

    @property
    def batch_program(self) -> BatchProgram | None:
        """What the function does, if it is pure and only hands its batch to an operation such as `parse_example`."""
        with self._lock:
            # Proved again if a global that the function uses has been replaced.
            if self._of_batches is None or not (self._of_batches[0] is None or self._of_batches[0].holds()):
                # Its input is one array; to ask for the structure of it may call the functions below.
                proof = prove(self._function)
                self._of_batches = (proof, None if proof is None else BatchProgram.of(proof.function))
            return self._of_batches[1]

    def _has_to_be_proved(self) -> bool:
        """Return whether nobody has looked yet, or what a name stands for has changed since."""
        return not self._was_looked_at or (self._proof is not None and not self._proof.holds())

    def _prove(self) -> None:
        """Find out whether the function is pure, and forget what was known of calling it for blocks."""
        fields = names_of_fields(self._input_structure())
        self._proof = None if fields is None else prove(self._function, fields)
        self._was_looked_at = True
        # A new proof may be of another function: a global that it calls was replaced.
        self._candidates, self._checked = None, 0

    def one(self, row: Row, position: int, origins: Origins, into: Sequence[np.ndarray] = ()) -> Row:
        """Return the function's result for one element, checked against earlier ones; errors name position and record.

        Called inside `on_host`, which is entered once for many.
        """
        try:
            function = self._in_chains() if self._chained is None else self._chained
            result = result_of(function, self._input_structure(), row, into)
        except Exception as e:
            # A note, so that the user's own error keeps its class.
            tell_of_function(e, "map", f"{self.name} failed on element {position} of {self._describe(row)}.")
            origins.tell(e, row)
            raise
        self.check(*result)
        return result[0]

    def _in_chains(self) -> Callable[..., Any]:
        """Return the function, once it has given a result with operations that follow one another joined."""
        # The first result fixes what is expected; only then can a chain of operations be compared with it.
        if self._expected is None:
            return self._function
        self._chained = chain_operations(self._function)
        return self._chained

    def _describe(self, row: Row) -> str:
        return f"its input, {shown(spec_of_row(row, self._input_structure()))}"

    def check(self, row: Row, structure: Structure) -> None:
        """Raise unless a result is like those before it."""
        # Nearly all results are like the last one, and this is done for every element.
        seen = _kinds_and_shapes(row)
        if seen is not None and self._last == (structure, seen):
            return
        self._check(row, structure)
        if seen is not None:
            self._last = (structure, seen)

    def _check(self, row: Row, structure: Structure) -> None:
        # Dtypes and ranks, which must not change; sizes may.
        kinds = tuple(
            (getattr(leaf, "dtype", None), np.ndim(leaf)) for leaf in row if not isinstance(leaf, Nested)
        )
        if self._expected == (structure, kinds) and self._has_shapes_of(row):
            return
        # Threads give their first results at the same time.
        with self._lock:
            if self._expected is None:
                self._expected = (structure, kinds)
                self.spec = spec_of_row(row, structure) if self.spec is None else self.spec
            elif self._expected != (structure, kinds):
                check_same(row, structure, self.spec, self.name)
            self._widen(row, structure)

    def _has_shapes_of(self, row: Row) -> bool:
        """Return whether the spec allows a row's shapes."""
        return self._allows(
            [tuple(leaf.shape) if isinstance(leaf, np.ndarray | Composite) else () for leaf in row]
        )

    def _allows(self, shapes: Sequence[Shape]) -> bool:
        return self._shapes is not None and all(map(_allows, self._shapes, shapes))

    def _widen(self, row: Row, structure: Structure) -> None:
        """Make sizes that turned out to differ None in the spec."""
        pairs = zip(flatten(self.spec)[0], flatten(spec_of_row(row, structure))[0], strict=True)
        specs = [a.merged(b) for a, b in pairs]
        self.spec = unflatten(structure, specs)
        self._shapes = [spec.shape for spec in specs]

    def spec_for(self, row: Row) -> Any:
        """Return the spec of the function's result for one element, which is not compared with others.

        As TensorFlow's tracing, this calls the function once more, but assigns to no variable.
        """
        with on_host(), element_scope(lambda: ()), keep_variables():
            return spec_of_row(*result_of(self._function, self._input_structure(), row))

    def block(self, columns: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """Return the function's results for a block of elements, or None if it has to be called one by one."""
        # Byte strings have no vectorised operations.
        if any(column.dtype.hasobject for column in columns):
            return None
        with self._lock:
            if self._has_to_be_proved():
                self._prove()
            if self._candidates is None:
                self._candidates = [] if self._proof is None else self._methods(self._proof.function)
            while self._candidates:
                method, exactly = self._candidates[0]
                result = self._attempt(method, exactly=exactly, columns=columns)
                if result is not None:
                    return result
                # A method that failed on one block is not tried on the next ones.
                self._candidates.pop(0)
                self._checked = 0
        return None

    def _methods(self, function: Callable[..., Any]) -> list[tuple[Vectorised, bool]]:
        structure = self._input_structure()
        # NumPy first: its results for a block have to agree to the bit, those of JAX, which may round otherwise,
        # nearly.
        methods: list[tuple[Vectorised, bool]] = [(WithNumPy(function, structure), True)]
        if uses_jax():
            methods += [
                (WithJAX(function, structure, compiled=compiled), False) for compiled in (False, True)
            ]
        return methods

    def _attempt(
        self, method: Vectorised, columns: Sequence[np.ndarray], *, exactly: bool
    ) -> list[np.ndarray] | None:
        """Try one method on one block; compared with element by element as long as few elements have been."""
        count = max(0, min(_CHECKED_ROWS - self._checked, len(columns[0])))
        rows = []
        if count:
            try:
                # The function gets copies, as it may keep or write what it is given.
                copies = [[column[i].copy() for column in columns] for i in range(count)]
                rows = [self._reference(row) for row in copies]
            except Exception:
                # The function fails on an element: it will say so when it is called for that one.
                return None
        try:
            result = method(columns)
        except Exception:
            return None
        if not block_agrees(result, rows, exactly=exactly):
            return None
        leaves, structure = result
        # The function reduced the axis of the elements, or added to it: its result is not one for each
        # element.
        if any(len(leaf) != len(columns[0]) for leaf in leaves):
            return None
        # Compared rows add up over blocks: small blocks are checked as thoroughly as large ones.
        self._checked += count
        kinds = tuple((leaf.dtype, leaf.ndim - 1) for leaf in leaves)
        if self._expected is None:
            self._expected = (structure, kinds)
        if self.spec is None:
            self.spec = unflatten(structure, [TensorSpec(leaf.shape[1:], leaf.dtype) for leaf in leaves])
        # Other dtypes or structure than of elements before: calling it one by one raises the error that names the
        # element.
        if self._expected != (structure, kinds):
            return None
        if not self._allows([leaf.shape[1:] for leaf in leaves]):
            self._widen([leaf[0] for leaf in leaves], structure)
        return leaves

    def _reference(self, row: Row) -> tuple[Row, Structure]:
        with on_host():
            function = self._function if self._proof is None else self._proof.function
            return result_of(function, self._input_structure(), row)


def _kinds_and_shapes(row: Row) -> list[tuple[np.dtype, tuple[int, ...]]] | None:
    """Return dtype and shape of each component; None if one of them is no array, but bytes or a Dataset."""
    try:
        return [(leaf.dtype, leaf.shape) for leaf in row]
    except AttributeError:
        return None


def _allows(known: Shape | None, shape: Shape) -> bool:
    """Return whether a shape is as known, where a size is known."""
    if known is None or known == shape:
        return True
    return len(known) == len(shape) and all(a is None or a == b for a, b in zip(known, shape, strict=True))
