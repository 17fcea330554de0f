"""Strategies in a graph: replicas compute when a session does, in one call (graph layer)."""

from collections.abc import Callable
from typing import Any

from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.core import autograph, do_not_convert
from stratax.errors import UnimplementedError
from stratax.tensorflow.graph._evaluation import Evaluation


def refuse_updates(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replica's function for a call of a graph, which computes and updates nothing.

    What updates variables in TensorFlow's graph runs where it is fetched, and not whenever the replicas do.
    """
    converted = autograph.convert(function)

    @do_not_convert
    def run(*args: Any, **kwargs: Any) -> Any:
        evaluation = RECORDER.get()
        if not isinstance(evaluation, Evaluation):
            return converted(*args, **kwargs)
        scope = evaluation.scope
        # For gradients that the function asks for.
        scope.state.derivatives = max(scope.state.derivatives, 1)
        # Within the replica: what it notes of its values is of use to nobody outside.
        with scope.evaluating(evaluation, differentiates=True):
            result = converted(*args, **kwargs)
            updates = [each.name for each in scope.operations() if not each.does_nothing]
            if updates:
                raise UnimplementedError(
                    "Replicas that a session runs compute, and update no variables. Expected: a function without "
                    f"optimizers and assignments in strategy.run. Received: {shown(function)} with {shown(updates)}. "
                    "Leave out tf.compat.v1.disable_eager_execution() and sessions, or train with tf.estimator."
                )
        return result

    return run
