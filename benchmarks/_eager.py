"""Operations of `stratax.tf` on small arrays, one at a time and outside of functions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import stratax.tf
from benchmarks import _eager_programs, _measure, _peer

_TENSORFLOW = """
import tensorflow as tf
from benchmarks import _eager_programs
run = _eager_programs.program(tf, sys.argv[1])
"""


def against_jax(name: str, plan: _measure.Plan) -> _measure.Figure:
    """An operation, against the one of JAX."""
    ours, theirs = _eager_programs.program(stratax.tf, name), _by_jax(name)
    times = _measure.in_turns(_repeated(ours), _repeated(theirs), plan=plan)
    return _measure.ratio(*times, numerator="stratax", denominator="jax")


def against_tensorflow(name: str, plan: _measure.Plan) -> _measure.Figure:
    """An operation, against TensorFlow's of that name.

    Raises:
        NotInstalledError: There is no TensorFlow, or JAX does not run on the processor.
    """
    if jax.default_backend() != "cpu":
        raise _peer.NotInstalledError("not installed: JAX on the processor alone (JAX_PLATFORMS=cpu)")
    ours = _eager_programs.program(stratax.tf, name)
    with _peer.tensorflow(_TENSORFLOW, name) as theirs:
        times = _measure.in_turns(_repeated(ours), theirs, plan=plan)  # type: ignore[arg-type]
    return _measure.ratio(*times, numerator="stratax", denominator="tensorflow")


def _by_jax(name: str) -> Callable[[], Any]:
    x, y = map(jnp.asarray, _eager_programs.arrays())
    calls: dict[str, Callable[[], Any]] = {
        "add": lambda: jnp.add(x, y),
        "relu": lambda: jax.nn.relu(x),
        "softmax": lambda: jax.nn.softmax(x),
        "matmul": lambda: jnp.matmul(x, y),
        "reduce_sum": lambda: jnp.sum(x),
    }
    return calls[name]


def _repeated(call: Callable[[], Any]) -> _measure.Run:
    def run(count: int) -> None:
        for _ in range(count):
            result = call()
        jax.block_until_ready(result)

    return run
