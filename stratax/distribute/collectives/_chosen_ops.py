"""All-reduces that a program chooses: over two levels, around a ring, on one device (distribute layer)."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import ArrayLike

from stratax.base.shown import shown
from stratax.cluster import device_kind, local_devices, resolve_device
from stratax.distribute.collectives._cross_device_ops import AllReduceCrossDeviceOps
from stratax.distribute.collectives._cross_device_ops_base import Axes
from stratax.errors import BadTypeError, DeviceError

AccumulationFn = Callable[[list[jax.Array]], jax.Array]

# How many hops around a ring are written out; longer ways are a loop. Written out, the 2,046 hops of a pod of 1,024
# devices take XLA minutes to compile.
_HOPS_AT_ONCE = 15


class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """An all-reduce over two levels: reduce-scatter in groups, all-reduce between groups, all-gather in groups.

    For hosts where some pairs of devices are better connected than others, as TensorFlow's for the DGX-1. The
    replicas are split into groups of neighbours, as near to a square as their number allows (8: two groups of
    four). A prime number can't be split and is summed on one level.

    Args:
        num_packs: As for `AllReduceCrossDeviceOps`.
        bytes_per_pack: As for `AllReduceCrossDeviceOps`.
    """

    def sum_buffers(
        self, buffers: Sequence[jax.Array], axis_name: Axes, num_replicas: int
    ) -> Sequence[jax.Array]:
        """Add up each buffer over two levels; see `AllReduceCrossDeviceOps`."""
        num_groups = _num_groups(num_replicas)
        # A prime number of replicas.
        if num_groups == 1:
            return lax.psum(list(buffers), axis_name)
        size = num_replicas // num_groups
        # Neighbours are a group: devices are listed in the order of their links on common hosts.
        inside = [[group * size + member for member in range(size)] for group in range(num_groups)]
        between = [[group * size + member for group in range(num_groups)] for member in range(size)]

        def sum_buffer(buffer: jax.Array) -> jax.Array:
            # Reduce-scatter divides into equal parts.
            flat = _pad(buffer, size)
            part = lax.psum_scatter(flat, axis_name, axis_index_groups=inside, tiled=True)
            part = lax.psum(part, axis_name, axis_index_groups=between)
            flat = lax.all_gather(part, axis_name, axis_index_groups=inside, tiled=True)
            return _unpad(flat, buffer)

        return [sum_buffer(buffer) for buffer in buffers]


class RingAllReduce(AllReduceCrossDeviceOps):
    """An all-reduce around a ring: each replica talks to its two neighbours only.

    Every buffer is cut into one chunk for each replica; the chunks travel round once to be summed and once to
    be handed out, so that a replica sends about twice the buffer whatever the number of replicas (Patarasuk and
    Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).

    Args:
        num_packs: As for `AllReduceCrossDeviceOps`.
        bytes_per_pack: As for `AllReduceCrossDeviceOps`.
    """

    def sum_buffers(
        self, buffers: Sequence[jax.Array], axis_name: Axes, num_replicas: int
    ) -> Sequence[jax.Array]:
        """Add up each buffer around the ring; see `AllReduceCrossDeviceOps`."""
        return [_ring_sum(buffer, axis_name, num_replicas) for buffer in buffers]


class ReductionToOneDevice(AllReduceCrossDeviceOps):
    """Copies everything to one replica, adds it up there, and hands the sum out.

    Args:
        reduce_to_device: The device that adds up: its name or number in `list_logical_devices`, a
            `LogicalDevice` or a JAX device; None: that of the first replica. Device `i` is that of replica `i`.
        accumulation_fn: What makes one array of the list of the replicas' arrays; None: their sum. Given, it sees
            every array by itself, in its own shape; else the arrays of one dtype travel together.
        bytes_per_pack: The largest pack, in bytes, where there is no `accumulation_fn`; 0: 256 KiB.

    Raises:
        BadTypeError: If `accumulation_fn` can't be called.
        BadArgumentError: If both `accumulation_fn` and `bytes_per_pack` are given.
    """

    def __init__(
        self,
        reduce_to_device: object = None,
        accumulation_fn: AccumulationFn | None = None,
        *,
        bytes_per_pack: int = 0,
    ) -> None:
        if accumulation_fn is not None and not callable(accumulation_fn):
            raise BadTypeError(
                "accumulation_fn must be a function of a list of arrays that returns one array. "
                f"Received: accumulation_fn={shown(accumulation_fn)}."
            )
        # A function of the user's sees arrays as they are, and no packs.
        super().__init__(0 if accumulation_fn else 1, bytes_per_pack=bytes_per_pack)
        self._reduce_to_device = reduce_to_device
        self._accumulate = accumulation_fn or _add_all

    def sum_buffers(
        self, buffers: Sequence[jax.Array], axis_name: Axes, num_replicas: int
    ) -> Sequence[jax.Array]:
        """Add up each buffer on one replica; see `AllReduceCrossDeviceOps`.

        Raises:
            DeviceError: If `reduce_to_device` is the device of no replica.
        """
        is_root = lax.axis_index(axis_name) == self._root(num_replicas)

        def sum_buffer(buffer: jax.Array) -> jax.Array:
            def accumulate(every: jax.Array) -> jax.Array:
                return self._accumulate([every[index] for index in range(num_replicas)])

            # SPMD has no gather to one device: all get the values, and one uses them.
            every = lax.all_gather(buffer, axis_name)
            # The function may return another shape or dtype, which the other branch has to match.
            total = jax.eval_shape(accumulate, every)
            total = lax.cond(is_root, accumulate, lambda _: jnp.zeros(total.shape, total.dtype), every)
            # All but one give zeros: the sum hands the total out.
            return lax.psum(total, axis_name)

        return [sum_buffer(buffer) for buffer in buffers]

    def _root(self, num_replicas: int) -> int:
        if self._reduce_to_device is None:
            return 0
        device = resolve_device(self._reduce_to_device)
        root = local_devices(device_kind(device)).index(device)
        if root >= num_replicas:
            raise DeviceError(
                f"reduce_to_device must be the device of one of the {num_replicas} replicas. "
                f"Received: reduce_to_device={shown(self._reduce_to_device)}, which is device {root}."
            )
        return root


def _ring_sum(buffer: jax.Array, axis_name: Axes, num_replicas: int) -> jax.Array:
    chunks = _pad(buffer, num_replicas).reshape(num_replicas, -1)
    here = lax.axis_index(axis_name)
    onward = [(index, (index + 1) % num_replicas) for index in range(num_replicas)]

    def chunk(offset: ArrayLike) -> jax.Array:
        return lax.dynamic_index_in_dim(chunks, (here - offset) % num_replicas, keepdims=False)

    def add(part: jax.Array, hop: jax.Array) -> tuple[jax.Array, None]:
        return lax.ppermute(part, axis_name, onward) + chunk(hop), None

    def hand_on(part: jax.Array, _: object) -> tuple[jax.Array, jax.Array]:
        part = lax.ppermute(part, axis_name, onward)
        return part, part

    # After n - 1 hops the chunk that started at the next replica has passed every other and is complete here.
    hops = jnp.arange(1, num_replicas)
    part, _ = lax.scan(add, chunk(0), hops, unroll=_HOPS_AT_ONCE)
    # Hop h brings the complete chunk of the replica h places back: chunk (here + 1 - h).
    _, later = lax.scan(hand_on, part, length=num_replicas - 1, unroll=_HOPS_AT_ONCE)
    complete = jnp.concatenate([part[None], later])
    # Reversed, the chunks are in order but for a rotation.
    rotated = jnp.flip(complete, axis=0)
    return _unpad(jnp.roll(rotated, here + 2, axis=0), buffer)


def _add_all(arrays: list[jax.Array]) -> jax.Array:
    total = arrays[0]
    for array in arrays[1:]:
        # One after another, in the order of the replicas: the rounding does not depend on the number of
        # devices.
        total = total + array
    return total


def _pad(buffer: jax.Array, multiple: int) -> jax.Array:
    flat = jnp.ravel(buffer)
    return jnp.pad(flat, (0, -flat.size % multiple))


def _unpad(flat: jax.Array, like: jax.Array) -> jax.Array:
    return jnp.ravel(flat)[: like.size].reshape(like.shape)


def _num_groups(num_replicas: int) -> int:
    """Return the largest divisor that is not above the square root."""
    return max(count for count in range(1, int(num_replicas**0.5) + 1) if num_replicas % count == 0)
