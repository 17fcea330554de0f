"""Modules of `stratax.tf` that are a stub alone."""

import importlib
import importlib.util
import inspect
import os
import pathlib
import pickle
import subprocess
import sys

import cloudpickle
import pytest

import stratax.tf as tf
from stratax.base import doors

FOLDER = pathlib.Path(tf.__file__).parent
STUBS = sorted(path for path in FOLDER.rglob("*.pyi") if not path.with_suffix(".py").exists())


def module_of(stub):
    return importlib.import_module(
        ".".join(["stratax.tf", *stub.relative_to(FOLDER).with_suffix("").parts]).removesuffix(".__init__")
    )


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: str(stub.relative_to(FOLDER)))
def test_a_stub_is_a_module_with_its_docstring(stub):
    module = module_of(stub)
    assert module.__doc__
    assert inspect.getsource(module) == stub.read_text("utf-8")
    assert module.__all__ == sorted(doors.read_table(module.__name__, str(stub)))
    assert module.__spec__.submodule_search_locations == (
        [str(stub.parent)] if stub.name == "__init__.pyi" else None
    )


def test_only_what_has_code_is_a_file_of_python_beside_a_stub():
    beside = [path for path in FOLDER.rglob("*.pyi") if path.with_suffix(".py").exists()]
    assert sorted(str(path.relative_to(FOLDER)) for path in beside) == ["__init__.pyi", "logging.pyi"]


@pytest.mark.parametrize("name", ["stratax.tf.nn", "stratax.tf.io.gfile", "stratax.tf._inside.tf2"])
def test_python_finds_a_stub_before_it_is_imported(name):
    code = (
        f"import importlib.util, sys, stratax.tf; sys.modules.pop({name!r}, None); "
        f"spec = importlib.util.find_spec({name!r}); print(spec.origin); "
        f"assert spec.loader.get_source({name!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert pathlib.Path(done.stdout.strip()).suffix == ".pyi"


def test_what_a_stub_names_is_pickled_by_its_module():
    for module in (tf.nn, tf.keras.layers):
        assert pickle.loads(cloudpickle.dumps(module)) is module


def test_a_stub_elsewhere_is_no_module(tmp_path, monkeypatch):
    (tmp_path / "house.pyi").write_text('"""A stub."""\n')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'house'"):
        importlib.import_module("house")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("stratax.tf.nn", r"tf\.nn has no name 'knob' here"),
        ("stratax.tf._inside.tf2", r"module 'stratax\.tf\._inside\.tf2' has no attribute 'knob'"),
    ],
)
def test_a_name_that_is_not_there_is_refused_as_by_other_doors(module, message):
    with pytest.raises(AttributeError, match=message):
        _ = importlib.import_module(module).knob
