"""A file of an object that makes no sense is told."""

import json

import pytest

import stratax.tf as tf
from stratax import errors
from stratax.io import seal_text
from tests.tensorflow.exports.test_saved_objects import Scale


@pytest.fixture(scope="module")
def scale(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale") / "saved"
    module = Scale()
    module(tf.constant(0.0))
    module(tf.constant([1.0, 2.0]), by=3)
    tf.saved_model.save(module, folder)
    return folder


def changed(folder, tmp_path, change):
    """Copy an export whose `object.json` is changed, with the right checksums."""
    import hashlib
    import shutil

    shutil.copytree(folder, tmp_path / "copy")
    file = tmp_path / "copy" / "object.json"
    body = json.loads(file.read_text())
    change(body)
    file.write_text(json.dumps(body))
    manifest = json.loads((tmp_path / "copy" / "export.json").read_text())
    del manifest["crc32c"]
    content = file.read_bytes()
    manifest["files"]["object.json"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (tmp_path / "copy" / "export.json").write_bytes(seal_text(manifest))
    return tmp_path / "copy"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda body: body.update(format=2), "newer format. Expected: 1. Received: 2"),
        (lambda body: body.pop("nodes"), "object.json has no nodes"),
        (lambda body: body["functions"][0].pop("kinds"), "object.json makes no sense"),
        (lambda body: body["variables"][0].update(weight="none"), "object.json makes no sense"),
    ],
)
def test_a_file_of_an_object_that_makes_no_sense_is_told(scale, tmp_path, change, match):
    with pytest.raises(errors.DataLossError, match=match):
        tf.saved_model.load(changed(scale, tmp_path, change))
