"""TensorFlow's checkpoints, and exports, among those that are read; importing it registers them (checkpoint layer)."""

import pathlib

from stratax.checkpoint.formats import Arrays, CheckpointFormat, register_format
from stratax.tensorflow.checkpoints import _tensorflow
from stratax.tensorflow.checkpoints._export_format import ExportFormat


class _OfTensorFlow(CheckpointFormat):
    def has(self, path: pathlib.Path) -> bool:
        return _tensorflow.is_written_by_tensorflow(path)

    def list_folder(self, folder: pathlib.Path) -> list[pathlib.Path]:
        return _tensorflow.list_checkpoints(folder)

    def read_time(self, path: pathlib.Path) -> float:
        return _tensorflow.find_write_time(path)

    def open(self, path: pathlib.Path) -> Arrays:
        return _tensorflow.Bundle(path)


register_format(_OfTensorFlow())
register_format(ExportFormat())
