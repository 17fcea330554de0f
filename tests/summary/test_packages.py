"""The package that writes summaries: what it is asked for, and how to install it."""

import sys

import pytest

from stratax import summary
from stratax.errors import MissingPackageError


def test_a_missing_package_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.event_file_writer", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'stratax-train\[tensorboard\]'"):
        summary.create_file_writer(tmp_path)


def test_checksums_are_those_of_tensorboard():
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    from stratax.summary import _packages

    _packages.event_file_writer()
    module = _packages.tensorboard("summary.writer.record_writer")
    for content in (b"", b"x", bytes(range(256)) * 3):
        assert module.masked_crc32c(content) == masked_crc32c(content)
