"""Stratax: TensorFlow's distribution model on JAX and Keras 3.

`import stratax as sx`, or, for a program that comes from TensorFlow, `import stratax.tf as tf`.

The names stand in `__init__.pyi` and are imported when they are first used: what needs neither JAX nor Keras loads
neither.
"""

import os as _os

from stratax.base import doors as _doors
from stratax.base import providers as _providers
from stratax.startup import command as _command
from stratax.startup import libtpu as _libtpu
from stratax.startup import malloc as _malloc
from stratax.startup import xla_flags as _xla_flags
from stratax.startup.backend import choose_backend as _choose_backend
from stratax.startup.backend import hook_keras as _hook_keras

# As the reference has them; those of TensorFlow's names open with it.
_doors.open_to_users("stratax.data", "stratax", "stratax.train", "stratax.cli", "stratax.rehearsal")
_doors.open_to_users("stratax.feature_column", "stratax.servers", "stratax.serving", "stratax.v1")
_doors.open_to_users("stratax.convert.beam")
_malloc.install()
with _command.tell_without_a_traceback():
    _choose_backend()
_hook_keras("stratax.keras", after=("stratax.distribute", "stratax.engine"))
_xla_flags.install()
_libtpu.install()
_providers.provide("checkpoint formats", "stratax.tensorflow.checkpoints._tensorflow_format")
_providers.provide("fit on workers", "stratax.parameter_servers.fit")
_providers.provide("the host's part of exports", "stratax.tensorflow.exports.host")
_providers.provide("SavedModels of TensorFlow", "stratax.tensorflow.saved_models.serving")
_providers.provide("columns of exports", "stratax.tensorflow.feature_column._exported")
_providers.provide("calls with ragged operands", "stratax.tensorflow.ops.arrays._ragged_operands")
_providers.provide("text in models", "stratax.tensorflow.keras2.text_models")
_providers.provide("calls with symbolic tensors", "stratax.tensorflow.keras2.symbolic_calls")

if _os.environ.get("STRATAX_SIMULATE", "").strip():
    from stratax.cluster import simulate_from_environment as _simulate_from_environment

    with _command.tell_without_a_traceback():
        _simulate_from_environment()

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
