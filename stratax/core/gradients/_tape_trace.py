"""What a GradientTape records and how it is played backwards (core layer).

A :class:`TapeTrace` is a JAX trace that computes nothing itself: every primitive is bound in the trace that it was
pushed on, so its results are ordinary values of that trace (arrays, or the tracers of an enclosing `jax.jit`) and can't
leak. What it adds is a list of :class:`Record`, one for each primitive that depends on something watched.

This is the only file that relies on JAX's internals of a particular version (tested with 0.10).
"""

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
from jax.extend.core import set_current_trace

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree, TensorLike
from stratax.core import jaxprs, regions
from stratax.core.gradients import _rows
from stratax.seams.jax import ad, core, partial_eval

_JIT_PRIMITIVES = ("jit", "pjit")


class TapeNode:
    """A value that the tape follows, for as long as a record refers to it; it does not keep the value alive."""

    __slots__ = ("__weakref__", "reference")

    def __init__(self, value: object, forget: Callable[[Any], None]) -> None:
        # Weak: while a tape is open, an intermediate value that nobody else needs is freed.
        self.reference = weakref.ref(value, forget)


class Record:
    """One primitive that ran: what it depends on, what it gave, and what `jax.vjp` said about its derivative.

    Attributes:
        rows: How the primitive looks up rows of its only followed operand, if that is what it does.
    """

    __slots__ = ("inputs", "outputs", "rows", "vjp")

    def __init__(
        self,
        inputs: Sequence[TapeNode],
        outputs: Sequence[TapeNode | None],
        vjp: object,
        rows: _rows.RowUse | None = None,
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.vjp = vjp
        self.rows = rows


class _NoGradient:
    """Stands for the derivative of a primitive that has none; raises when the gradient is needed."""

    def __init__(self, primitive: jax.extend.core.Primitive, error: Exception) -> None:
        self.primitive = primitive
        self.error = error

    def fail(self) -> None:
        if isinstance(self.error, errors.TracingError):  # Ours, which says what to do.
            raise errors.TapeError(str(self.error)) from self.error
        raise errors.TapeError(
            f"The gradient passes through the operation {shown(str(self.primitive))}, which has no reverse-mode "
            "derivative. "
            f"Expected: differentiable operations between the sources and the target. Received: {self.error}. Put the "
            "operation under `tape.stop_recording()`, wrap its input in `keras.ops.stop_gradient`, or give it a "
            "derivative with `jax.custom_vjp`."
        ) from self.error


class TapeTrace(core.Trace):
    """Binds every primitive in `parent` and records those that depend on a followed value.

    Args:
        parent: The trace that was current when the tape was entered.
        records: The list that records are appended to.
    """

    def __init__(self, parent: Any, records: list[Record]) -> None:
        super().__init__()
        # JAX 0.10 lowers primitives on its "high" types for traces that need that. This one hands everything on:
        # the parent, in whose trace primitives are bound, says what it needs.
        self.requires_low = False
        self.parent = parent
        self.records = records
        self.recording = True
        self._nodes: dict[int, TapeNode] = {}

    def node_of(self, value: object) -> TapeNode | None:
        """Return the node of a followed value, found by the identity of the object."""
        node = self._nodes.get(id(value))
        # An id is free again as soon as its value is gone, and the next value may have it.
        return node if node is not None and node.reference() is value else None

    def follow(self, value: object) -> TapeNode:
        """Start to follow a value, if that was not done before."""
        node = self.node_of(value)
        if node is None:
            # JAX arrays can't be keys of a `WeakKeyDictionary`: they have no hash.
            key = id(value)
            node = self._nodes[key] = TapeNode(value, lambda _: self._forget(key))
        return node

    def _forget(self, key: int) -> None:
        self._nodes.pop(key, None)

    def forget_all(self) -> None:
        """Forget all values that were followed."""
        self._nodes.clear()
        self.recording = True

    def stage_value(self, val: Any) -> Any:
        return self._identity_record(val, self.parent.stage_value(val))

    def cur_qdd(self, x: TensorLike) -> Any:
        with set_current_trace(self.parent):
            return core.cur_qdd(x)

    def process_primitive(
        self, primitive: jax.extend.core.Primitive, args: Sequence[Any], params: dict[str, Any], /
    ) -> Any:
        if self._has_followed_constants(primitive, params):
            # A jitted function that closes over a watched array has it as a constant: look inside.
            with set_current_trace(self):
                return core.jaxpr_as_fun(params["jaxpr"])(*args)

        def direct() -> Any:
            # Bound in the parent directly: the current trace is this one, and `bind` would come back here.
            avals = [core.typeof(arg) for arg in args]
            return primitive.bind_with_trace(self.parent, args, avals, params)

        if not self._follows_any(args):
            return direct()
        return self._record(primitive, lambda *xs: primitive.bind(*xs, **params), args, direct, params)

    def process_call(
        self, call_primitive: Any, f: Any, args: Sequence[Any], params: dict[str, Any], /
    ) -> Any:
        return self._rebind(call_primitive, args, {"subfuns": (f,), **params})

    def process_shard_map(
        self, primitive: jax.extend.core.Primitive, fun: object, args: Sequence[Any], **params: object
    ) -> Any:
        return self._rebind(primitive, args, {"subfuns": (fun,), **params})

    def process_custom_jvp_call(
        self,
        primitive: jax.extend.core.Primitive,
        fun: object,
        jvp: object,
        args: Sequence[Any],
        /,
        **params: object,
    ) -> Any:
        return self._rebind(primitive, args, {"subfuns": (fun, jvp), **params})

    def process_custom_vjp_call(
        self,
        primitive: jax.extend.core.Primitive,
        fun: object,
        fwd: object,
        bwd: object,
        args: Sequence[Any],
        /,
        **params: object,
    ) -> Any:
        return self._rebind(primitive, args, {"subfuns": (fun, fwd, bwd), **params})

    def _rebind(
        self, primitive: jax.extend.core.Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Bind a primitive that carries Python functions, which may be called only once."""
        if self._follows_any(args):
            return self._record(primitive, lambda *xs: primitive.bind(*xs, **params), args, None)
        with set_current_trace(self.parent):
            return primitive.bind(*args, **params)

    def _follows_any(self, args: Sequence[Any]) -> bool:
        return self.recording and any(self.node_of(arg) is not None for arg in args)

    def _has_followed_constants(self, primitive: jax.extend.core.Primitive, params: dict[str, Any]) -> bool:
        return primitive.name in _JIT_PRIMITIVES and self._follows_any(_constants(params["jaxpr"]))

    def _record(
        self,
        primitive: jax.extend.core.Primitive,
        bind: Callable[..., Any],
        args: Sequence[Any],
        direct: Callable[[], Any] | None,
        params: dict[str, Any] | None = None,
    ) -> Any:
        """Run a primitive with its derivative and keep a record of it.

        `direct` runs it without a derivative: an operation without one is an error only once the gradient passes
        through it, as in TensorFlow.
        """
        # Only followed arguments are differentiated with respect to; the others are constants.
        at = [index for index, arg in enumerate(args) if self.node_of(arg) is not None]
        inputs = [self.follow(args[index]) for index in at]
        template: list[Any] = []

        def differentiable(*followed: object) -> tuple[list[Any], list[Any]]:
            full = list(args)
            for index, value in zip(at, followed, strict=True):
                full[index] = value
            outputs = bind(*full)
            template[:] = [outputs]
            # Integers and the like have no derivative; `jax.vjp` gets them as auxiliary results.
            leaves = list(outputs) if primitive.multiple_results else [outputs]
            inexact = [_is_inexact(leaf) for leaf in leaves]
            template.append(inexact)
            return (
                [leaf for leaf, keep in zip(leaves, inexact, strict=True) if keep],
                [leaf for leaf, keep in zip(leaves, inexact, strict=True) if not keep],
            )

        vjp: Any
        try:
            with set_current_trace(self.parent):
                outputs, vjp, others = jax.vjp(differentiable, *[args[index] for index in at], has_aux=True)
        # Kept for later: whether the gradient passes here is known only when it is asked for.
        except Exception as error:
            if direct is None:
                raise
            result = direct()
            leaves = list(result) if primitive.multiple_results else [result]
            template[:] = [result, [_is_inexact(leaf) for leaf in leaves]]
            outputs = [leaf for leaf in leaves if _is_inexact(leaf)]
            others = [leaf for leaf in leaves if not _is_inexact(leaf)]
            known, vjp = [False] * len(outputs), _NoGradient(primitive, error)
        else:
            known = _find_known_outputs(vjp)
        region = regions.current_region()
        if primitive.name == "convert_element_type" and region is not None and region.gathers:
            outputs = [region.convert_again(args[0], output) for output in outputs]
        # Values are found by identity: an output that is its input would be two nodes in one.
        outputs = [self._distinct(output) for output in outputs]
        nodes = [
            None if constant or not isinstance(output, jax.Array) else self.follow(output)
            for output, constant in zip(outputs, known, strict=True)
        ]
        if any(node is not None for node in nodes):
            rows = _rows.use_of(primitive, params, args, at[0]) if params and len(at) == 1 else None
            self.records.append(Record(inputs, nodes, vjp, rows))
        return _like(template[0], template[1], outputs, others, multiple=primitive.multiple_results)

    def _distinct(self, value: object) -> Any:
        """Return `value`, or a copy where a primitive gave back an object that is followed already."""
        if self.node_of(value) is None:
            return value
        with set_current_trace(self.parent):
            return jnp.array(value, copy=True)

    def _identity_record(self, before: PyTree, after: PyTree) -> Any:
        # The parent may hand back a value in another form (a tracer for an array): the same value, and a new
        # object.
        node = self.node_of(before)
        if node is None or after is before or not self.recording:
            return after
        with set_current_trace(self.parent):
            _, vjp, _ = jax.vjp(lambda x: ([x], []), before, has_aux=True)
        self.records.append(Record([node], [self.follow(after)], vjp))
        return after


def play_back(
    records: list[Record],
    seeds: Sequence[tuple[TapeNode, Any]],
    sources: Sequence[TapeNode],
    *,
    consume: bool,
) -> dict[TapeNode, Any]:
    """Carry cotangents from targets to sources, through the records that lie between them and no others.

    Args:
        records: The records in the order in which they were made.
        seeds: Nodes of the target and their cotangents.
        sources: The nodes whose cotangents are wanted.
        consume: Whether records may be dropped on the way, which frees what they hold.

    Returns:
        The cotangents of those sources that the target depends on.
    """
    # One pass forward, so that the way back leaves out what leads to no source.
    wanted = _nodes_that_depend_on(records, sources)
    cotangents: dict[TapeNode, Any] = {}
    for node, seed in seeds:
        if node in wanted:
            _accumulate(cotangents, node, seed)
    keep = set(sources)
    for record in _backwards(records, consume=consume):
        incoming = [None if node is None else cotangents.get(node) for node in record.outputs]
        # Nothing before this record depends on its outputs; their cotangents are freed unless asked for.
        for output in record.outputs:
            if output is not None and output not in keep:
                cotangents.pop(output, None)
        needed = [node in wanted for node in record.inputs]
        if any(cotangent is not None for cotangent in incoming) and any(needed):
            for node, cotangent in zip(record.inputs, pull_back(record.vjp, incoming, needed), strict=True):
                if cotangent is not None:
                    _accumulate(cotangents, node, cotangent)
    return cotangents


def find_touched_rows(
    records: Sequence[Record], targets: Sequence[TapeNode], source: TapeNode
) -> list[Any] | None:
    """Return which rows of a source a target depends on, one mask for each place that looks up some of them.

    Args:
        records: The records in the order in which they were made.
        targets: Nodes of the target.
        source: The source's node.

    Returns:
        None where the target depends on the source in another way than by rows that are looked up.
    """
    between = set(targets)
    for record in reversed(records):
        if any(node in between for node in record.outputs):
            between.update(record.inputs)
    return _find_touched(records, between, source, set(targets))


def _find_touched(
    records: Sequence[Record], between: set[TapeNode], source: TapeNode, targets: set[TapeNode]
) -> list[Any] | None:
    if source in targets:
        return None
    found: list[Any] = []
    for record in records:
        if source not in record.inputs or not any(node in between for node in record.outputs):
            continue
        if record.rows is None:
            return None
        if record.rows.mask is not None:
            found.append(record.rows.mask())
            continue
        # Another form of the same rows.
        (output,) = record.outputs
        inner = None if output is None else _find_touched(records, between, output, targets)
        if inner is None:
            return None
        found += inner
    return found


def is_eager(trace: object) -> bool:
    """Return whether a trace computes at once, outside of every JAX transformation."""
    return isinstance(trace, core.EvalTrace)


def _backwards(records: list[Record], *, consume: bool) -> Iterator[Record]:
    if not consume:
        yield from reversed(list(records))
        return
    while records:
        # Dropped while it is played, so that memory shrinks as the gradient proceeds.
        yield records.pop()


def _nodes_that_depend_on(records: Sequence[Record], sources: Sequence[TapeNode]) -> set[TapeNode]:
    reached = set(sources)
    for record in records:
        if any(node in reached for node in record.inputs):
            reached.update(node for node in record.outputs if node is not None)
    return reached


def _accumulate(cotangents: dict[TapeNode, Any], node: TapeNode, cotangent: TensorLike) -> None:
    # JAX's own addition: it knows symbolic zeros.
    present = cotangents.get(node)
    cotangents[node] = cotangent if present is None else ad.add_tangents(present, cotangent)


def pull_back(vjp: Any, incoming: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """Return the inputs' cotangents, None where they are zero for certain or not needed.

    Calling `vjp` would turn every symbolic zero into an array and send it on through the rest of the tape.
    """
    if isinstance(vjp, _NoGradient):
        vjp.fail()
        return []
    # What JAX 0.10 and 0.11 bind to `_vjp3_callable`: where residuals are, which outputs are constant, the linear
    # jaxpr, and the types of the outputs.
    spec, known, jaxpr, _ = vjp.fun.args
    # `NotNeeded` is a structure without leaves: if it were no leaf here, the positions behind it would shift.
    kept = jax.tree.leaves(vjp.args_res, is_leaf=lambda leaf: type(leaf).__name__ == "NotNeeded")
    # The linear program's variables: residuals (its constants in JAX 0.10, its first inputs in 0.11), what is
    # differentiated, and in 0.11 what rules of their own have kept.
    variables = [*jaxpr.constvars, *jaxpr.invars]
    residuals = [kept[r.idx] if r.primal else vjp.opaque_residuals[r.idx] for r in spec]
    accumulators = [
        (ad.ValAccum if wanted else ad.NullAccum)(variable.aval.to_ct_aval())
        for variable, wanted in zip(variables[len(residuals) :], needed, strict=False)
    ]
    rest = jax.tree.leaves(getattr(vjp, "structured_residuals", ()))
    unknown = [cotangent for cotangent, constant in zip(incoming, known, strict=True) if not constant]
    used = [cotangent is not None for cotangent in unknown]
    # The linear program is cut to the outputs whose cotangents there are, instead of feeding it zeros.
    if not all(used):
        keep = [index >= len(residuals) for index in range(len(variables))]
        jaxpr, *are_used = partial_eval.dce_jaxpr_consts(jaxpr, used, keep)
        residuals = list(itertools.compress(residuals, itertools.chain(*are_used)))
    cotangents_in = [cotangent for cotangent in unknown if cotangent is not None]
    region = regions.current_region()
    if region is not None and region.gathers:
        residuals = [region.gather_again(residual, cotangents_in) for residual in residuals]
    ad.backward_pass3(jaxpr, True, residuals, [*accumulators, *rest], cotangents_in)
    results = [a.freeze() if wanted else None for a, wanted in zip(accumulators, needed, strict=True)]
    return [None if isinstance(result, ad.Zero) else result for result in results]


def _constants(closed: jax.extend.core.ClosedJaxpr) -> list[Any]:
    """Return the constants of a jaxpr and of the jitted functions that it calls."""
    if closed not in _without_constants:
        # Jitted functions are looked into, as one may close over another.
        inner = [
            e.params["jaxpr"] for e in jaxprs.equations(closed.jaxpr) if e.primitive.name in _JIT_PRIMITIVES
        ]
        found = [*closed.consts, *(constant for jaxpr in inner for constant in _constants(jaxpr))]
        # Most have none. The others are searched again: an entry here would keep its arrays alive.
        if found:
            return found
        _without_constants.add(closed)
    return []


# Jaxprs that are known to have no constants.
_without_constants: weakref.WeakSet[Any] = weakref.WeakSet()


def _find_known_outputs(vjp: Any) -> list[bool]:
    """Return which outputs do not depend on the inputs, as far as derivatives go (`floor`, `stop_gradient`)."""
    # See `pull_back`.
    return list(vjp.fun.args[1])


def _is_inexact(value: object) -> bool:
    return jnp.issubdtype(core.typeof(value).dtype, jnp.inexact)


def _like(
    template: Any, inexact: Sequence[bool], outputs: Sequence[Any], others: Sequence[Any], *, multiple: bool
) -> Any:
    """Return the results in the form in which the primitive gives them: one value, a list, or JAX' flat tree."""
    floats, rest = iter(outputs), iter(others)
    leaves = [next(floats) if is_float else next(rest) for is_float in inexact]
    if not multiple:
        return leaves[0]
    if isinstance(template, list | tuple):
        return leaves
    remaining = iter(leaves)
    # A flat tree of JAX's, which some primitives with several results give in 0.10.
    return template.map(lambda _: next(remaining))
