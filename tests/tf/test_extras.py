"""What needs an extra that is not installed is told."""

import pathlib
import tomllib

import pytest

from stratax.tf import _extras, migration

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "extra"),
    [
        ("tf.summary.create_file_writer('logs')", "tensorboard"),
        ("tf.keras.callbacks.TensorBoard('logs')", "tensorboard"),
        ("tf.io.decode_jpeg(content)", "images"),
        ("tf.image.decode_image(content)", "images"),
        ("tf.distribute.ParameterServerStrategy(resolver)", "servers"),
        ("tf.distribute.experimental.ParameterServerStrategy()", "servers"),
    ],
)
def test_what_needs_an_extra_that_is_not_installed_is_told(monkeypatch, text, extra):
    program = f"import tensorflow as tf\n{text}"
    assert [each for each in migration.check_source(program) if each.kind == "missing"] == []
    monkeypatch.setattr(_extras, "_is_installed", lambda package: False)
    (found,) = [each for each in migration.check_source(program) if each.kind == "missing"]
    assert f"pip install 'stratax-train[{extra}]'" in found.message


def test_packages_of_extras_are_those_that_the_package_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    modules = {"PIL": "pillow"}
    for extra, (packages, _) in _extras._EXTRAS.items():
        declared = " ".join(project[extra])
        assert all(modules.get(package, package) in declared for package in packages), extra
