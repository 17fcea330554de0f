"""Modules that packages above register as pure."""

import sys
import types

import numpy as np

from stratax.data.vectorise import _known_pure


def test_of_a_registered_module_its_own_public_functions_are_known_but_for_those_left_out(monkeypatch):
    monkeypatch.setattr(_known_pure, "_registered", {})
    module = types.ModuleType("registered_as_pure")
    exec("def double(x): ...\ndef drop(x): ...\ndef random_double(x): ...\ndef _half(x): ...", vars(module))
    module.loaded = np.load
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert not _known_pure.is_known(module.double)
    _known_pure.register_pure({module.__name__: ("drop",)})
    names = ("double", "drop", "random_double", "_half", "loaded")
    assert [name for name in names if _known_pure.is_known(getattr(module, name))] == ["double"]
