"""SavedModels that TensorFlow wrote give its answers, train, and are told where they can't be loaded."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.golden.saved_models_cases import answers_of, differences
from tests.tensorflow.saved_models.files import NAMES, constant, node, unpack, write_graph


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_tensorflow(name, tmp_path):
    folder = unpack(name, tmp_path)
    loaded = tf.saved_model.load(folder / "model")
    for signature, case in answers_of(folder).items():
        if signature != "keras":
            received = loaded.signatures[signature](**case["in"])
            assert differences(case["out"], received) == []


@pytest.fixture
def module(tmp_path):
    return tf.saved_model.load(unpack("module_variables", tmp_path) / "model")


def test_attributes_are_loaded_with_their_structure(module):
    assert [float(each.numpy().sum()) for each in module.parts] == [1.0, 9.0]
    assert list(module.named) == ["a"]
    assert not module.parts[1].trainable
    assert sorted(module.signatures) == ["lookup", "serving_default"]
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(module(x), module.signatures["serving_default"](x=x)["output_0"], rtol=1e-6)


def test_functions_take_the_structures_that_they_were_saved_for(module):
    a, b = np.float32([1.0, 2.0]), np.float32([3.0, 4.0])
    assert module.either({"a": a, "b": b}).tolist() == [2.0, 4.0]
    found = module.either({"a": a, "b": b}, training=True)
    assert found["sum"].tolist() == [4.0, 6.0]
    assert isinstance(found["pair"], tuple)
    assert found["pair"][1][0].tolist() == b.tolist()
    with pytest.raises(errors.BadTypeError, match="was not saved for these arguments"):
        module.either(a)


def test_functions_change_variables_and_look_text_up(module):
    assert [int(module.step()) for _ in range(2)] == [1, 2]
    assert int(module.count.numpy()) == 2
    ids = module.signatures["lookup"](words=np.array([b"b", b"?"], object))["ids"]
    assert np.asarray(ids).tolist() == [2, -1]


def test_a_loaded_model_is_trained(module):
    x, y = np.ones((2, 4), np.float32), np.zeros((2, 3), np.float32)
    optimizer = tf.keras.optimizers.SGD(0.05)
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(module(x) - y))
        variables = [module.w, module.parts[0]]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(float(loss))
    assert losses[2] < losses[1] < losses[0]


def test_a_loaded_model_is_trained_by_replicas(module, tmp_path):
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        loaded = tf.saved_model.load(unpack("module_variables", tmp_path / "again") / "model")
        optimizer = tf.keras.optimizers.SGD(0.1)
    x = np.ones((2, 4), np.float32)

    def replica(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(loaded(x)))
        optimizer.apply_gradients([(tape.gradient(loss, loaded.w), loaded.w)])
        return loss

    step = tf.function(lambda x: strategy.run(replica, args=(x,)))
    step(tf.constant(x))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(module(x)))
    # Replicas' gradients are added up.
    gradient = tape.gradient(loss, module.w) * strategy.num_replicas_in_sync
    np.testing.assert_allclose(loaded.w.numpy(), module.w.numpy() - 0.1 * np.asarray(gradient), rtol=1e-5)


def test_other_tags_are_told(tmp_path):
    folder = write_graph(tmp_path / "model", [constant("x", np.float32(1))], [], ["x:0"])
    assert tf.saved_model.contains_saved_model(folder)
    assert float(tf.saved_model.load(folder, ["serve"]).signatures["serving_default"]()["x"]) == 1.0
    with pytest.raises(errors.BadArgumentError, match=r"no graph with these tags.*'serve'"):
        tf.saved_model.load(folder, ["train"])


def test_an_unknown_operation_is_named_with_where_it_stands(tmp_path):
    nodes = [node("x", "Placeholder"), node("strange/one", "DoMagic", "x"), node("y", "Neg", "strange/one")]
    loaded = tf.saved_model.load(write_graph(tmp_path / "model", nodes, ["x"], ["y:0"]))
    with pytest.raises(errors.UnimplementedError, match=r"operation DoMagic is not known.*'strange/one'"):
        loaded.signatures["serving_default"](x=np.float32([1]))


def test_damage_is_told(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"\xff" * 20)
    with pytest.raises(errors.DataLossError, match="no SavedModel of TensorFlow, or it is damaged"):
        tf.saved_model.load(folder)


@pytest.mark.parametrize("name", [each for each in NAMES if each != "graph_partitioned"])
def test_what_was_loaded_is_saved_again_as_tensorflows(name, tmp_path):
    folder = unpack(name, tmp_path)
    loaded = tf.saved_model.load(folder / "model")
    tf.saved_model.save(loaded, tmp_path / "again")
    again = tf.saved_model.load(tmp_path / "again")
    assert list(again.signatures) == list(loaded.signatures)
    for key, case in answers_of(folder).items():
        if key in again.signatures:
            assert differences(case["out"], again.signatures[key](**case["in"])) == []
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == sorted(
        path.name for path in (folder / "model").iterdir()
    )


def test_variables_are_saved_with_their_present_values(tmp_path):
    folder = unpack("keras2_dense", tmp_path)
    loaded = tf.saved_model.load(folder / "model")
    (kernel, *_) = loaded.trainable_variables
    kernel.assign(kernel * 2.0)
    x = {"input_1": np.float32([[1, 2, 3, 4]])}
    expected = loaded.signatures["serving_default"](**x)
    # It takes the place of one that is there.
    for _ in range(2):
        tf.saved_model.save(loaded, tmp_path / "again", signatures=loaded.signatures)
    again = tf.saved_model.load(tmp_path / "again")
    assert (
        differences(
            {key: np.asarray(each) for key, each in expected.items()},
            again.signatures["serving_default"](**x),
        )
        == []
    )
    assert [each.shape for each in again.variables] == [each.shape for each in loaded.variables]
    before = tf.train.load_checkpoint(folder / "model" / "variables" / "variables")
    after = tf.train.load_checkpoint(tmp_path / "again" / "variables" / "variables")
    shapes = before.get_variable_to_shape_map()
    assert shapes == after.get_variable_to_shape_map()
    changed = [name for name in shapes if not np.array_equal(before.get_tensor(name), after.get_tensor(name))]
    assert len(changed) == 1


def test_what_can_not_be_saved_again_is_told(tmp_path):
    loaded = tf.saved_model.load(unpack("graph_partitioned", tmp_path) / "model")
    with pytest.raises(errors.UnimplementedError, match="a part of a larger one"):
        tf.saved_model.save(loaded, tmp_path / "again")
    loaded = tf.saved_model.load(unpack("keras2_dense", tmp_path) / "model")
    with pytest.raises(errors.BadArgumentError, match="with the signatures that it has"):
        tf.saved_model.save(loaded, tmp_path / "again", signatures=tf.function(lambda x: x))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(errors.AlreadyExistsError):
        tf.saved_model.save(loaded, tmp_path / "other")
    assert not (tmp_path / "again").exists()
