"""Names for what recurs in signatures (lowest layer).

They say to the reader what a plain `Any` can't, and to the checker as much as the annotations of JAX and Keras allow.
At run time they are `Any`, because `import stratax` starts neither of the two.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import jax
    import keras
    from numpy.typing import DTypeLike as DTypeLike

    # What an operation takes: an array on the host or on devices, a variable, a number, or nested lists of numbers.
    TensorLike: TypeAlias = jax.typing.ArrayLike | keras.Variable | Sequence[Any]
    # What it has made of that: an array of JAX, or one of NumPy, of which it uses what both have.
    Array: TypeAlias = jax.Array
else:
    Array: TypeAlias = Any
    DTypeLike: TypeAlias = Any
    TensorLike: TypeAlias = Any

# One value, or values in tuples, lists, dicts and the other containers that `jax.tree` knows, nested. The checker can't
# follow leaves through `jax.tree.map`, so which leaves there may be is said where it is used.
PyTree: TypeAlias = Any

# A path as a program writes it: of a local file, or a URL.
StrPath: TypeAlias = str | os.PathLike[str]

# One dimension, several, or all of them.
Axis: TypeAlias = int | Sequence[int] | None
