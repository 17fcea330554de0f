"""Columns of sequences."""

import numpy as np
import pytest

import stratax.tensorflow.feature_column as fc
from stratax import errors
from stratax.data import SparseTensor
from tests.tensorflow.feature_column.test_models import COLOR, _sparse, _text
from tests.tensorflow.v1.host_steps import HostStep


def test_sequences_in_a_model_are_computed_on_the_host():
    columns = [
        fc.sequence_numeric_column("n", normalizer_fn=lambda x: x * 2),
        fc.embedding_column(fc.sequence_categorical_column_with_hash_bucket("tags", 5), 2),
    ]
    tags = _sparse([[b"a"], [b"b", b"c", b"a", b"b", b"c"]])
    numbers = SparseTensor(tags.indices, np.arange(6, dtype=np.float32), tags.dense_shape)

    def body(scope, features):
        return fc.SequenceFeatures(columns)(features)

    step = HostStep(body)
    result, lengths = step({"tags": tags, "n": numbers})
    # Five steps become six, a width that repeats.
    assert result.shape == (2, 6, 3)
    assert lengths.tolist() == [1, 5]
    assert result[:, :, 0].tolist() == [[0, 0, 0, 0, 0, 0], [2, 4, 6, 8, 10, 0]]
    assert (np.asarray(result[:, :, 1:]) != 0).all(axis=2).sum(axis=1).tolist() == [1, 5]
    assert list(step.state.variables) == ["sequence_features/tags_embedding/embedding_weights"]


def test_sequences_that_do_not_fit_are_refused():
    numbers = fc.sequence_numeric_column("n")
    with pytest.raises(errors.BadArgumentError, match="takes columns of sequences"):
        fc.SequenceFeatures([COLOR])
    with pytest.raises(errors.BadArgumentError, match="'color_indicator' is of no sequence"):
        fc.SequenceFeatures([fc.indicator_column(COLOR)])({"color": _text("red")})
    with pytest.raises(errors.BadArgumentError, match="is a sequence of numbers"):
        fc.SequenceFeatures([numbers])({"n": [["a"]]})
    with pytest.raises(
        errors.BadArgumentError, match=r"one length in all columns.*'m': \[2, 1\], 'n': \[1, 2\]"
    ):
        fc.SequenceFeatures([numbers, fc.sequence_numeric_column("m")])(
            {"n": [[1.0], [2.0, 3.0]], "m": [[1.0, 2.0], [3.0]]}
        )
    with pytest.raises(errors.BadArgumentError, match="default_value must be a number"):
        fc.sequence_numeric_column("n", default_value="0")
    refused = pytest.raises(errors.BadArgumentError, match="'n' is computed on the host")
    with refused:
        HostStep(lambda scope, f: fc.SequenceFeatures([numbers])({"n": f["n"] + 1}))({"n": np.ones((1, 2))})
