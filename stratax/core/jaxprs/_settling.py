"""How a program with sizes that values decide becomes one whose shapes are known (core layer)."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, SupportsInt, TypeAlias

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax import lax

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.core.jaxprs._chosen import is_size, places_p
from stratax.core.jaxprs._evaluate import bind, value_of
from stratax.core.jaxprs._walk import contains, inside
from stratax.seams import jax as seam
from stratax.seams import jax_sizes

# An equation of a jaxpr, of whose variables' types JAX says less than there is.
_Equation: TypeAlias = Any


def settle(closed: jax.extend.core.ClosedJaxpr, *, cuts: bool, is_part: bool) -> jax.extend.core.ClosedJaxpr:
    """Return a closed jaxpr whose arrays are as large as they can get; see :func:`settle_sizes`."""
    if not cuts and any(map(is_size, itertools.chain.from_iterable(aval.shape for aval in closed.out_avals))):
        raise _make_refusal("result of a loop or a condition")

    def compute(*arguments: jax.Array) -> list[Any]:
        return _Settler(is_part=is_part).run(closed.jaxpr, closed.consts, arguments)

    return jax.make_jaxpr(compute)(*closed.in_avals)


def _is_places(equation: _Equation) -> bool:
    return equation.primitive is places_p


def _has_symbols(equation: _Equation) -> bool:
    atoms = (*equation.invars, *equation.outvars)
    return equation.primitive.name == "dim_as_value" or any(
        any(map(is_size, getattr(atom.aval, "shape", ()))) for atom in atoms
    )


class _Settler:
    """Computes what a jaxpr says, with arrays that are as large as they can get."""

    def __init__(self, *, is_part: bool = False) -> None:
        self._is_part = is_part
        # By the names of symbols: how large each can get, and how large it is.
        self._most: dict[str, int] = {}
        self._count: dict[str, Any] = {}
        # By sizes in words: the smallest and the largest that each can get, as many arrays have the same.
        self._bounds: dict[str, tuple[int, int]] = {}

    def run(
        self, jaxpr: jax.extend.core.Jaxpr, constants: Sequence[Any], arguments: Sequence[Any]
    ) -> list[Any]:
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
        known |= dict(zip(jaxpr.invars, arguments, strict=True))
        for equation in jaxpr.eqns:
            operands = [value_of(known, atom) for atom in equation.invars]
            known |= zip(equation.outvars, self._results(equation, operands), strict=True)
        return [value_of(known, atom) for atom in jaxpr.outvars]

    def _results(self, equation: _Equation, operands: list[jax.Array]) -> list[Any]:
        primitive = equation.primitive
        if primitive is places_p:
            mask = self.fill(equation.invars[0].aval, operands[0], value=False)
            return [self._places(equation.params["size"], mask)]
        within = next(inside(equation), None)
        holds = within is not None and contains(within, _is_places)
        if not holds and not _has_symbols(equation):
            return bind(equation, operands)
        sizes = itertools.chain.from_iterable(getattr(each.aval, "shape", ()) for each in equation.outvars)
        if any(is_size(size) and self.bounds(size)[0] < 0 for size in sizes):
            raise _make_refusal(f"{primitive.name} that leaves out a row")
        # A derivative of its own would be lost.
        if primitive.name in _CALLS and not (self._is_part and primitive.name == "custom_vjp_call"):
            return self._call(equation, operands)
        if primitive.name == "shard_map" and not _has_symbols(equation):
            return _on_devices(equation, operands)
        rule = _INNER.get(primitive.name)
        if rule is not None:
            return list(rule(self, equation, *operands))
        rule = _RULES.get(primitive.name)
        if rule is None and primitive.name in _ELEMENTWISE:
            return bind(equation, operands)
        if rule is None or holds:
            raise _make_refusal(primitive.name)
        made = rule(self, equation, *operands)
        return made if primitive.multiple_results else [made]

    def _call(self, equation: _Equation, operands: list[jax.Array]) -> list[Any]:
        called = next(
            equation.params[name] for name in ("jaxpr", "call_jaxpr", "fun_jaxpr") if name in equation.params
        )
        if isinstance(called, jax.extend.core.ClosedJaxpr):
            return self.run(called.jaxpr, called.consts, operands)
        return self.run(called, (), operands)

    def run_within(self, closed: jax.extend.core.ClosedJaxpr, arguments: Sequence[Any]) -> list[Any]:
        """Compute what a jaxpr inside of a loop or a condition says, whose own sizes are known there only."""
        inner = _Settler(is_part=self._is_part)
        inner._most, inner._count = dict(self._most), dict(self._count)
        return inner.run(closed.jaxpr, closed.consts, arguments)

    def _places(self, size: Any, mask: jax.Array) -> Any:
        # One more than the size, as a name is 1 at least.
        name = str(size + 1)
        self._most[name] = mask.shape[0] + 1
        self._count[name] = jnp.sum(mask, dtype=jnp.int32) + 1
        return jnp.nonzero(mask, size=mask.shape[0], fill_value=0)[0].astype(jnp.int32)

    def most(self, size: SupportsInt) -> int:
        """Return how large a size can get."""
        if not is_size(size):
            return int(size)
        return max(self.bounds(size)[1], 0)

    def bounds(self, size: Any) -> tuple[int, int]:
        """Return the smallest and the largest that a size can get."""
        found = self._bounds.get(str(size))
        if found is None:
            found = self._bounds[str(size)] = self._find_bounds(size)
        return found

    def _find_bounds(self, size: Any) -> tuple[int, int]:
        names = sorted(jax_sizes.names_of(size))
        most = [self._find_most(name) for name in names]
        if math.prod(most) > _CASES:
            raise _make_refusal(f"size {size}")
        cases = np.meshgrid(*(np.arange(1, each + 1) for each in most), indexing="ij", sparse=True)
        try:
            found = jax_sizes.sizes_of(size, dict(zip(names, cases, strict=True)))
        except ZeroDivisionError as error:
            raise _make_refusal(f"division of {size}") from error
        return int(found.min()), int(found.max())

    def _find_most(self, name: str) -> int:
        if name not in self._most:
            raise _make_refusal("use in a loop or a condition of what was made outside")
        return self._most[name]

    def count(self, size: SupportsInt) -> Any:
        """Return how large a size is, when the program runs."""
        return jax_sizes.compute_size(size, self._count) if is_size(size) else int(size)

    def shape(self, aval: jax.core.ShapedArray) -> tuple[int, ...]:
        """Return the shape that an array of such a type can get."""
        return tuple(map(self.most, aval.shape))

    def fill(
        self,
        aval: jax.core.ShapedArray,
        array: jax.Array,
        value: TensorLike,
        axes: Sequence[int] | None = None,
    ) -> Any:
        """Return an array with a value behind its true sizes."""
        for axis in range(len(aval.shape)) if axes is None else axes:
            if is_size(aval.shape[axis]):
                counts = lax.broadcasted_iota(jnp.int32, array.shape, axis) < self.count(aval.shape[axis])
                array = jnp.where(counts, array, jnp.asarray(value, array.dtype))
        return array


def _on_devices(equation: _Equation, operands: list[jax.Array]) -> list[Any]:
    """Compute what each device computes by itself."""
    params, jaxpr = equation.params, next(inside(equation))
    function = jax.shard_map(
        lambda *own: tuple(_Settler().run(jaxpr, (), own)),
        mesh=params["mesh"],
        in_specs=tuple(params["in_specs"]),
        out_specs=tuple(params["out_specs"]),
        axis_names=params["newly_manual_axes"],
        check_vma=params["check_vma"],
    )
    return list(function(*operands))


def _make_refusal(what: str) -> errors.BadTypeError:
    return errors.BadTypeError(
        "The shape of an array depends on values that are known only when the compiled program runs, and something is "
        f"done with it that needs its shape. Expected: functions of elements, reductions, products, parts and gathered "
        f"rows of it. Received: the operation {shown(what)}. Use tf.where(mask, tensor, 0) or weights, which keep the "
        "shape."
    )


# How many cases of a size are looked at.
_CASES = 1 << 24
Rule = Callable[..., Any]
_CALLS = (
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "remat",
    "checkpoint",
)
_NAMES = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bitcast_convert_type cbrt ceil clamp clz
convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt
integer_pow is_finite le lgamma log log1p logistic lt max min mul name ne neg nextafter not
optimization_barrier or pow real reduce_precision rem round rsqrt select_n shift_left shift_right_arithmetic
shift_right_logical sign sin sinh sqrt square squeeze stack stop_gradient sub tan tanh transpose xor
"""
# What is done with each element by itself, or with whole dimensions.
_ELEMENTWISE = frozenset(_NAMES.split())


def _lowest(dtype: np.dtype) -> Any:
    return -np.inf if jnp.issubdtype(dtype, jnp.floating) else _limits(dtype)[0]


def _highest(dtype: np.dtype) -> Any:
    return np.inf if jnp.issubdtype(dtype, jnp.floating) else _limits(dtype)[1]


def _limits(dtype: np.dtype) -> tuple[Any, Any]:
    if dtype == np.bool_:
        return False, True
    info = jnp.iinfo(dtype)
    return info.min, info.max


def _reduction(neutral: Callable[[Any], Any]) -> Rule:
    def reduce(settler: _Settler, equation: _Equation, operand: jax.Array) -> Any:
        axes = equation.params["axes"]
        filled = settler.fill(equation.invars[0].aval, operand, neutral(operand.dtype), axes)
        return bind(equation, [filled], **_size_params(settler, equation))[0]

    return reduce


def _running(neutral: Callable[[Any], Any]) -> Rule:
    def run(settler: _Settler, equation: _Equation, operand: jax.Array) -> Any:
        # Backwards what is behind comes first.
        axes = [equation.params["axis"]]
        filled = settler.fill(equation.invars[0].aval, operand, neutral(operand.dtype), axes)
        return bind(equation, [filled])[0]

    return run


def _size_params(settler: _Settler, equation: _Equation) -> dict[str, Any]:
    """Return the parameters of an equation that are sizes, as they can get."""
    return {
        name: tuple(map(settler.most, value))
        for name, value in equation.params.items()
        if isinstance(value, tuple) and any(map(is_size, value))
    }


def _with_sizes(settler: _Settler, equation: _Equation, *operands: jax.Array) -> Any:
    return bind(equation, operands, **_size_params(settler, equation))[0]


def _dim_as_value(settler: _Settler, equation: _Equation) -> Any:
    return jnp.asarray(settler.count(equation.params["dim"]), equation.outvars[0].aval.dtype)


def _dot_general(settler: _Settler, equation: _Equation, left: jax.Array, right: jax.Array) -> Any:
    (of_left, of_right), _ = equation.params["dimension_numbers"]
    filled = [
        settler.fill(atom.aval, operand, 0, axes)
        for atom, operand, axes in zip(equation.invars, (left, right), (of_left, of_right), strict=True)
    ]
    return bind(equation, filled)[0]


def _reshape(settler: _Settler, equation: _Equation, operand: jax.Array) -> Any:
    before, after = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
    sizes = settler.shape(equation.outvars[0].aval)
    # Where each symbol stands behind as many elements as before, what counts stays in front.
    if _fronts(settler, before) == _fronts(settler, after):
        return jnp.reshape(operand, sizes)
    flat = jnp.zeros((), jnp.int32)
    for axis, size in enumerate(after):
        flat = flat * settler.count(size) + lax.broadcasted_iota(jnp.int32, sizes, axis)
    index = []
    for size in reversed(before):
        count = jnp.maximum(settler.count(size), 1)
        index.append(jnp.remainder(flat, count))
        flat = flat // count
    return operand[tuple(reversed(index))]


def _fronts(settler: _Settler, shape: Sequence[Any]) -> list[Any]:
    """Return how many rows stand in front of a symbol, if it is the only one; else of each, with the symbol."""
    symbols = [axis for axis, size in enumerate(shape) if is_size(size)]
    fronts = [math.prod(map(settler.most, shape[:axis])) for axis in symbols]
    return (
        fronts
        if len(fronts) == 1
        else [(front, str(shape[axis])) for front, axis in zip(fronts, symbols, strict=True)]
    )


def _gather(settler: _Settler, equation: _Equation, operand: jax.Array, indices: jax.Array) -> Any:
    params = equation.params
    sizes = params["slice_sizes"]
    if any(map(is_size, sizes)) and params["mode"] != lax.GatherScatterMode.PROMISE_IN_BOUNDS:
        raise _make_refusal("gather of parts")
    # A part begins where it does, however large it gets.
    operand = _extend(operand, [settler.most(size) if is_size(size) else 0 for size in sizes])
    return bind(equation, [operand, indices], **_size_params(settler, equation))[0]


def _extend(operand: jax.Array, more: Sequence[int]) -> jax.Array:
    return jnp.pad(operand, [(0, each) for each in more]) if any(more) else operand


def _slice(settler: _Settler, equation: _Equation, operand: jax.Array) -> Any:
    params, sizes = equation.params, settler.shape(equation.outvars[0].aval)
    strides = params["strides"] or (1,) * len(sizes)
    for axis, (start, size, stride) in enumerate(zip(params["start_indices"], sizes, strides, strict=True)):
        if is_size(equation.invars[0].aval.shape[axis]):
            places = settler.count(start) + stride * jnp.arange(size)
            operand = jnp.take(operand, places, axis=axis, mode="clip")
        else:
            operand = lax.slice_in_dim(operand, start, params["limit_indices"][axis], stride, axis)
    return operand


def _split(settler: _Settler, equation: _Equation, operand: jax.Array) -> Any:
    axis, sizes = equation.params["axis"], equation.params["sizes"]
    starts = itertools.accumulate([settler.count(size) for size in sizes], initial=0)
    return [
        jnp.take(operand, start + jnp.arange(settler.most(size)), axis=axis, mode="clip")
        for start, size in zip(starts, sizes, strict=False)
    ]


def _unstack(settler: _Settler, equation: _Equation, operand: jax.Array) -> Any:
    if is_size(equation.invars[0].aval.shape[equation.params["axis"]]):
        raise _make_refusal("unstack")
    return bind(equation, [operand])


def _dynamic_update_slice(
    settler: _Settler, equation: _Equation, operand: jax.Array, update: jax.Array, *starts: jax.Array
) -> Any:
    whole, part = (atom.aval.shape for atom in equation.invars[:2])
    is_there = jnp.ones((), bool)
    for axis, start in enumerate(starts):
        count = settler.count(part[axis])
        begin = jnp.clip(start, 0, settler.count(whole[axis]) - count)
        places = lax.broadcasted_iota(jnp.int32, operand.shape, axis) - begin
        is_there &= (places >= 0) & (places < count)
        update = jnp.take(update, jnp.arange(operand.shape[axis]) - begin, axis=axis, mode="clip")
    return jnp.where(is_there, update, operand)


def _dynamic_slice(settler: _Settler, equation: _Equation, operand: jax.Array, *starts: jax.Array) -> Any:
    sizes = settler.shape(equation.outvars[0].aval)
    for axis, (start, size) in enumerate(zip(starts, equation.params["slice_sizes"], strict=True)):
        last = settler.count(equation.invars[0].aval.shape[axis]) - settler.count(size)
        places = jnp.clip(start, 0, last) + jnp.arange(sizes[axis])
        operand = jnp.take(operand, places, axis=axis, mode="clip")
    return operand


def _rev(settler: _Settler, equation: _Equation, operand: jax.Array) -> Any:
    for axis in equation.params["dimensions"]:
        places = settler.count(equation.invars[0].aval.shape[axis]) - 1 - jnp.arange(operand.shape[axis])
        operand = jnp.take(operand, places, axis=axis, mode="clip")
    return operand


def _pad(settler: _Settler, equation: _Equation, operand: jax.Array, value: jax.Array) -> Any:
    sizes = settler.shape(equation.outvars[0].aval)
    for axis, (low, _, between) in enumerate(equation.params["padding_config"]):
        if between:
            raise _make_refusal("pad")
        places = jnp.arange(sizes[axis]) - settler.count(low)
        counts = (places >= 0) & (places < settler.count(equation.invars[0].aval.shape[axis]))
        operand = jnp.take(operand, places, axis=axis, mode="clip")
        operand = jnp.where(
            jnp.expand_dims(counts, [*range(axis), *range(axis + 1, operand.ndim)]), operand, value
        )
    return operand


def _concatenate(settler: _Settler, equation: _Equation, *operands: jax.Array) -> Any:
    axis = equation.params["dimension"]
    # Each behind what counts of the one before, over what does not.
    sizes = settler.shape(equation.outvars[0].aval)
    # None is moved to the front for want of room behind it.
    room = [
        size + (dim == axis) * max(each.shape[axis] for each in operands) for dim, size in enumerate(sizes)
    ]
    made = jnp.zeros(room, operands[0].dtype)
    start = jnp.zeros((), jnp.int32)
    for atom, operand in zip(equation.invars, operands, strict=True):
        begins = [jnp.zeros((), jnp.int32)] * operand.ndim
        begins[axis] = start
        made = lax.dynamic_update_slice(made, operand, begins)
        start = start + settler.count(atom.aval.shape[axis])
    return made[tuple(map(slice, sizes))]


def _sort(settler: _Settler, equation: _Equation, *operands: jax.Array) -> Any:
    axis, aval = equation.params["dimension"], equation.invars[0].aval
    if not is_size(aval.shape[axis]):
        return bind(equation, operands)
    # What does not count comes behind all else, also behind NaN.
    is_behind = lax.broadcasted_iota(jnp.int32, operands[0].shape, axis) >= settler.count(aval.shape[axis])
    num_keys = equation.params["num_keys"] + 1
    return lax.sort(
        (is_behind, *operands), dimension=axis, is_stable=equation.params["is_stable"], num_keys=num_keys
    )[1:]


def _tile(settler: _Settler, equation: _Equation, operand: jax.Array) -> Any:
    aval, repeated = equation.invars[0].aval, equation.outvars[0].aval.shape
    for axis, size in enumerate(aval.shape):
        places = jnp.arange(settler.most(repeated[axis])) % jnp.maximum(settler.count(size), 1)
        operand = jnp.take(operand, places, axis=axis, mode="clip")
    return operand


def _scatter_add(
    settler: _Settler,
    equation: _Equation,
    operand: jax.Array,
    indices: jax.Array,
    updates: jax.Array,
) -> Any:
    filled = settler.fill(equation.invars[2].aval, updates, 0)
    numbers, sizes = equation.params["dimension_numbers"], equation.invars[2].aval.shape
    outside = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    window = [axis for axis in range(operand.ndim) if axis not in outside]
    more = [0] * operand.ndim
    for axis, place in zip(window, numbers.update_window_dims, strict=True):
        more[axis] = settler.most(sizes[place]) if is_size(sizes[place]) else 0
    made = bind(equation, [_extend(operand, more), indices, filled], **_size_params(settler, equation))[0]
    return made[tuple(map(slice, operand.shape))]


def _scatter(
    settler: _Settler,
    equation: _Equation,
    operand: jax.Array,
    indices: jax.Array,
    updates: jax.Array,
) -> Any:
    if any(
        map(
            is_size,
            [
                equation.invars[2].aval.shape[axis]
                for axis in equation.params["dimension_numbers"].update_window_dims
            ],
        )
    ):
        raise _make_refusal("scatter of parts")
    # What does not count goes nowhere.
    filled = settler.fill(equation.invars[1].aval, indices, -1)
    mode = lax.GatherScatterMode.FILL_OR_DROP
    return bind(equation, [operand, filled, updates], **_size_params(settler, equation), mode=mode)[0]


def _cond(settler: _Settler, equation: _Equation, index: jax.Array, *operands: jax.Array) -> Any:
    branches = [
        lambda *own, branch=branch: settler.run_within(branch, own) for branch in equation.params["branches"]
    ]
    return lax.switch(index, branches, *operands)


def _while(settler: _Settler, equation: _Equation, *operands: jax.Array) -> Any:
    params = equation.params
    of_test = params["cond_nconsts"]
    first = of_test + params["body_nconsts"]
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    return lax.while_loop(
        lambda carried: settler.run_within(test, [*operands[:of_test], *carried])[0],
        lambda carried: settler.run_within(body, [*operands[of_test:first], *carried]),
        list(operands[first:]),
    )


def _scan(settler: _Settler, equation: _Equation, *operands: jax.Array) -> Any:
    params = equation.params
    num_consts, num_carry = seam.inputs_of_scan(equation)
    constants, rows = operands[:num_consts], operands[num_consts + num_carry :]
    length, count = settler.most(params["length"]), settler.count(params["length"])

    def compute(carried: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        results = settler.run_within(params["jaxpr"], [*constants, *carried, *row])
        return results[:num_carry], results[num_carry:]

    def step(carried: list[Any], row: tuple[Any, list[Any]]) -> tuple[list[Any], list[Any]]:
        if not is_size(params["length"]):
            return compute(carried, row[1])
        kept = jax.eval_shape(compute, carried, row[1])[1]
        skip = lambda carried, _: (carried, [jnp.zeros(each.shape, each.dtype) for each in kept])  # noqa: E731
        return lax.cond(row[0] < count, compute, skip, carried, row[1])

    carried, kept = lax.scan(
        step,
        list(operands[num_consts : num_consts + num_carry]),
        (jnp.arange(length), list(rows)),
        length,
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [*carried, *kept]


def _sum_of(neutral: Any) -> Callable[[Any], Any]:
    return lambda _: neutral


_INNER: dict[str, Rule] = {"cond": _cond, "scan": _scan, "while": _while}
_RULES: dict[str, Rule] = {
    "argmax": _reduction(_lowest),
    "argmin": _reduction(_highest),
    "broadcast_in_dim": _with_sizes,
    "concatenate": _concatenate,
    "cummax": _running(_lowest),
    "cummin": _running(_highest),
    "cumprod": _running(_sum_of(1)),
    "cumsum": _running(_sum_of(0)),
    "dim_as_value": _dim_as_value,
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "iota": _with_sizes,
    "pad": _pad,
    "reduce_and": _reduction(_sum_of(True)),
    "reduce_max": _reduction(_lowest),
    "reduce_min": _reduction(_highest),
    "reduce_or": _reduction(_sum_of(False)),
    "reduce_prod": _reduction(_sum_of(1)),
    "reduce_sum": _reduction(_sum_of(0)),
    "reshape": _reshape,
    "rev": _rev,
    "scatter": _scatter,
    "scatter-add": _scatter_add,
    "scatter_add": _scatter_add,
    "slice": _slice,
    "sort": _sort,
    "split": _split,
    # What is behind the true size may be anything.
    "stratax_watch": lambda settler, equation, operand: [],
    "tile": _tile,
    "unstack": _unstack,
}
