"""Examples of public classes and their methods are found where they are written, whatever module the classes show."""

import doctest
import importlib

import pytest

import stratax as sx
from tools import doctests


@pytest.mark.parametrize("name", ["Dataset", "Dataset.interleave"])
def test_examples_of_classes_that_a_door_shows_are_found_once(monkeypatch, name):
    assert sx.data.Dataset.__module__ == "stratax.data"
    monkeypatch.setattr(doctest.DocTestFinder, "_from_module", None)
    doctests.pytest_configure()
    found = {
        place: [
            each.name
            for each in doctest.DocTestFinder().find(importlib.import_module(place))
            if each.examples
        ]
        for place in ("stratax.data", "stratax.data.dataset._dataset")
    }
    assert f"stratax.data.dataset._dataset.{name}" in found["stratax.data.dataset._dataset"]
    assert f"stratax.data.{name}" not in found["stratax.data"]
