"""Packages for images are imported when they are needed, and named when they are missing."""

import os
import subprocess
import sys

import pytest

from stratax.errors import MissingPackageError
from stratax.image import _packages


@pytest.mark.parametrize(("module", "name"), [("simplejpeg", "simplejpeg"), ("PIL.Image", "pillow")])
def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    _packages.package.cache_clear()
    with pytest.raises(
        MissingPackageError, match=rf"package {name}, .*pip install 'stratax-train\[images\]'"
    ):
        _packages.package(module)


@pytest.mark.processes
def test_operations_on_numpy_arrays_import_neither_jax_nor_keras():
    program = """
import sys
import numpy as np
from stratax import image
assert not {"jax", "keras", "numba", "PIL", "simplejpeg"} & set(sys.modules)
photo = image.decode_jpeg(image.encode_jpeg(np.zeros((9, 9, 3), np.uint8)))
photo = image.resize(image.random_flip_left_right(photo), (7, 7), "bicubic")
photo = image.stateless_random_crop(image.random_contrast(photo, 0.5, 1.5), (5, 5, 3), (1, 2))
image.per_image_standardization(image.adjust_hue(photo, 0.1))
assert not {"jax", "keras"} & set(sys.modules)
"""
    # Simulated devices need JAX from the start.
    environment = {name: value for name, value in os.environ.items() if name != "STRATAX_SIMULATE"}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, env=environment)
