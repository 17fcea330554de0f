"""How programs of TensorFlow's users come to Stratax; no module of TensorFlow's (tf layer)."""

from ._check import Finding as Finding
from ._check import check as check
from ._check import check_source as check_source
from ._imports import environment_as_tensorflow as environment_as_tensorflow
from ._private import LocalDevice as LocalDevice
from ._private import list_local_devices as list_local_devices
