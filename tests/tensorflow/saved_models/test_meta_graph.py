"""Graphs that TensorFlow's `Saver` wrote are imported, restored and trained further (`make_meta_graphs.py`)."""

import pathlib
import zipfile

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.tensorflow.saved_models.files import constant, dtype, node

V1 = tf.compat.v1
GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "meta_graphs"
FLOAT = dtype(np.float32)


@pytest.fixture(params=["dense", "resources", "renamed"])
def case(request, tmp_path):
    """The folder of a checkpoint with its graph, and TensorFlow's answers."""
    with zipfile.ZipFile(GOLDEN / f"{request.param}.zip") as archive:
        archive.extractall(tmp_path)
    return str(tmp_path / "model.ckpt"), np.load(tmp_path / "answers.npz")


def restore(session, path, **arguments):
    V1.train.import_meta_graph(f"{path}.meta", **arguments).restore(session, path)


def test_what_was_restored_is_trained_further_as_in_tensorflow(case):
    path, answers = case
    fed = {"x:0": answers["x"], "y:0": answers["y"]}
    with tf.Graph().as_default(), V1.Session() as session:
        restore(session, path)
        p, loss = session.run(["p:0", "loss:0"], fed)
        np.testing.assert_allclose(p, answers["p"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(loss, answers["loss"], rtol=1e-5)
        losses = []
        for _ in range(3):
            session.run(V1.get_collection("train_op")[-1], fed)
            losses.append(session.run("loss:0", fed))
        np.testing.assert_allclose(losses, answers["losses"], rtol=1e-5)
        variables = V1.global_variables()
        assert {f"after/{each.op.name}" for each in variables} == {each for each in answers if "/" in each}
        for each in variables:
            np.testing.assert_allclose(
                session.run(each),
                answers[f"after/{each.op.name}"],
                rtol=1e-5,
                atol=1e-6,
                err_msg=each.op.name,
            )


def test_tensors_operations_and_collections_have_their_names(case):
    path, _ = case
    meta = V1.MetaGraphDef.FromString(pathlib.Path(f"{path}.meta").read_bytes())
    with tf.Graph().as_default() as graph:
        saver = V1.train.import_meta_graph(meta)
        names = {each.name for each in graph.get_operations()} | {
            each.op.name for each in V1.global_variables()
        }
        saving = {each for each in names if each.startswith("save/")}
        assert names - saving == {
            each.name for each in meta.graph_def.node if not each.name.startswith("save/")
        }
        assert (saver.max_to_keep, saver.keep_checkpoint_every_n_hours) == (3, 10000.0)
        if "hidden/w" in names:
            assert [each.name for each in V1.get_collection("losses")] == ["loss:0"]
            assert V1.get_collection("inputs") == [graph.get_tensor_by_name("x:0")]
            assert V1.train.get_global_step().op.name == "global_step"
            assert [each.op.name for each in V1.trainable_variables()] == [
                "hidden/w",
                "hidden/b",
                "logits/kernel",
                "logits/bias",
            ]
            assert [each.op.name for each in V1.get_collection("moving_average_variables")] == ["hidden/w"]
        if "b" in names:
            # As the checkpoint has them.
            assert sorted(saver.variables) == ["bias", "weights"]
            assert [each.op.name for each in V1.trainable_variables()] == ["w"]


def test_variables_begin_as_the_graph_says_where_nothing_is_restored(case):
    path, answers = case
    fed = {"x:0": answers["x"], "y:0": answers["y"]}
    with tf.Graph().as_default(), V1.Session() as session:
        V1.train.import_meta_graph(f"{path}.meta")
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized"):
            session.run("loss:0", fed)
        session.run(V1.global_variables_initializer())
        first = session.run("loss:0", fed)
        for _ in range(10):
            session.run(V1.get_collection("train_op")[-1], fed)
        assert session.run("loss:0", fed) < first


def test_a_scope_is_put_before_names(case):
    path, answers = case
    with tf.Graph().as_default(), V1.Session() as session:
        restore(session, path, import_scope="old")
        p = session.run("old/p:0", {"old/x:0": answers["x"]})
        np.testing.assert_allclose(p, answers["p"], rtol=1e-5, atol=1e-6)
        assert all(each.op.name.startswith("old/") for each in V1.global_variables())


def test_a_restored_graph_is_built_upon(case, tmp_path):
    path, answers = case
    with tf.Graph().as_default() as graph, V1.Session() as session:
        restore(session, path)
        p = graph.get_tensor_by_name("p:0")
        loss = tf.reduce_mean(tf.square(V1.layers.dense(p, 2, name="more")))
        train_op = V1.train.GradientDescentOptimizer(0.1).minimize(loss)
        rest = [each for each in V1.global_variables() if each.op.name.startswith("more")]
        session.run(V1.variables_initializer(rest))
        fed = {"x:0": answers["x"]}
        before = session.run(loss, fed)
        session.run(train_op, fed)
        assert session.run(loss, fed) < before
        # What it saves are the graph's variables and the new ones.
        saved = V1.train.Saver().save(session, str(tmp_path / "again"))
        assert {"more/kernel", "more/bias"} < {name for name, _ in tf.train.list_variables(saved)}


def test_what_is_not_known_is_left_out_and_told(caplog):
    shape = {"shape": {"dim": [{"size": -1}, {"size": 2}]}}
    nodes = [
        node("x", "Placeholder", dtype=FLOAT, shape=shape),
        constant("two", np.float32(2)),
        node("y", "Mul", "x", "two"),
        node("strange", "DoMagic", "y"),
        node("behind", "Neg", "strange"),
    ]
    with tf.Graph().as_default() as graph, V1.Session() as session:
        assert V1.train.import_meta_graph(V1.MetaGraphDef(graph_def={"node": nodes})) is None
        assert session.run("y:0", {"x:0": [[1, 2]]}).tolist() == [[2, 4]]
        assert [each.name for each in graph.get_operations()] == ["x", "two", "y"]
    assert "leaves out 2 of 5 operations, 'behind' for instance: DoMagic are not known" in caplog.text


def test_what_can_not_be_imported_is_told(tmp_path):
    with tf.Graph().as_default():
        with pytest.raises(errors.FileMissingError, match="does not exist"):
            V1.train.import_meta_graph(str(tmp_path / "none.meta"))
        with pytest.raises(errors.BadTypeError, match="is the name of a file"):
            V1.train.import_meta_graph(3)
        (tmp_path / "bad.meta").write_bytes(b"\x00\x01 nothing")
        with pytest.raises(errors.DataLossError, match="no MetaGraphDef"):
            V1.train.import_meta_graph(tmp_path / "bad.meta")
        for nodes, told in [
            ([node("v", "VariableV2", dtype=FLOAT)], "no shape that is known"),
            ([node("y", "Neg", "x")], "damaged"),
        ]:
            with pytest.raises(errors.DataLossError, match=told):
                V1.train.import_meta_graph(V1.MetaGraphDef(graph_def={"node": nodes}))


def test_damaged_graphs_are_told(case, tmp_path):
    content = pathlib.Path(f"{case[0]}.meta").read_bytes()
    random = np.random.default_rng(0)
    for _ in range(6):
        damaged = bytearray(content)
        for place in random.integers(0, len(content), 20):
            damaged[place] = random.integers(0, 256)
        (tmp_path / "damaged.meta").write_bytes(damaged)
        try:
            with tf.Graph().as_default():
                V1.train.import_meta_graph(tmp_path / "damaged.meta")
        except errors.StrataxError:
            pass
