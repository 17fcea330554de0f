"""Functions of each row: `tf.map_fn`, `tf.vectorized_map`, `tf.scan`, `tf.foldl`, `tf.foldr` (ops layer).

Eagerly, and in the functions of a pipeline, they call Python once for each row. In a compiled function they are one
loop, whose body is traced once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import as_numbers, is_tracing
from stratax.base.typing import Array, PyTree, TensorLike
from stratax.core import autograph, control
from stratax.data import elements
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.arrays import _ragged_rows, arrays
from stratax.tensorflow.ops.calls._host import is_numpy
from stratax.tensorflow.ops.calls.creation import convert_to_tensor
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.calls.text import holds_text
from stratax.tensorflow.ops.control.flow import as_tensors, is_compiled, parts_of


def _rows_of(elems: PyTree, what: str) -> tuple[list[Any], Any, int]:
    """Return the arrays of `elems`, their structure, and how many rows they have."""
    leaves, structure = parts_of(as_tensors(elems))
    sizes = [np.shape(leaf)[0] if np.ndim(leaf) else None for leaf in leaves]
    if not leaves or None in sizes:
        raise BadArgumentError(
            f"{what} goes through the first dimension of elems. Expected: arrays of at least one dimension. "
            f"Received: elems={shown(elems)}. A list is a structure of arrays: stack it with tf.stack."
        )
    if len(set(sizes)) > 1:
        raise BadArgumentError(
            f"{what} goes through the first dimension of elems, which must be the same in all of them. "
            f"Received: {shown(sizes)}."
        )
    return leaves, structure, sizes[0]  # type: ignore[return-value]


def _row(leaves: list[Any], structure: object, index: object) -> Any:
    return elements.unflatten(structure, [leaf[index] for leaf in leaves])


def _specs(signature: PyTree, structure: object, leaves: list[Any]) -> tuple[list[Any], Any]:
    """Return the dtypes that results are declared with, and their structure; by default those of the elements."""
    if signature is None:
        return [_dtype_of(leaf) for leaf in leaves], structure
    return elements.flatten(signature, lambda part: hasattr(part, "dtype") or isinstance(part, type))


def _results(made: PyTree, dtypes: list[Any], structure: object, what: str) -> list[Any]:
    """Return a function's results, which have to be what was declared, as tensors."""
    leaves, found = parts_of(made)
    if found != structure:
        raise BadArgumentError(
            f"{what} returned another structure than was declared. Expected: {structure}. Received: {shown(made)}. "
            "Declare it with fn_output_signature; by default it is that of elems."
        )
    return [_declare(leaf, dtype, what) for leaf, dtype in zip(leaves, dtypes, strict=True)]


def _declare(leaf: TensorLike, declared: Any, what: str) -> Any:
    dtype = as_dtype(getattr(declared, "dtype", declared))
    # Python's numbers take the dtype that was declared; tensors have to have it.
    if isinstance(leaf, bool | int | float | complex):
        return convert_to_tensor(leaf, dtype)
    leaf = as_tensors(leaf)
    found = _dtype_of(leaf)
    # A device may have 32 bits where 64 were declared.
    if found != dtype and str(found) != _on_device(dtype):
        raise BadTypeError(
            f"{what} returned another dtype than was declared. Expected: {dtype}. Received: {found}. Declare it: "
            f"fn_output_signature=tf.{found}; by default it is that of elems."
        )
    return leaf


def _dtype_of(leaf: Array) -> Any:
    return np.dtype(object) if holds_text(leaf) else leaf.dtype


def _on_device(dtype: np.dtype) -> str:
    return str(dtype) if dtype.hasobject else device_dtype(dtype)


@op(name_after="infer_shape")
def map_fn(
    fn: Callable[[Any], Any],
    elems: PyTree,
    dtype: PyTree = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    fn_output_signature: PyTree = None,
) -> Any:
    """Call a function with each row of tensors and stack what it returns, as `tf.map_fn`.

    Args:
        fn: Takes one row, in the structure of `elems`.
        elems: A tensor, or a nested structure of tensors of one first dimension; outside of compiled functions also
            RaggedTensors and SparseTensors.
        dtype: The older name of `fn_output_signature`.
        parallel_iterations: Ignored.
        back_prop: Ignored: use `tf.stop_gradient`.
        swap_memory: Ignored.
        infer_shape: Ignored.
        fn_output_signature: The dtypes or `TensorSpec` of what `fn` returns, in its structure; by default those of
            `elems`.

    Returns:
        The structure that `fn` returns, with one more dimension in front.

    Raises:
        BadArgumentError: If a tensor of `elems` is a scalar, their first dimensions differ, or `fn` returns another
            structure than was declared.
        BadTypeError: If `fn` returns another dtype than was declared.

    Example:
        >>> import numpy as np
        >>> import stratax.tf as tf
        >>> tf.map_fn(lambda row: row.sum(), np.arange(6).reshape(3, 2)).numpy()
        array([1, 5, 9])
    """
    what = "The function of `tf.map_fn`"
    # TensorFlow 1 calls it `dtype`.
    signature = dtype if fn_output_signature is None else fn_output_signature
    if not is_tracing() and (
        _ragged_rows.declares_composites(signature) or _ragged_rows.has_composites(elems)
    ):
        return _ragged_rows.map_rows(fn, elems, fn_output_signature=signature)
    leaves, structure, count = _rows_of(elems, "`tf.map_fn`")
    dtypes, declared = _specs(signature, structure, leaves)

    def of_row(row: PyTree) -> list[Any]:
        return _results(fn(row), dtypes, declared, what)

    # The function is not called: there are no rows of what was declared.
    if not count:
        made = [_empty(spec) for spec in dtypes]
    # Text enters no program: its rows are gone through now.
    elif is_compiled(leaves) and not any(map(holds_text, leaves)):
        converted = autograph.convert(fn)

        def of_parts(parts: list[Any]) -> list[Any]:
            return _results(converted(elements.unflatten(structure, parts)), dtypes, declared, what)

        made = control.for_rows([convert_to_tensor(leaf) for leaf in leaves], of_parts, keep=True)
    else:
        rows = [of_row(_row(leaves, structure, index)) for index in range(count)]
        made = [arrays.stack(list(column)) for column in zip(*rows, strict=True)]
    return elements.unflatten(declared, made)


def _empty(spec: Any) -> Any:
    """Return no rows of what was declared."""
    sizes = getattr(spec, "shape", None) if hasattr(spec, "is_compatible_with") else None
    known = [0 if size is None else size for size in sizes or ()]
    return arrays.cast(np.zeros((0, *known), np.float32), as_dtype(getattr(spec, "dtype", spec)))


def vectorized_map(
    fn: Callable[[Any], Any], elems: PyTree, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Call a function once for all rows of tensors, as `tf.vectorized_map`: what it does of one row is done of all.

    It is `jax.vmap`. Arrays of NumPy's are gone through row by row, on the host.

    Args:
        fn: Takes one row, in the structure of `elems`. It assigns no variables.
        elems: A tensor, or a nested structure of tensors of one first dimension; or of 1, whose row is there for all.
        fallback_to_while_loop: Ignored: everything that can be traced has a form for many rows.
        warn: Ignored.

    Returns:
        The structure that `fn` returns, with one more dimension in front.

    Raises:
        BadArgumentError: If a tensor of `elems` is a scalar, or their first dimensions differ.
    """
    leaves, structure = parts_of(as_tensors(elems))
    counts = {np.shape(leaf)[0] for leaf in leaves if np.ndim(leaf)}
    # What has one row has it for all rows of the others, as in TensorFlow.
    if len(counts) == 2 and 1 in counts:
        count = max(counts) if 0 not in counts else 0
        leaves = [
            arrays.broadcast_to(leaf, (count, *np.shape(leaf)[1:])) if np.ndim(leaf) else leaf
            for leaf in leaves
        ]
    leaves, _, count = _rows_of(leaves, "`tf.vectorized_map`")
    # On the host as a loop: `vmap` would bring the rows to a device.
    if count and all(map(is_numpy, leaves)):
        found = [parts_of(as_tensors(fn(_row(leaves, structure, index)))) for index in range(count)]
        columns = zip(*(parts for parts, _ in found), strict=True)
        return elements.unflatten(found[0][1], [arrays.stack(list(column)) for column in columns])
    import jax

    def of_row(parts: list[Any]) -> Any:
        return as_tensors(fn(elements.unflatten(structure, parts)))

    return jax.vmap(of_row, axis_size=count)([convert_to_tensor(leaf) for leaf in leaves])


@op
def scan(
    fn: Callable[[Any, Any], Any],
    elems: PyTree,
    initializer: PyTree = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
) -> Any:
    """Fold rows of tensors into a value and return all values on the way, as `tf.scan`.

    Args:
        fn: Takes the value so far and a row, and returns the next value.
        elems: A tensor, or a nested structure of tensors of one first dimension.
        initializer: The value before the first row; by default the first row is, and is the first result.
        parallel_iterations: Ignored.
        back_prop: Ignored: use `tf.stop_gradient`.
        swap_memory: Ignored.
        infer_shape: Ignored.
        reverse: Whether to begin with the last row; results stay beside their rows.

    Returns:
        The structure of the value, with one more dimension in front.

    Raises:
        BadArgumentError: If a tensor of `elems` is a scalar, their first dimensions differ, there are no rows and no
            initializer, or `fn` returns another structure than it is given.
    """
    return _fold("`tf.scan`", fn, elems, initializer, reverse=reverse, keep=True)


@op
def foldl(
    fn: Callable[[Any, Any], Any],
    elems: PyTree,
    initializer: PyTree = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
) -> Any:
    """Fold rows of tensors into a value, from the first to the last, as `tf.foldl`.

    The arguments are those of :func:`scan`, which returns all values on the way.
    """
    return _fold("`tf.foldl`", fn, elems, initializer, reverse=False, keep=False)


@op
def foldr(
    fn: Callable[[Any, Any], Any],
    elems: PyTree,
    initializer: PyTree = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
) -> Any:
    """Fold rows of tensors into a value, from the last to the first, as `tf.foldr`.

    The arguments are those of :func:`scan`, which returns all values on the way.
    """
    return _fold("`tf.foldr`", fn, elems, initializer, reverse=True, keep=False)


def _fold(
    what: str, fn: Callable[[Any, Any], Any], elems: object, initializer: object, *, reverse: bool, keep: bool
) -> Any:
    leaves, structure, count = _rows_of(elems, what)
    begins_with_row = initializer is None
    if begins_with_row and not count:
        raise BadArgumentError(
            f"{what} begins with the first row of elems, and there is none. Pass initializer=, the value before it."
        )
    if begins_with_row:
        first = _row(leaves, structure, count - 1 if reverse else 0)
    else:
        first = as_tensors(initializer)
    value, declared = parts_of(first)
    dtypes = [_dtype_of(leaf) for leaf in value]
    compiled = is_compiled([*leaves, *value]) and not any(map(holds_text, leaves))
    if compiled:
        fn = autograph.convert(fn)
        leaves = [convert_to_tensor(leaf) for leaf in leaves]
        value = [convert_to_tensor(leaf) for leaf in value]

    def step(parts: list[Any], index: TensorLike) -> list[Any]:
        made = fn(elements.unflatten(declared, parts), _row(leaves, structure, index))
        return _results(made, dtypes, declared, f"The function of {what}")

    # The row that is the first value is not folded into it.
    start = int(begins_with_row)
    if compiled:
        value, kept = _fold_compiled(step, value, count, start, reverse=reverse, keep=keep)
    else:
        rows = [value] * start
        for number in range(start, count):
            value = step(value, count - 1 - number if reverse else number)
            rows.append(value)
        # In the order of rows, also where the last came first.
        columns = zip(*(rows[::-1] if reverse else rows), strict=True)
        kept = [arrays.stack(list(column)) for column in columns] if keep and rows else []
    if keep and not count:
        # No values, in the shape and dtype of the first one.
        kept = [arrays.reshape(leaf, (1, *np.shape(leaf)))[:0] for leaf in value]
    return elements.unflatten(declared, kept if keep else value)


def _fold_compiled(
    step: Callable[[list[Any], Any], list[Any]],
    value: list[Any],
    count: int,
    start: int,
    *,
    reverse: bool,
    keep: bool,
) -> tuple[list[Any], list[Any]]:
    """Return the last value, and all values in the order of the rows, of a fold in the program that is traced."""
    import jax.numpy as jnp

    from stratax.core import range as loop_range

    def place(number: int | Array) -> Any:
        return count - 1 - number if reverse else number

    kept = [jnp.zeros((count, *leaf.shape), leaf.dtype) for leaf in value] if keep else []
    # The first row is a value on the way, too.
    if start and keep:
        kept = [rows.at[as_numbers(place(0))].set(leaf) for rows, leaf in zip(kept, value, strict=True)]

    def fold(state: tuple[list[Any], list[Any]], number: Array) -> Any:
        index = place(number)
        made = step(state[0], index)
        # Without `keep` there are no rows to write to.
        return made, [rows.at[index].set(leaf) for rows, leaf in zip(state[1], made, strict=False)]

    return control.reduce(loop_range(start, count), (value, kept), fold)
