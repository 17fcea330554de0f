"""Embeddings: shared, from a checkpoint, from the model's seed."""

import numpy as np
import pytest

import stratax as sx
import stratax.tensorflow.feature_column as fc
from stratax import errors
from stratax.tensorflow import v1
from tests.tensorflow.feature_column.test_models import COLOR, TAGS, _batch, _text


def test_shared_embeddings_of_tensorflow_2_have_their_own_name():
    columns = fc.shared_embeddings([TAGS, fc.categorical_column_with_hash_bucket("color", 10)], 2)
    with v1.ModelScope(v1.ModelState(1), "train").entered() as scope:
        assert fc.input_layer(_batch(), columns).shape == (3, 4)
        assert [v.path for v in scope.global_variables()] == ["color_tags_shared_embedding"]


def test_embeddings_start_from_a_checkpoint(tmp_path):
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    path = sx.train.Checkpoint(table=sx.Variable(table)).save(str(tmp_path / "model"))
    (name,) = (name for name, shape in sx.train.list_variables(path) if tuple(shape) == (3, 2))
    column = fc.embedding_column(COLOR, 2, ckpt_to_load_from=path, tensor_name_in_ckpt=name)
    with v1.ModelScope(v1.ModelState(1), "train").entered():
        assert fc.input_layer({"color": _text("blue")}, [column]).tolist() == [[4, 5]]
        wider = fc.embedding_column(COLOR, 3, ckpt_to_load_from=path, tensor_name_in_ckpt=name)
        with pytest.raises(errors.BadArgumentError, match=r"another shape. Expected: \(3, 3\)"):
            fc.input_layer({"color": _text("blue")}, [wider])


def test_first_embeddings_follow_from_the_models_seed():
    def first(seed):
        with v1.ModelScope(v1.ModelState(seed), "train").entered():
            return np.asarray(fc.input_layer({"color": _text("blue")}, [column]))

    column = fc.embedding_column(COLOR, 4)
    np.testing.assert_array_equal(first(1), first(1))
    assert (first(1) != first(2)).any()
    assert column == fc.embedding_column(COLOR, 4)
