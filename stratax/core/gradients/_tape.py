"""`GradientTape`, as programs that come from TensorFlow use it (core layer).

What JAX does for the tape is in `_tape_trace.py`; here is what TensorFlow promises: which variables are watched and
when, nested structures, persistence, unconnected gradients, Jacobians.
"""

import contextlib
import enum
import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.tree_util
import keras
from jax.extend.core import set_current_trace

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree, TensorLike
from stratax.core import regions, storage
from stratax.core.gradients import _tape_host as _host
from stratax.core.gradients._tape_scope import WatchingScope
from stratax.core.gradients._tape_trace import Record, TapeNode, TapeTrace, find_touched_rows, play_back
from stratax.seams.keras import get_stateless_scope

_logger = logging.getLogger("stratax")


class UnconnectedGradients(enum.Enum):
    """What :meth:`GradientTape.gradient` gives for a source that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Records operations so that gradients can be taken afterwards.

    It follows `tf.GradientTape` and works eagerly, inside `stratax.function`, `strategy.run`, loops, `jax.jit`,
    `jax.shard_map` and the body of `jax.lax.scan`. Every operation runs once, where it would have run without a
    tape; a compiled program holds the forward pass once. Tapes nest, for second derivatives. New programs may prefer
    :func:`stratax.value_and_grad`, which costs less per operation in eager code.

    Differences from TensorFlow: there are no `IndexedSlices`, the gradient of an embedding table is dense. A
    jitted function, scan or cond counts as one operation. Inside a compiled function, a variable that is
    assigned under the tape and then read again passes its gradient on to what was assigned; eagerly it does
    not, as in TensorFlow. `parallel_iterations` has no effect.

    Args:
        persistent: Whether gradients can be taken more than once. A persistent tape keeps what it recorded until
            it is deleted or :meth:`reset`.
        watch_accessed_variables: Whether trainable variables are watched when they are read. If not, only what
            was given to :meth:`watch` is.

    Example:
        >>> import jax.numpy as jnp, stratax as sx
        >>> x = jnp.float32(3.0)
        >>> with sx.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> float(tape.gradient(y, x))
        6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        # Shared with the trace, which appends to it: cleared, and never replaced.
        self._records: list[Record] = []
        self._trace: TapeTrace | None = None
        self._variables: dict[int, tuple[keras.Variable, dict[TapeNode, None]]] = {}
        self._active: contextlib.ExitStack | None = None
        self._spent = False

    def __enter__(self) -> "GradientTape":
        """Start recording, or go on recording where the tape stopped.

        Raises:
            TapeError: The tape is recording already.
        """
        if self._active is not None:
            raise errors.TapeError(
                "This GradientTape was entered while it was recording. Expected: one `with` block at a time for each "
                f"tape. Received: tape={shown(self)}. Make a second tape for the inner block."
            )
        # A tape that gave its gradients and is entered again begins anew.
        if self._spent:
            self.reset()
        parent = regions.current_trace()
        if self._trace is None:
            self._trace = TapeTrace(parent, self._records)
        # A persistent tape may be entered again elsewhere, inside a compiled function say.
        self._trace.parent = parent
        stack = contextlib.ExitStack()
        scope = get_stateless_scope()
        # Keras asks a scope for variables' values; only ours tells tapes of the reads.
        if not isinstance(scope, regions.Region | WatchingScope):
            scope = WatchingScope(scope, parent)
            # With no scope around it, nobody else initialises what layers create under the tape.
            if scope.outside is None:
                stack.callback(regions.initialize_pending)
            stack.enter_context(scope)
        if isinstance(scope, WatchingScope):
            stack.enter_context(scope.follow_by(self._is_followed_elsewhere))
        stack.enter_context(storage.listening(self._on_read))
        # Last, so that nothing of the preparation is recorded.
        stack.enter_context(set_current_trace(self._trace))
        self._active = stack
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop recording; gradients can be computed from now on."""
        # Cleared first: an error while leaving must not leave a tape that seems to record.
        stack, self._active = self._active, None
        if stack is not None:
            stack.close()

    def watch(self, tensor: TensorLike) -> None:
        """Follow arrays or variables from here on, also variables that are not trainable.

        What is not of a floating point dtype has no derivative: a warning is logged, as TensorFlow does, and its
        gradient is None.

        Args:
            tensor: An array or variable, or a nested structure of them.

        Raises:
            TapeError: The tape is not recording.
            BadTypeError: Something in `tensor` is neither an array nor a variable.
        """
        trace = self._recording_trace("watch")
        for leaf in jax.tree.leaves(_plain(tensor)):
            is_watchable = _is_watchable(leaf)
            if isinstance(leaf, keras.Variable):
                # Its value is followed when it is read, as it may be assigned before.
                self._variables.setdefault(id(leaf), (leaf, {}))
            elif is_watchable:
                trace.follow(_host.follow(leaf) if _host.is_tensor(leaf) else leaf)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Stop recording operations and reads of variables inside the block.

        Raises:
            TapeError: The tape is not recording.
        """
        trace = self._recording_trace("stop_recording")
        before, trace.recording = trace.recording, False
        try:
            yield
        finally:
            trace.recording = before

    def reset(self) -> None:
        """Forget everything that was recorded and watched, as if the tape were new."""
        self._records.clear()
        self._variables.clear()
        self._spent = False
        if self._trace is not None:
            self._trace.forget_all()

    def watched_variables(self) -> tuple[keras.Variable, ...]:
        """Return the watched variables, in the order in which they were first read or given to :meth:`watch`."""
        return tuple(variable for variable, _ in self._variables.values())

    def gradient(
        self,
        target: object,
        sources: object,
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Return the gradient of the sum of `target` with respect to `sources`.

        Args:
            target: An array or variable of any shape, or a nested structure of them, whose gradients are added up. An
                array that was not recorded depends on nothing.
            sources: A watched array or variable, or a nested structure of them.
            output_gradients: The gradient that flows into each element of `target`: the same structure and shapes,
                None standing for ones.
            unconnected_gradients: What to give for a source that no recorded operation connects with the target:
                `"none"` for None, `"zero"` for zeros.

        Returns:
            The structure of `sources` with gradients of the sources' shapes and dtypes, or None.

        Raises:
            TapeError: The tape is not persistent and has given its gradients already; it never recorded; or an
                operation between the sources and the target has no derivative.
            BadTypeError: A target or source is neither an array nor a variable.
            BadArgumentError: `unconnected_gradients` is unknown.
            StructureError: `output_gradients` does not match `target`.
        """
        # Arguments are checked first, so that a mistake does not spend the tape.
        mode = _check_unconnected(unconnected_gradients)
        self._check_not_spent()
        if target is None:
            raise errors.BadTypeError(
                "A GradientTape has nothing to differentiate. Expected: target to be an array or variable, or a nested "
                "structure of them. Received: target=None. Return the target from the function that computes it."
            )
        leaves, treedef = _flat(sources)
        nodes = [self._source_nodes(leaf) for leaf in leaves]
        seeds = self._seeds(target, output_gradients, leaves)
        # The gradient's own operations are for the tapes around this one to record, not for itself.
        with self._playing():
            results = self._play_back(seeds, nodes, leaves, consume=not self._persistent)
            return jax.tree.unflatten(
                treedef, [_connect(r, s, mode) for r, s in zip(results, leaves, strict=True)]
            )

    def jacobian(
        self,
        target: Any,
        sources: object,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivative of every element of `target` with respect to every element of `sources`.

        Args:
            target: A recorded array.
            sources: As for :meth:`gradient`.
            unconnected_gradients: As for :meth:`gradient`.
            parallel_iterations: Has no effect.
            experimental_use_pfor: Whether all rows are computed at once (faster) or one after the other (less memory).

        Returns:
            The structure of `sources` with arrays of shape `target.shape + source.shape`, or None.

        Raises:
            TapeError, BadTypeError, BadArgumentError: As :meth:`gradient` does.

        Example:
            >>> import jax.numpy as jnp, stratax as sx
            >>> x = jnp.array([1.0, 2.0])
            >>> with sx.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.jacobian(y, x).tolist()
            [[2.0, 0.0], [0.0, 4.0]]
        """
        given, target = target, _array(target, "target")
        # One cotangent for each element of the target, which selects that element.
        basis = jnp.eye(target.size, dtype=target.dtype).reshape(target.size, *target.shape)

        def shape_rows(rows: jax.Array, source: jax.Array) -> jax.Array:
            return rows.reshape(*target.shape, *source.shape)

        return self._rows(
            given, sources, basis, unconnected_gradients, at_once=experimental_use_pfor, shaped=shape_rows
        )

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return each example's Jacobian, where an example's target depends on the same example's source alone.

        Args:
            target: A recorded array of shape `[batch, *t]`.
            source: A watched array of shape `[batch, *s]`.
            unconnected_gradients: As for :meth:`gradient`.
            parallel_iterations: Has no effect.
            experimental_use_pfor: As for :meth:`jacobian`.

        Returns:
            An array of shape `[batch, *t, *s]`; zeros if nothing connects the two, as TensorFlow gives in either mode.

        Raises:
            StructureError: `target` and `source` have no equal leading dimension.
            TapeError, BadTypeError, BadArgumentError: As :meth:`gradient` does.
        """
        given = target, source
        target, source = _array(target, "target"), _array(source, "source")
        if not target.ndim or not source.ndim or target.shape[0] != source.shape[0]:
            raise errors.StructureError(
                "`batch_jacobian` needs a target and a source with one row for each example. Expected: the same first "
                f"dimension. Received: target.shape={target.shape}, source.shape={source.shape}. Use `jacobian` for "
                "arrays without a batch dimension."
            )
        batch, *inner = target.shape
        size = target[0].size
        # Examples don't depend on one another, so one cotangent selects the same element of all of them at
        # once.
        basis = jnp.broadcast_to(jnp.eye(size, dtype=target.dtype)[:, None], (size, batch, size))
        basis = basis.reshape(size, batch, *inner)

        def shape_rows(rows: jax.Array, source: jax.Array) -> jax.Array:
            return jnp.moveaxis(rows, 0, 1).reshape(batch, *inner, *source.shape[1:])

        mode = _check_unconnected(unconnected_gradients) and UnconnectedGradients.ZERO
        return self._rows(*given, basis, mode, at_once=experimental_use_pfor, shaped=shape_rows)

    def _rows(
        self,
        target: object,
        sources: object,
        basis: jax.Array,
        unconnected_gradients: UnconnectedGradients | str,
        shaped: Callable[[jax.Array, jax.Array], jax.Array],
        *,
        at_once: bool,
    ) -> Any:
        """Play the tape back once for each row of `basis`, a batch of cotangents of the target."""
        mode = _check_unconnected(unconnected_gradients)
        self._check_not_spent()
        leaves, treedef = _flat(sources)
        nodes = [self._source_nodes(leaf) for leaf in leaves]
        seeds = self._seeds(target, None, leaves)

        def row(seed: jax.Array) -> list[Any]:
            return self._play_back([(seeded, seed) for seeded, _ in seeds], nodes, leaves, consume=False)

        with self._playing():
            # `row` keeps the records, as it is traced once for all rows; they are dropped behind.
            rows = jax.vmap(row)(basis) if at_once else jax.lax.map(row, basis)
            if not self._persistent:
                self._records.clear()
            results = [None if r is None else shaped(r, s) for r, s in zip(rows, leaves, strict=True)]
            if mode is UnconnectedGradients.ZERO:
                empty = [jnp.zeros((len(basis), *leaf.shape), leaf.dtype) for leaf in leaves]
                results = [
                    shaped(e, s) if r is None else r for r, e, s in zip(results, empty, leaves, strict=True)
                ]
            return jax.tree.unflatten(treedef, results)

    @contextlib.contextmanager
    def _playing(self) -> Iterator[None]:
        """Stop recording for good, of a tape that can be played only once, before its own gradient is computed."""
        if self._persistent:
            yield
            return
        self._spent = True
        if self._trace is None or self._active is None:
            yield
            return
        self._trace.recording = False
        # Inside of its `with` block the tape's trace is the current one, even when it does not record.
        with set_current_trace(self._trace.parent):
            yield

    def _find_touched_rows(self, target: object, variable: keras.Variable) -> Any:
        """Return which rows of a variable a target looks up, as booleans; None if it depends on all of them."""
        trace = self._trace
        if trace is None:
            return None
        leaves = [_array(leaf, "target") for leaf in jax.tree.leaves(_plain(target))]
        targets = [node for node in map(trace.node_of, leaves) if node is not None]
        # Outside of the tape: what is computed here is no part of what gradients are asked of.
        with set_current_trace(trace.parent):
            masks: list[Any] = []
            for node in self._source_nodes(variable):
                found = find_touched_rows(self._records, targets, node)
                if found is None:
                    return None
                masks += found
            return functools.reduce(jnp.logical_or, masks) if masks else None

    def _seeds(
        self, target: object, output_gradients: object, sources: Sequence[Any]
    ) -> list[tuple[Any, Any]]:
        """Return where gradients begin, and the first ones: at nodes, and at sources that were not recorded."""
        leaves, treedef = _flat(target)
        given = _output_gradients(output_gradients, leaves, treedef)
        seeds: list[tuple[Any, Any]] = []
        for leaf, gradient in zip(leaves, given, strict=True):
            value = _array(leaf, "target")
            node = None if self._trace is None else self._trace.node_of(value)
            # A variable depends on itself, also if nothing read it. Of arrays no more is known: what a function gives
            # may be the very array that it was given.
            is_source = isinstance(leaf, keras.Variable) and any(leaf is source for source in sources)
            seeded = leaf if node is None and is_source else node
            if seeded is not None:
                seeds.append((seeded, jnp.ones_like(value) if gradient is None else gradient))
        return seeds

    def _play_back(
        self, seeds: list[tuple[Any, Any]], nodes: list[list[TapeNode]], sources: list[Any], *, consume: bool
    ) -> list[Any]:
        """Return the gradients of sources, None for those that nothing connects with a seed."""
        recorded = [(seeded, gradient) for seeded, gradient in seeds if isinstance(seeded, TapeNode)]
        flat = [node for group in nodes for node in group]
        cotangents = play_back(self._records, recorded, flat, consume=consume)
        return [
            _total(
                [cotangents[node] for node in group if node in cotangents]
                + [gradient for seeded, gradient in seeds if seeded is source]
            )
            for group, source in zip(nodes, sources, strict=True)
        ]

    def _source_nodes(self, source: object) -> list[TapeNode]:
        if isinstance(source, keras.Variable):
            _, nodes = self._variables.get(id(source), (source, {}))
            return list(nodes)
        if not isinstance(source, jax.Array):
            if _host.is_tensor(source):
                return []
            raise errors.BadTypeError(
                "A source of a GradientTape is neither an array nor a variable. Expected: the very jax.Array that was "
                f"watched or computed under the tape, or a keras.Variable. Received: source={shown(source)} of type "
                f"{type(source).__name__}. Convert it once with `jnp.asarray`, watch that and use it."
            )
        node = None if self._trace is None else self._trace.node_of(source)
        return [] if node is None else [node]

    def _on_read(self, variable: keras.Variable, value: object) -> None:
        trace = self._trace
        wanted = id(variable) in self._variables or (self._watch_accessed_variables and variable.trainable)
        if trace is None or not trace.recording or not wanted or not isinstance(value, jax.Array):
            return
        if jnp.issubdtype(value.dtype, jnp.inexact):
            _, nodes = self._variables.setdefault(id(variable), (variable, {}))
            # One variable may have several values under a tape: it may be assigned between two reads.
            nodes[trace.follow(value)] = None

    def _is_followed_elsewhere(self, variable: keras.Variable, value: object) -> bool:
        """Return whether the tape follows `value` for another reason than as a value of `variable`."""
        node = None if self._trace is None else self._trace.node_of(value)
        return node is not None and node not in self._variables.get(id(variable), (variable, {}))[1]

    def _check_not_spent(self) -> None:
        if self._trace is None:
            raise errors.TapeError(
                "A GradientTape that has recorded nothing has no gradients. Expected: `with GradientTape() as tape:` "
                f"before. Received: tape={shown(self)}, which was never entered. Compute the target in such a block."
            )
        if self._spent:
            raise errors.TapeError(
                "A non-persistent GradientTape can compute only one set of gradients. Expected: one call of "
                f"`gradient`, `jacobian` or `batch_jacobian`. Received: another one of tape={shown(self)}. Ask "
                "for all sources in one call, or make the tape with GradientTape(persistent=True)."
            )

    def _recording_trace(self, what: str) -> TapeTrace:
        if self._active is None or self._trace is None:
            raise errors.TapeError(
                f"`tape.{what}` was called on a GradientTape that is not recording. Expected: a call inside the tape's "
                f"`with` block. Received: tape={shown(self)}. Move the call into `with GradientTape() as tape:`."
            )
        return self._trace


def _plain(structure: PyTree) -> Any:
    """Return Keras' tracked lists as plain ones, which JAX takes for structures."""
    # JAX knows `list` itself as structure, and takes an object of a subclass, as Keras' is, for a leaf.
    return list(structure) if isinstance(structure, list) else structure


def _flat(structure: PyTree) -> tuple[list[Any], Any]:
    """Return what is in a structure, arrays of devices in place of tensors of the host that a tape follows."""
    leaves, treedef = jax.tree.flatten(_plain(structure))
    return [_host.follow_known(leaf) for leaf in leaves], treedef


def _array(value: object, what: str) -> Any:
    value = value.value if isinstance(value, keras.Variable) else _host.follow_known(value)
    if not isinstance(value, jax.Array) and not _host.is_tensor(value):
        raise errors.BadTypeError(
            f"The {what} of a GradientTape's derivative is not an array. Expected: a jax.Array that was computed under "
            f"the tape, or a keras.Variable. Received: {what}={shown(value)} of type {type(value).__name__}. "
            "Compute it "
            "with `keras.ops` or `jax.numpy`."
        )
    return value


def _is_watchable(leaf: Any) -> bool:
    """Return whether something has a derivative."""
    if not isinstance(leaf, jax.Array | keras.Variable) and not _host.is_tensor(leaf):
        raise errors.BadTypeError(
            "`tape.watch` got something that it can't follow. Expected: jax.Array or keras.Variable. "
            f"Received: {shown(leaf)} of type {type(leaf).__name__}. Convert it with `jnp.asarray` and go on with the "
            "result: the tape follows that object."
        )
    dtype = leaf._dtype if isinstance(leaf, keras.Variable) else leaf.dtype
    if jnp.issubdtype(dtype, jnp.inexact):
        return True
    _logger.warning("The dtype of the watched tensor must be floating (e.g. tf.float32), got %s", dtype)
    return False


def _check_unconnected(value: UnconnectedGradients | str) -> UnconnectedGradients:
    name = getattr(value, "value", value)
    if name not in ("none", "zero"):
        raise errors.BadArgumentError(
            "`unconnected_gradients` is unknown. Expected: 'none', 'zero' or a member of UnconnectedGradients. "
            f"Received: unconnected_gradients={shown(value)}."
        )
    return UnconnectedGradients(name)


def _output_gradients(given: object, targets: Sequence[Any], treedef: jax.tree_util.PyTreeDef) -> list[Any]:
    if given is None:
        return [None] * len(targets)
    leaves = treedef.flatten_up_to(given) if _has_structure(given, treedef) else None
    shapes = [tuple(target.shape) for target in targets]
    if leaves is None or any(
        g is not None and jnp.shape(g) != s for g, s in zip(leaves, shapes, strict=True)
    ):
        raise errors.StructureError(
            "`output_gradients` does not match the target. Expected: the target's structure with arrays of shapes "
            f"{shapes}. Received: output_gradients={shown(given)}. Give one array, or None, for each target."
        )
    dtypes = [target.dtype for target in targets]
    return [None if g is None else jnp.asarray(g, dtype) for g, dtype in zip(leaves, dtypes, strict=True)]


def _has_structure(value: object, treedef: jax.tree_util.PyTreeDef) -> bool:
    try:
        treedef.flatten_up_to(_plain(value))
    except ValueError:
        return False
    return True


def _total(found: list[Any]) -> Any:
    """Return the sum of what flows into a source, of a variable into each value that was read; None of nothing."""
    return sum(found[1:], found[0]) if found else None


def _connect(gradient: TensorLike, source: Any, mode: UnconnectedGradients) -> Any:
    if gradient is None and mode is UnconnectedGradients.ZERO:
        dtype = source._dtype if isinstance(source, keras.Variable) else source.dtype
        return jnp.zeros(source.shape, dtype)
    return gradient


def rows_of_gradient(tape: GradientTape, target: object, variable: keras.Variable) -> Any:
    """Return which rows of a variable a gradient consists of, as TensorFlow's `IndexedSlices` would say.

    Args:
        tape: The tape, persistent.
        target: What the gradient is asked of.
        variable: The variable.

    Returns:
        Booleans, one for each row: those that the target looks up. None if it depends on the variable in another way,
        so that the gradient is of the whole variable.
    """
    return tape._find_touched_rows(target, variable)
