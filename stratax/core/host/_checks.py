"""Assertions of running programs, which reach the caller as errors (core layer).

A program can't raise: of several replicas one would leave the others waiting in a collective for ever. So it hands over
what did not hold (as `_deliveries` does) and runs on to its end; then `Program` raises, before any variable gets a
value. Where the devices are those of several processes, these tell one another whether to: all of them raise, or none.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jax_core
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.core import jaxprs, regions
from stratax.seams import jax as seam

# `check_p.bind(holds, *arrays, receive=Site)`
check_p = jax_core.Primitive("stratax_check")
check_p.multiple_results = True
seam.lower_as_delivery(check_p)


@dataclasses.dataclass(slots=True, weakref_slot=True, eq=False)
class Site:
    """Where a program asserts something.

    Attributes:
        describe: Makes the error's message of the arrays that were handed over.
        failures: The messages of the runs that nobody has been told of.
    """

    describe: Callable[..., str]
    failures: collections.deque[str] = dataclasses.field(default_factory=collections.deque)

    def __call__(self, holds: Any, *arrays: Any) -> None:
        """Take what a running program hands over."""
        if not np.all(holds):
            self.failures.append(self.describe(*(np.array(array) for array in arrays)))


def check(holds: object, arrays: Sequence[Any], describe: Callable[..., str]) -> None:
    """Raise unless something holds: at once if it is known, else when the program that is traced has run.

    Args:
        holds: A boolean without dimensions: of Python, NumPy or JAX, or a tracer.
        arrays: What the message tells.
        describe: Makes the message of `arrays`, as NumPy arrays.

    Raises:
        BadArgumentError: It is known that it does not hold.
    """
    if not isinstance(holds, jax.core.Tracer):
        if not holds and not any(isinstance(array, jax.core.Tracer) for array in arrays):
            raise errors.BadArgumentError(describe(*(np.asarray(array) for array in arrays)))
        if holds:
            return
    site = Site(describe)
    values = [jax.lax.stop_gradient(jnp.asarray(array)) for array in arrays]
    flag = jnp.asarray(holds)
    if regions.current_region() is None:
        # A program of JAX' own: its callbacks are all that can raise there.
        jax.debug.callback(_raising(site), flag, *values)
    elif jax.process_count() > 1:
        # Each process could decide otherwise, and to bring the values together may take a collective of all.
        check_p.bind(flag, *values, receive=site)
    else:
        jax.lax.cond(flag, lambda *_: None, lambda *all_: _hand_over(site, *all_), flag, *values)


def _hand_over(site: Site, *operands: object) -> None:
    check_p.bind(*operands, receive=site)


def _raising(site: Site) -> Callable[..., None]:
    def note_received(*operands: object) -> None:
        site(*operands)
        if site.failures:
            raise errors.BadArgumentError(site.failures.popleft())

    return note_received


def sites_of(jaxpr: jax.extend.core.Jaxpr, parts_of: Callable[[Any], Iterable[Any]]) -> list[Site]:
    """Return where a jaxpr, or one inside it, asserts something.

    Args:
        jaxpr: The jaxpr.
        parts_of: Gives the jaxprs inside an equation.
    """
    equations = jaxprs.walk_nested(jaxpr, parts_of)
    return [equation.params["receive"] for equation in equations if equation.primitive is check_p]


def raise_failures(sites: Sequence[Site], placement: Any) -> None:
    """Raise if a program that has run to its end asserted what did not hold.

    Args:
        sites: Where it asserts; where it does not, nothing happens.
        placement: Where its devices are, or None. If they are those of several processes, all have to call this.

    Raises:
        BadArgumentError: An assertion failed, here or in another process.
    """
    if not sites:
        return
    # The last of what was handed over may still be on its way when the results are there.
    jax.effects_barrier()
    messages = [site.failures.popleft() for site in sites for _ in range(len(site.failures))]
    if placement is None or placement.is_fully_addressable:
        failed = bool(messages)
    else:
        failed = _is_true_anywhere(bool(messages), placement)
    if failed:
        raise errors.BadArgumentError(
            messages[0]
            if messages
            else "An assertion failed in another worker, whose own error says which. No worker goes on."
        )


def _is_true_anywhere(value: bool, placement: Any) -> bool:
    """Return whether a value is true in one of the processes at least, which all ask."""
    devices = np.array(sorted(placement.device_set, key=lambda device: device.id))
    mesh = Mesh(devices, ("all",))
    flags = jax.make_array_from_callback(
        (len(devices),), NamedSharding(mesh, PartitionSpec("all")), lambda index: np.array([value])
    )
    most = jax.jit(jnp.any, out_shardings=NamedSharding(mesh, PartitionSpec()))(flags)
    return bool(np.asarray(most.addressable_data(0)))
