"""Devices that tests of rehearsals compile for, and whether there is a compiler for TPUs."""

import importlib.util

import pytest

from stratax.command.rehearsal import parse_topology as topology_of

__all__ = ["DEVICES", "needs_libtpu", "topology_of"]

DEVICES = [f"/cpu:{index}" for index in range(8)]
needs_libtpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None,
    reason="needs XLA's compiler for TPUs: pip install 'stratax-train[tpu-compile]'",
)
