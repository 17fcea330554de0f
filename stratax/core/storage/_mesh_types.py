"""Results of replicas as plain values, which any later computation takes (core layer)."""

from typing import Any

import jax
from jax.extend import core as jax_core
from jax.interpreters import ad, batching, mlir

from stratax.base.typing import PyTree

# What :func:`without_mesh` puts into a program: the identity.
without_mesh_p = jax_core.Primitive("stratax_without_mesh")


def without_mesh(values: PyTree) -> Any:
    """Return a structure of traced arrays as they are, of types that don't name a mesh.

    What comes out of `jax.shard_map` carries the mesh in its type, and so does whatever is computed from it. JAX
    (0.10) then refuses to broadcast or select it inside of another `shard_map`: "Context mesh ... should match the
    mesh of sharding". So what one run of replicas has computed would be of no use in the next.

    Args:
        values: Arrays that a `shard_map` has given, in a structure.

    Returns:
        The structure; it costs nothing when the program runs.
    """
    return jax.tree.map(without_mesh_p.bind, values)


without_mesh_p.def_impl(lambda value: value)
without_mesh_p.def_abstract_eval(
    lambda value: jax.core.ShapedArray(value.shape, value.dtype, weak_type=value.weak_type)
)
mlir.register_lowering(without_mesh_p, lambda _, value: [value])
ad.deflinear2(without_mesh_p, lambda cotangent, _: [cotangent])
batching.defvectorized(without_mesh_p)
