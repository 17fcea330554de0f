"""Exports of Estimators have TensorFlow 2.15's signatures: their names, methods, inputs and outputs."""

import json
import pathlib

import pytest

import stratax.tf as tf
from stratax.export import load
from tests.golden import signature_cases

GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "golden" / "signatures.json").read_text())
CASES = signature_cases.cases(tf)
# The others train a model each.
QUICK = ["several from Examples", "several from alternatives"]
# An array has 32 bits: docs/compatibility.md.
WIDTHS = {"int64": "int32"}


def infos(given):
    return {name: [each.dtype, list(each.shape)] for name, each in given.items()}


def narrow(given):
    return {name: [WIDTHS.get(dtype, dtype), shape] for name, (dtype, shape) in given.items()}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder in which all models of one `model_fn` find what the first of them has learned."""
    return tmp_path_factory.mktemp("trained")


def check(name, folder, trained):
    make, receiver = CASES[name]
    kind = name.partition(" from ")[0]
    model = trained if kind in signature_cases.OWN else folder / "model"
    exported = load(make(model).export_saved_model(folder / "export", receiver).decode())
    found = {
        name: [f"tensorflow/serving/{each.method}", infos(each.inputs), infos(each.outputs)]
        for name, each in exported.signatures.items()
    }
    assert found == {
        name: [method, narrow(inputs), narrow(outputs)]
        for name, (method, inputs, outputs) in GOLDEN[name].items()
    }


@pytest.mark.parametrize("name", QUICK)
def test_an_export_has_tensorflows_signatures(name, tmp_path, trained):
    check(name, tmp_path, trained)


@pytest.mark.parametrize("name", sorted(set(CASES) - set(QUICK)))
def test_exports_of_all_kinds_have_tensorflows_signatures(name, tmp_path, trained):
    check(name, tmp_path, trained)


def test_all_that_tensorflow_exported_is_tried():
    assert GOLDEN.keys() == CASES.keys()
