"""Functions of libraries that are known to change nothing and to depend on nothing but their arguments (data layer).

They are told apart by identity: a function that only bears the name or the module of one of them is not it.
"""

import builtins
import functools
import operator
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

BUILTINS = {
    getattr(builtins, name): name
    for name in (
        "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "int", "len", "list", "max",
        "min", "pow", "range", "reversed", "round", "slice", "sorted", "str", "sum", "tuple", "zip",
    )
}  # fmt: skip

_NUMPY = """
    all allclose amax amin any append arange argmax argmin argsort argwhere around array array_equal asarray
    ascontiguousarray atleast_1d atleast_2d atleast_3d average bincount broadcast_arrays broadcast_shapes broadcast_to
    clip column_stack concat concatenate copy cross cumprod cumsum diag diff digitize dot dsplit dstack einsum
    expand_dims eye flatnonzero flip fliplr flipud full full_like hsplit hstack identity imag inner insert interp
    isclose isin kron linspace max mean meshgrid min moveaxis ndim nonzero ones ones_like outer pad permute_dims prod
    ptp ravel real repeat reshape roll rollaxis rot90 round searchsorted shape size sort split squeeze stack std sum
    swapaxes take take_along_axis tensordot tile trace transpose tri tril triu unique var vdot vsplit vstack where
    zeros zeros_like
"""
# Operations on arrays, and what makes a function of a function: the inner one is looked at by itself.
_PUBLIC = {
    "numpy.fft": (),
    "numpy.linalg": (),
    "math": (),
    "operator": ("attrgetter", "call", "delitem", "itemgetter", "methodcaller", "setitem"),
    "jax.image": (),
    "jax.lax": ("create_token", "infeed", "outfeed", "rng_bit_generator", "rng_uniform"),
    "jax.nn": (),
    "jax.numpy": (
        "apply_along_axis", "apply_over_axes", "from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter",
        "frompyfunc", "fromstring", "get_printoptions", "load", "printoptions", "save", "savez", "set_printoptions",
        "vectorize",
    ),
    "jax.numpy.fft": (),
    "jax.numpy.linalg": (),
    "jax.scipy.special": (),
    "keras.activations": ("deserialize", "get", "serialize"),
    "keras.ops": ("custom_gradient", "device_scope"),
    "keras.ops.image": (),
    "keras.ops.linalg": (),
    "keras.ops.nn": (),
    "keras.ops.numpy": (),
    "stratax.image": (
        "adjust_jpeg_quality", "combined_non_max_suppression", "crop_and_resize", "draw_bounding_boxes",
        "extract_glimpse", "non_max_suppression", "non_max_suppression_overlaps", "non_max_suppression_padded",
        "non_max_suppression_with_scores", "random_jpeg_quality", "sample_distorted_bounding_box",
        "stateless_random_jpeg_quality", "stateless_sample_distorted_bounding_box",
    ),
}  # fmt: skip
_SINGLE = {
    "jax": ("grad", "jit", "value_and_grad", "vmap"),
    "jax.tree": ("map",),
    "stratax.data.examples._decode_raw": ("decode_raw",),
    "stratax.data.examples._features": ("FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature"),
    "stratax.data.examples._parse": ("parse_example", "parse_single_example"),
    "stratax.data.elements._sparse": ("SparseTensor",),
    "stratax.data.elements._tensor_shape": ("TensorShape",),
}
# Of packages that stand above, which register theirs: what is left out, by module.
_registered: dict[str, Collection[str]] = {}
# Methods of a ufunc that give a new array.
UFUNC_METHODS = ("accumulate", "outer", "reduce", "reduceat")


def register_pure(modules: Mapping[str, Collection[str]]) -> None:
    """Say of modules that the functions which they define change nothing and depend on their arguments alone.

    Args:
        modules: By the full name of a module, its public functions of which that is not true. Those of random numbers
            are left out in any case.
    """
    _registered.update(modules)


def is_known(function: Callable[..., Any]) -> bool:
    """Return whether `function` is one of them."""
    # By identity: an object may define `==` to mean anything.
    return any(function is known for known in _functions(_find_loaded()).get(id(function), ()))


def _find_loaded() -> tuple[str, ...]:
    """Return which of the modules this process has imported; where none of JAX is, no function of it can be met."""
    return tuple(name for name in ("numpy", *_PUBLIC, *_SINGLE, *_registered) if name in sys.modules)


@functools.lru_cache(maxsize=8)
def _functions(modules: tuple[str, ...]) -> dict[int, list[Callable[..., Any]]]:
    found: dict[int, list[Callable[..., Any]]] = {}
    for module in modules:
        for function in _functions_of(module):
            found.setdefault(id(function), []).append(function)
    return found


def _functions_of(name: str) -> Iterator[Callable[..., Any]]:
    module = sys.modules[name]
    if name == "numpy":
        yield from (value for value in vars(np).values() if isinstance(value, np.ufunc))
        yield from (getattr(np, function) for function in _NUMPY.split() if hasattr(np, function))
    for function in _SINGLE.get(name, ()):
        yield getattr(module, function)
    if name in _PUBLIC:
        yield from _public_functions(module, _PUBLIC[name])
    # What a module imports is judged in its own module.
    for value in _public_functions(module, _registered[name]) if name in _registered else ():
        if getattr(value, "__module__", "").startswith(name):
            yield value


def _public_functions(module: types.ModuleType, left_out: Collection[str]) -> Iterator[Callable[..., Any]]:
    in_place = {f"i{operation}" for operation in vars(operator)} if module is operator else ()
    for key in getattr(module, "__all__", None) or list(vars(module)):
        if key.startswith("_") or "random" in key or key in left_out or key in in_place:
            continue
        value = getattr(module, key)
        if callable(value) and not isinstance(value, type | types.ModuleType):
            yield value


def is_dtype(value: object) -> bool:
    """Return whether a value is `np.float32` or its like, those of `jax.numpy` included."""
    if isinstance(value, type) and issubclass(value, np.generic):
        return value.__module__ in ("numpy", "ml_dtypes")
    return type(value).__name__ == "_ScalarMeta" and type(value).__module__.startswith("jax.")


def is_plain_library(name: str) -> bool:
    """Return whether a module of that name is of a known library, of which reading names does nothing else."""
    return name.split(".")[0] in (
        "jax",
        "keras",
        "math",
        "ml_dtypes",
        "numpy",
        "operator",
        "_operator",
        "stratax",
    )
