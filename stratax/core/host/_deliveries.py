"""Values that leave a running program for the host, without the program waiting for anybody (core layer).

Unlike `stratax.print` and JAX' callbacks, who receives a delivery can't fail: what it raises is shown, and the
program goes on. So variables' buffers may be overwritten, and nobody waits for the program before the next one.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jax_core

from stratax.core import regions
from stratax.seams import jax as seam

# `deliver_p.bind(*arrays, receive=function of NumPy arrays)`
deliver_p = jax_core.Primitive("stratax_deliver")
deliver_p.multiple_results = True
seam.lower_as_delivery(deliver_p)

_logger = logging.getLogger("stratax")


def deliver(
    receive: Callable[..., None],
    arrays: Sequence[Any],
    wanted: Any = True,
    prepare: Callable[..., tuple[Any, ...]] = lambda *arrays: arrays,
) -> None:
    """Have values handed to a function on the host whenever the program that is traced comes to this point.

    Of several replicas the first one's are. Deliveries of one place in a program come in the order in which it passes
    there; those of different places in none.

    Args:
        receive: Takes the values as NumPy arrays of its own, on a thread of the runtime: it should be quick.
        arrays: The values: tracers and constants.
        wanted: Whether to, a boolean or a traced one.
        prepare: Computes what is handed over from the values, on the device and only where it is wanted.
    """
    region = regions.current_region()
    first = True if region is None else region.is_first_party()
    values = [jax.lax.stop_gradient(jnp.asarray(array)) for array in arrays]
    if first is True and jax.process_count() > 1:
        # Each process could decide otherwise, and what a branch computes may take collectives of all of them: the
        # values go to the host in any case.
        deliver_p.bind(jnp.asarray(wanted), *prepare(*values), receive=_receiver(receive, has_condition=True))
        return
    condition = wanted if first is True else first if wanted is True else first & wanted
    receiver = _receiver(receive, has_condition=False)
    if condition is True:
        deliver_p.bind(*prepare(*values), receive=receiver)
    elif condition is not False:

        def hand_over(*operands: object) -> None:
            deliver_p.bind(*prepare(*operands), receive=receiver)

        jax.lax.cond(condition, hand_over, lambda *_: None, *values)


def _receiver(receive: Callable[..., None], *, has_condition: bool) -> Callable[..., None]:
    def note_received(*delivered: object) -> None:
        try:
            if has_condition:
                wanted, *delivered = delivered  # type: ignore[assignment]
                if not wanted:
                    return
            # Copies: the arrays are views of the program's memory.
            receive(*(np.array(array) for array in delivered))
        except Exception:
            _logger.exception("A value that left a compiled program could not be used.")

    return note_received


def wait_for_deliveries() -> None:
    """Wait until all programs that were dispatched so far have handed over their values."""
    jax.effects_barrier()
