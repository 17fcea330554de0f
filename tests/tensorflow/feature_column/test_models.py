"""Columns in a `model_fn` that is compiled: strings stay on the host; layers; what is transformed in advance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tensorflow.feature_column as fc
import stratax.tf as tf
from stratax import errors
from stratax.data import SparseTensor
from stratax.tensorflow import v1
from tests.tensorflow.v1.host_steps import HostStep


def _text(*values):
    return np.array([value.encode() for value in values], object)


def _sparse(rows):
    cells = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = np.array([value for row in rows for value in row], object)
    width = max(map(len, rows))
    return SparseTensor(np.array(cells, np.int64).reshape(-1, 2), values, np.array([len(rows), width]))


COLOR = fc.categorical_column_with_vocabulary_list("color", ["red", "green", "blue"])
TAGS = fc.categorical_column_with_hash_bucket("tags", 10)
SIZE = fc.numeric_column("size")
BUCKETS = fc.bucketized_column(SIZE, [1.0, 2.0])
PAIR = fc.crossed_column(["color", BUCKETS], 20)
COLUMNS = [
    SIZE,
    BUCKETS,
    fc.embedding_column(TAGS, 2),
    fc.indicator_column(COLOR),
    fc.embedding_column(PAIR, 2),
]


def _batch(size=3, longest=2):
    tags = [[b"t%d" % j for j in range(i % (longest + 1))] for i in range(size - 1)]
    return {
        "color": _text(*["red", "", "blue", "gray", "green"][:size]),
        "tags": _sparse([*tags, [b"t%d" % j for j in range(longest)]]),
        "size": np.linspace(0, 3, size).astype(np.float32),
    }


def _body(scope, features):
    out = tf.compat.v1.feature_column.input_layer(features, COLUMNS)
    logits = tf.compat.v1.feature_column.linear_model(features, [COLOR, TAGS, PAIR, BUCKETS], units=2)
    trained = scope.trainable_variables()
    return out, logits, scope.derivatives.gradients(jnp.sum(out) + jnp.sum(logits**2), trained)


def _eagerly(batch, state):
    with v1.ModelScope(state, "train").entered() as scope:
        return _body(scope, batch)


def test_a_compiled_step_gives_what_is_computed_eagerly_for_every_shape():
    step = HostStep(_body)
    for size, longest in ((3, 2), (5, 3), (2, 1)):
        batch = _batch(size, longest)
        got, expected = step(batch), _eagerly(batch, step.state)
        for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert step.inputs.names == {"color", "tags", "size"}
    assert list(step.state.variables) == [
        "input_layer/color_X_size_bucketized_embedding/embedding_weights",
        "input_layer/tags_embedding/embedding_weights",
        "linear_model/color/weights",
        "linear_model/color_X_size_bucketized/weights",
        "linear_model/size_bucketized/weights",
        "linear_model/tags/weights",
        "linear_model/bias_weights",
    ]


def test_whole_numbers_are_hashed_on_the_host_unless_the_model_computed_them():
    column = fc.indicator_column(fc.categorical_column_with_hash_bucket("n", 5, tf.int64))
    batch = {"n": np.array([[1], [-1]], np.int32)}
    expected = fc.input_layer(batch, [column])
    np.testing.assert_array_equal(HostStep(lambda scope, f: fc.input_layer(f, [column]))(batch), expected)
    with pytest.raises(errors.BadArgumentError, match=r"'n' is computed on the host.*dataset.map"):
        HostStep(lambda scope, f: fc.input_layer({"n": f["n"] + 1}, [column]))(batch)


def test_identity_of_what_the_model_computed_is_computed_in_the_step():
    column = fc.indicator_column(fc.categorical_column_with_identity("n", 4, default_value=2))
    step = HostStep(lambda scope, f: fc.input_layer({"n": f["n"] + 1}, [column]))
    result = step({"n": np.array([0, -2, 9], np.int32)})
    assert result.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    with pytest.raises(errors.BadArgumentError, match="Expected: whole numbers"):
        HostStep(lambda scope, f: fc.input_layer({"n": f["n"] + 1.0}, [column]))(
            {"n": np.array([0], np.int32)}
        )


def test_functions_of_jax_normalize_on_the_host_too():
    number = fc.numeric_column("n", normalizer_fn=lambda x: jnp.log(x + 1))
    crossed = fc.crossed_column([fc.bucketized_column(number, [0.5, 1.0]), "k"], 5)
    column = fc.indicator_column(crossed)
    batch = {"n": np.array([1, 2], np.float32), "k": _text("a", "b")}
    expected = fc.input_layer(batch, [column]).tolist()
    assert HostStep(lambda scope, f: fc.input_layer(f, [column]))(batch).tolist() == expected
    known = HostStep(lambda scope, f: fc.input_layer(batch, [column]) + 0 * f["n"][:, None])
    assert known(batch).tolist() == expected


def test_a_string_that_the_model_puts_under_another_key_is_still_the_hosts():
    column = fc.indicator_column(fc.categorical_column_with_vocabulary_list("other", ["red"]))
    step = HostStep(lambda scope, f: fc.input_layer({"other": f["color"]}, [column]))
    assert step({"color": _text("blue", "red")}).tolist() == [[0], [1]]


def test_two_columns_of_one_name_need_two_transformations():
    other = fc.categorical_column_with_hash_bucket("color", 5)
    with pytest.raises(errors.BadArgumentError, match="Two different columns have the name 'color'"):
        fc.Transformation([fc.indicator_column(COLOR), fc.embedding_column(other, 2)])


def test_a_model_takes_two_columns_of_one_feature():
    hashed, words = fc.categorical_column_with_hash_bucket("color", 5), fc.indicator_column(COLOR)
    batch = {"color": _text("red", "none"), "tags": _sparse([["a"], ["b", "c"]])}
    columns = [words, fc.embedding_column(hashed, 2), fc.indicator_column(TAGS)]
    step = HostStep(lambda scope, features: fc.input_layer(features, columns))
    embedded, *others = np.split(np.asarray(step(batch)), [2, 5], axis=1)
    for column, found in zip((words, fc.indicator_column(TAGS)), others, strict=True):
        np.testing.assert_array_equal(found, fc.input_layer(batch, [column]))
    table = step.state.variables["input_layer/color_embedding/embedding_weights"].value
    ids = fc.Transformation([hashed]).host_features(batch)["color/ids"]
    np.testing.assert_array_equal(embedded, np.asarray(table)[ids[:, 0]])


def test_in_a_function_without_a_model_strings_are_refused():
    tensor = v1.HostTensor("color", (1,))
    with pytest.raises(errors.ModelScopeError, match=r"Transformation\(columns\).host_features"):
        fc.input_layer({"color": tensor}, [fc.indicator_column(COLOR)])
    refused = pytest.raises(errors.BadArgumentError, match=r"were computed in the model_fn: \['color'\]")
    with v1.ModelScope(v1.ModelState(1), "train").entered(), refused:
        fc.input_layer({"color": tensor}, [fc.indicator_column(COLOR)])


def test_columns_with_variables_need_a_model():
    batch = {"color": _text("red")}
    with pytest.raises(errors.ModelScopeError, match="'color_embedding' has a variable"):
        fc.input_layer(batch, [fc.embedding_column(COLOR, 2)])
    with pytest.raises(errors.ModelScopeError, match="inside of a `model_fn`"):
        fc.linear_model(batch, [COLOR])


def test_input_layer_gives_each_columns_part_and_collections():
    parts = {}
    with v1.ModelScope(v1.ModelState(1), "train").entered() as scope:
        out = fc.input_layer(_batch(), COLUMNS, ["mine"], cols_to_output_tensors=parts)
        assert [v.path for v in scope.collections.get("mine")] == [
            "input_layer/color_X_size_bucketized_embedding/embedding_weights",
            "input_layer/tags_embedding/embedding_weights",
        ]
        assert scope.collections.get("mine") == scope.collections.get("model_variables")
    assert [part.shape for part in parts.values()] == [(3, 2), (3, 3), (3, 1), (3, 3), (3, 2)]
    np.testing.assert_array_equal(jnp.concatenate(list(parts.values()), 1), out)


def test_trainable_false_trains_nothing():
    with v1.ModelScope(v1.ModelState(1), "train").entered() as scope:
        fc.input_layer(_batch(), COLUMNS, trainable=False)
        fc.linear_model(_batch(), [COLOR], trainable=False)
        assert scope.trainable_variables() == []
        assert len(scope.global_variables()) == 4
