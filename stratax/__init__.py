"""Stratax: TensorFlow's distribution model on JAX and Keras 3.

`import stratax as sx`, or, for a program that comes from TensorFlow, `import stratax.tf as tf`.
"""

from stratax._backend import choose_backend as _choose_backend

_choose_backend()

from stratax.cluster import simulate_from_environment as _simulate_from_environment  # noqa: E402

_simulate_from_environment()

from stratax import cluster as cluster  # noqa: E402
from stratax import core as core  # noqa: E402
from stratax import data as data  # noqa: E402
from stratax import distribute as distribute  # noqa: E402
from stratax import errors as errors  # noqa: E402
from stratax import keras as keras  # noqa: E402
from stratax import tpu as tpu  # noqa: E402
from stratax._version import __version__ as __version__  # noqa: E402
from stratax.cluster import simulate_devices as simulate_devices  # noqa: E402
from stratax.core import Function as Function  # noqa: E402
from stratax.core import GradientTape as GradientTape  # noqa: E402
from stratax.core import OutOfRangeError as OutOfRangeError  # noqa: E402
from stratax.core import UnconnectedGradients as UnconnectedGradients  # noqa: E402
from stratax.core import Variable as Variable  # noqa: E402
from stratax.core import do_not_convert as do_not_convert  # noqa: E402
from stratax.core import function as function  # noqa: E402
from stratax.core import print as print  # noqa: E402
from stratax.core import range as range  # noqa: E402
from stratax.core import value_and_grad as value_and_grad  # noqa: E402
from stratax.data import Dataset as Dataset  # noqa: E402
from stratax.distribute import detect_strategy as detect_strategy  # noqa: E402

__all__ = [
    "Dataset",
    "Function",
    "GradientTape",
    "OutOfRangeError",
    "UnconnectedGradients",
    "Variable",
    "__version__",
    "cluster",
    "core",
    "data",
    "detect_strategy",
    "distribute",
    "do_not_convert",
    "errors",
    "function",
    "keras",
    "print",
    "range",
    "simulate_devices",
    "tpu",
    "value_and_grad",
]
