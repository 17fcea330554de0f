"""`stratax serve` answers with SavedModels that TensorFlow wrote."""

import numpy as np
import pytest

import stratax.export
from stratax import errors
from tests.golden.saved_models_cases import answers_of, differences
from tests.tensorflow.saved_models.files import node, unpack, write_graph


def test_signatures_answer_as_those_of_exports(tmp_path):
    folder = unpack("keras2_dense", tmp_path)
    export = stratax.export.load(folder / "model")
    signature = export.signatures["serving_default"]
    ((name, info),) = signature.inputs.items()
    assert (signature.method, info.dtype, info.shape) == ("predict", "float32", (None, 4))
    case = answers_of(folder)["serving_default"]
    assert differences(case["out"], signature(**case["in"])) == []
    with pytest.raises(errors.BadArgumentError, match="takes other inputs"):
        signature(other=np.zeros((1, 4), np.float32))
    assert name in repr(export)


def test_signatures_of_estimators_classify(tmp_path):
    folder = unpack("estimator_DNNLinearCombinedClassifier3_parsing", tmp_path)
    signature = stratax.export.load(folder / "model").signatures["serving_default"]
    assert signature.method == "classify"
    case = answers_of(folder)["serving_default"]
    assert differences(case["out"], signature(**case["in"])) == []


def test_an_unknown_operation_is_told_when_it_is_loaded(tmp_path):
    path = write_graph(tmp_path / "m", [node("x", "Placeholder"), node("y", "DoMagic", "x")], ["x"], ["y:0"])
    with pytest.raises(errors.UnimplementedError, match=r"known number of dimensions|DoMagic"):
        stratax.export.load(path)
