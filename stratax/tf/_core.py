"""What stands on JAX and Keras and has the same name here (tf layer)."""

import keras as keras
from jax import Array as Tensor

from stratax.cluster import device as device
from stratax.core import GradientTape as GradientTape
from stratax.core import UnconnectedGradients as UnconnectedGradients
from stratax.core import Variable as Variable
from stratax.core import function as function
from stratax.core import print as print
from stratax.core import range as range

__all__ = [
    "GradientTape",
    "Tensor",
    "UnconnectedGradients",
    "Variable",
    "device",
    "function",
    "keras",
    "print",
    "range",
]
