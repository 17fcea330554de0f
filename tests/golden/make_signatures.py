"""Writes signatures.json: what TensorFlow 2.15 says of the signatures of `signature_cases`' exports.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_signatures
"""

import json
import pathlib
import tempfile

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tests.golden import signature_cases


def _infos(infos):
    found = {}
    for name, info in sorted(infos.items()):
        shape = info.tensor_shape
        sizes = None if shape.unknown_rank else [None if each.size < 0 else each.size for each in shape.dim]
        found[name] = [tf.dtypes.as_dtype(info.dtype).name, sizes]
    return found


def _signatures(path):
    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((pathlib.Path(path) / "saved_model.pb").read_bytes())
    return {
        name: [each.method_name, _infos(each.inputs), _infos(each.outputs)]
        for name, each in sorted(proto.meta_graphs[0].signature_def.items())
    }


def main():
    """Train, export, and write what the exports say."""
    found = {}
    for name, (make, receiver) in signature_cases.cases(tf).items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                path = make(folder).export_saved_model(f"{folder}/export", receiver)
                found[name] = _signatures(path.decode())
            except ValueError as error:
                found[name] = str(error)[:200]
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found.items())
    pathlib.Path(__file__).with_name("signatures.json").write_text(f"{{\n{text}\n}}\n")


if __name__ == "__main__":
    main()
