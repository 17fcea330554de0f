"""What runs where: strategies, contexts, values of replicas, collectives and distributed input.

Each axis has a folder. Imports point down: `keras_hooks`, `strategies`, `collectives` and `input`, `replicas`.
"""

from stratax.base import doors as _doors
from stratax.distribute import keras_hooks, replicas, strategies

replicas.set_default(strategies.default_strategy)
keras_hooks.install()

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
