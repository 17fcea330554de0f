"""Where Keras makes variables outside of compiled functions: restored values reach them there (checkpoint layer)."""

import functools
from collections.abc import Callable
from typing import Any

import keras

from stratax.core import host, regions
from stratax.seams import keras as seam


def install() -> None:
    """Put the hooks in place; they cost nothing while no values wait."""
    seam.install(
        "stratax.checkpoint",
        {
            "keras:layers.Layer._maybe_build": _then_settle,
            "keras.src.trainers.trainer:Trainer._symbolic_build": _then_settle,
            # `predict` builds a model without `_symbolic_build`.
            "keras.src.backend.jax.trainer:JAXTrainer.make_predict_function": _then_settle,
            "keras.src.optimizers.base_optimizer:BaseOptimizer.apply": _build_before,
        },
    )


def wait_for_layers(values: host.Waiting) -> None:
    """Have values be given to variables once Keras has made them."""
    install()
    host.wait(values)


def _then_settle(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def build(self: Any, *args: object, **kwargs: object) -> Any:
        # `_maybe_build` is called before every call of a layer; only the first can have made variables.
        was_built = self.built
        result = original(self, *args, **kwargs)
        if host.awaited and (not was_built or isinstance(self, seam.Trainer)):
            host.settle()
        return result

    return build


def _build_before(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def apply(self: Any, grads: object, trainable_variables: Any = None) -> None:
        if host.awaited and not self.built and trainable_variables is not None:
            # It may be an iterator, and is used twice.
            trainable_variables = list(trainable_variables)
            # Some of Keras' optimizers make variables of values, which a scope without state refuses. Named as by
            # Keras itself in `apply`.
            with regions.outside_scopes(), keras.name_scope(self.name):
                self.build(trainable_variables)
            self.built = True
            host.settle()
        original(self, grads, trainable_variables)

    return apply
