"""What `tf.saved_model.save` has saved, `tf.saved_model.load` gives again, or says what is wrong."""

import os

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.export import ExportedFunction, TensorInfo
from stratax.export import load as load_signatures
from stratax.export import save as save_signatures


class Scale(tf.Module):
    """What TensorFlow's guide to SavedModels saves, and structures."""

    def __init__(self):
        super().__init__()
        self.v = tf.Variable(1.0, name="v")
        self.many = [tf.Variable(2), {"b": tf.Variable([True])}]
        self.child = tf.Module()
        self.child.frozen = tf.Variable([1.0, 2.0], trainable=False)
        self.child.parent = self
        self.number = 7

    @tf.function
    def __call__(self, x, by=1):
        return x * self.v * by

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def mutate(self, new_v):
        self.v.assign(new_v)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([], tf.int32)])
    def table(self, rows, times=2):
        for _ in tf.range(times):
            rows = rows * self.v
        return {"rows": rows, "parts": (tf.reduce_sum(rows), [self.child.frozen, 3, None])}


def reloaded(obj, tmp_path, **kwargs):
    tf.saved_model.save(obj, tmp_path / "saved", **kwargs)
    return tf.saved_model.load(tmp_path / "saved")


@pytest.fixture(scope="module")
def scale(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale") / "saved"
    module = Scale()
    module(tf.constant(0.0))
    module(tf.constant([1.0, 2.0]), by=3)
    tf.saved_model.save(module, folder)
    return folder


class Two(tf.Module):
    def __init__(self):
        super().__init__()
        self.v = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="a"), tf.TensorSpec([], tf.int32)])
    def dotted(self, x, n):
        return {"out": x * self.v * tf.cast(n, tf.float32), "n": n}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def one(self, x):
        return [x, x + self.v]


def test_signatures_take_tensors_by_name_and_give_dicts(tmp_path):
    two = Two()
    loaded = reloaded(two, tmp_path, signatures={"serving_default": two.dotted, "one": two.one})
    assert list(loaded.signatures) == ["serving_default", "one"]
    signature = loaded.signatures["serving_default"]
    args, kwargs = signature.structured_input_signature
    assert args == ()
    assert kwargs == {"a": tf.TensorSpec([None], tf.float32, "a"), "n": tf.TensorSpec([], tf.int32, "n")}
    assert signature.structured_outputs["out"] == tf.TensorSpec([None], tf.float32, "out")
    assert [spec.name for spec in signature.inputs + signature.outputs] == ["a", "n", "n", "out"]
    assert signature.trainable_variables == [loaded.v]
    found = signature(a=tf.constant([1.0, 2.0]), n=tf.constant(3))
    assert found["out"].tolist() == [6.0, 12.0]
    assert {name: float(value) for name, value in loaded.signatures["one"](tf.constant(1.0)).items()} == {
        "output_0": 1.0,
        "output_1": 3.0,
    }
    loaded.v.assign(0.0)
    assert float(loaded.signatures["one"](x=1.0)["output_1"]) == 1.0, "Variables are those of the object."
    for args, kwargs in [((), {"a": [1.0]}), ((tf.constant([1.0]),), {}), ((1, 2), {}), ((1,), {"n": 2})]:
        with pytest.raises(errors.BadTypeError, match="takes tensors by name. Expected.*name='a'"):
            signature(*args, **kwargs)
    with pytest.raises(errors.BadTypeError, match="does not fit its signature"):
        signature(a=tf.constant([1]), n=1)
    # Whoever only calls signatures finds them in the same folder.
    assert load_signatures(tmp_path / "saved").signatures["one"](1.0)["output_1"] == 3.0


def test_the_only_function_that_declares_what_it_takes_is_the_default_signature(tmp_path):
    function = tf.function(lambda x: x + 1, input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    loaded = reloaded(function, tmp_path)
    assert list(loaded.signatures) == [tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    assert loaded([1.0]).tolist() == [2.0]


def test_a_concrete_function_is_a_signature(tmp_path):
    module = Scale()
    call = module.__call__.get_concrete_function(tf.TensorSpec([None], tf.float32))
    loaded = reloaded(module, tmp_path, signatures=call)
    assert loaded.signatures["serving_default"](x=tf.ones(3))["output_0"].tolist() == [1.0] * 3
    assert loaded(tf.ones(2)).tolist() == [1.0] * 2, "Asked for is as good as called."
    save_signatures(call, tmp_path / "b", platforms=["cpu"])
    assert load_signatures(tmp_path / "b").signatures["serving_default"]([2.0])["output_0"] == 2.0


def model_of_numbers():
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(4, "relu"), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
    return keras.Sequential([keras.Input((3,), name="numbers"), *layers])


X = np.random.default_rng(0).random((6, 3), np.float32)


def test_a_model_predicts_after_loading(tmp_path):
    model = model_of_numbers()
    loaded = reloaded(model, tmp_path)
    expected = model.predict(X, verbose=0)
    np.testing.assert_allclose(
        loaded.signatures["serving_default"](numbers=X)["output_0"], expected, atol=1e-6
    )
    np.testing.assert_allclose(loaded(X, training=False), expected, atol=1e-6)
    np.testing.assert_allclose(loaded(X[:1]), expected[:1], atol=1e-6)
    names = ("variables", "trainable_variables", "non_trainable_variables")
    assert [len(getattr(loaded, name)) for name in names] == [len(getattr(model, name)) for name in names]
    with pytest.raises(errors.BadTypeError, match="not saved for these arguments"):
        loaded(X, training=True)


def test_inputs_of_a_functional_model_keep_their_structure(tmp_path):
    one, two = keras.Input((3,), name="one"), keras.Input((3,), name="two")
    single = reloaded(keras.Model(one, one * 2), tmp_path)
    assert single.signatures["serving_default"](one=X)["output_0"].tolist() == (X * 2).tolist()
    assert single(X).tolist() == (X * 2).tolist()
    several = reloaded(keras.Model({"a": one, "b": two}, [one - two, {"sum": one + two}]), tmp_path)
    difference, rest = several({"a": X, "b": X})
    assert (float(abs(difference).max()), rest["sum"].tolist()) == (0.0, (X * 2).tolist())
    assert several.signatures["serving_default"](one=X, two=X)["output_1"].tolist() == (X * 2).tolist()


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(5)

    def call(self, inputs):
        return self.dense(inputs)


def test_a_model_with_a_call_of_its_own_is_saved_once_it_was_called(tmp_path):
    model = Subclassed()
    loaded = reloaded(model, tmp_path)
    assert (len(loaded.variables), len(loaded.signatures)) == (0, 0)
    expected = model(X)
    loaded = reloaded(model, tmp_path)
    np.testing.assert_allclose(
        loaded.signatures["serving_default"](inputs=X)["output_0"], expected, atol=1e-6
    )


def test_what_calls_python_is_saved_by_name_with_a_warning(tmp_path):
    class Prints(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def prints(self, x):
            tf.print(x)
            return x

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def quiet(self, x):
            return -x

    with pytest.warns(RuntimeWarning, match="'prints' is saved without a program.*calls Python"):
        loaded = reloaded(Prints(), tmp_path, signatures=Prints().quiet)
    assert loaded.quiet([1.0]).tolist() == [-1.0]
    with pytest.raises(
        errors.TracingError, match="'prints' was saved without its program.*calls Python while it runs"
    ):
        loaded.prints([1.0])
    function = Prints().prints
    with pytest.raises(errors.TracingError, match="calls Python while it runs"):
        tf.saved_model.save(tf.Module(), tmp_path / "b", signatures=function)
    assert not (tmp_path / "b").exists()


def test_signatures_that_change_variables_or_give_nothing_are_refused(tmp_path):
    module = Scale()
    with pytest.raises(errors.BadArgumentError, match="'serving_default' changes variables.*it assigns 'v'"):
        tf.saved_model.save(module, tmp_path / "a", signatures=module.mutate)
    nothing = tf.function(lambda x: None, input_signature=[tf.TensorSpec([], tf.float32)])
    with pytest.raises(errors.BadArgumentError, match="'serving_default' gives nothing"):
        tf.saved_model.save(module, tmp_path / "a", signatures=nothing)
    with pytest.raises(errors.BadArgumentError, match="does not say what it takes"):
        tf.saved_model.save(module, tmp_path / "a", signatures=module.__call__)
    ranks = tf.function(lambda x: x, input_signature=[tf.TensorSpec(None, tf.float32)])
    with pytest.raises(errors.BadArgumentError, match="known number of dimensions"):
        tf.saved_model.save(module, tmp_path / "a", signatures=ranks)
    assert list(tmp_path.iterdir()) == []


def test_saving_again_replaces_an_export_and_nothing_else(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(1)
    tf.saved_model.save(module, tmp_path / "a")
    module.v.assign(2)
    assert int(reloaded(module, tmp_path).v.numpy()) == 2
    tf.saved_model.save(module, tmp_path / "a")
    assert int(tf.saved_model.load(tmp_path / "a").v.numpy()) == 2
    # What TensorFlow has written is one, too.
    (tmp_path / "c" / "variables").mkdir(parents=True)
    (tmp_path / "c" / "saved_model.pb").write_bytes(b"")
    tf.saved_model.save(module, tmp_path / "c")
    assert int(tf.saved_model.load(tmp_path / "c").v.numpy()) == 2
    assert not (tmp_path / "c" / "saved_model.pb").exists()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "diary").write_text("")
    with pytest.raises(errors.AlreadyExistsError, match="There is something at"):
        tf.saved_model.save(module, tmp_path / "b")
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c", "saved"]


def test_signatures_that_stratax_export_has_written_are_loaded(tmp_path):
    v = sx.Variable([2.0, 3.0], name="v")
    info = {"b": TensorInfo("float32", (None, 2)), "a": TensorInfo("float32", ())}
    function = ExportedFunction(lambda arrays: {"y": arrays["b"] * v.value + arrays["a"]}, info)
    save_signatures(function, tmp_path / "a", platforms=["cpu"])
    loaded = tf.saved_model.load(tmp_path / "a")
    signature = loaded.signatures["serving_default"]
    assert signature(b=tf.ones((1, 2)), a=1.0)["y"].tolist() == [[3.0, 4.0]]
    assert [each.name for each in signature.variables] == ["v"]
    assert loaded.variables == signature.variables


def test_a_signature_of_text_computes_with_it_on_the_host(tmp_path):
    class Numbers(tf.Module):
        def __init__(self):
            super().__init__()
            self.by = tf.Variable(2.0)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def number(self, text):
            return {"number": tf.strings.to_number(text) * self.by}

    loaded = reloaded(Numbers(), tmp_path)
    assert list(loaded.signatures) == ["serving_default"]
    signature = loaded.signatures["serving_default"]
    assert signature.structured_input_signature[1]["text"].dtype == object
    assert signature(tf.constant(["1", "2.5"]))["number"].tolist() == [2.0, 5.0]
    loaded.by.assign(1.0)
    assert signature(text=["3"])["number"].tolist() == [3.0]
    with pytest.raises(errors.TracingError, match=r"called by its signature.*loaded\.signatures"):
        loaded.number(["1"])


def test_what_was_loaded_is_not_saved_again(tmp_path):
    loaded = reloaded(Two(), tmp_path)
    holder = tf.Module()
    holder.part = loaded
    for obj, signatures in [(loaded, None), (holder, None), (tf.Module(), loaded.one)]:
        with pytest.raises(errors.BadTypeError, match="What was loaded can't be saved again"):
            tf.saved_model.save(obj, tmp_path / "again", signatures=signatures)
    assert not (tmp_path / "again").exists()


def test_a_loop_of_unknown_length_is_saved_without_its_derivative(scale):
    loaded = tf.saved_model.load(scale)
    with tf.GradientTape() as tape, pytest.raises(errors.UnimplementedError, match="without its derivative"):
        tape.gradient(loaded.table([[1, 2]])["rows"], loaded.v)


def test_kinds_that_can_not_be_saved_leave_the_others(tmp_path):
    class Chooses(tf.Module):
        @tf.function
        def chosen(self, x, how):
            return how(x) if callable(how) else x * how

        @tf.function
        def never(self, x):
            return x

    module = Chooses()
    assert float(module.chosen(tf.constant(2.0), 3)) == 6.0
    assert float(module.chosen(tf.constant(2.0), abs)) == 2.0
    with pytest.warns(RuntimeWarning, match="Argument 'how' of the function 'chosen' can't be saved"):
        loaded = reloaded(module, tmp_path)
    assert float(loaded.chosen(tf.constant(5.0), how=3)) == 15.0
    with pytest.raises(errors.TracingError, match="Argument 'how'"):
        loaded.chosen(tf.constant(5.0), 4)
    with pytest.raises(errors.BadTypeError, match="it was never called before it was saved"):
        loaded.never(tf.constant(5.0))


def test_sizes_that_only_a_call_knows_are_values_and_make_shapes(tmp_path):
    class Sizes(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
        def sizes(self, x):
            shape, count = tf.shape(x), tf.shape(x)[0]
            return {
                "shape": shape,
                "count": count,
                "twice": 2 * tf.size(x),
                "float": tf.cast(shape, tf.float32),
                "longer": tf.reshape(x, tf.concat([shape, [1]], 0)),
                "last": x[count - 1],
                "mapped": tf.map_fn(lambda row: row * 2, x),
                "scanned": tf.scan(lambda total, row: total + row, x),
            }

    loaded = reloaded(Sizes(), tmp_path)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for found in (loaded.sizes(x), loaded.signatures["serving_default"](x=x)):
        assert found["shape"].tolist() == [3, 2]
        assert (int(found["count"]), int(found["twice"]), found["float"].tolist()) == (3, 12, [3.0, 2.0])
        assert found["longer"].shape == (3, 2, 1)
        assert found["last"].tolist() == [4.0, 5.0]
        assert np.array_equal(found["mapped"], 2 * x)
        assert np.array_equal(found["scanned"], np.cumsum(x, axis=0))


def test_a_signature_that_draws_gives_other_numbers_in_each_call(tmp_path):
    module = tf.Module()
    dropout = keras.layers.Dropout(0.5, seed=1)
    module.noisy = tf.function(
        lambda x: dropout(x, training=True), input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    signature = reloaded(module, tmp_path).signatures["serving_default"]
    drawn = {tuple(signature(x=np.ones(64, np.float32))["output_0"].tolist()) for _ in range(4)}
    assert len(drawn) > 1
    assert all(set(each) == {0.0, 2.0} for each in drawn)


def test_a_size_that_has_to_be_known_is_named_in_one_sentence(tmp_path):
    layers = [keras.layers.UpSampling1D(), keras.layers.GlobalMaxPooling1D()]
    model = keras.Sequential([keras.Input((None, 1)), keras.layers.Conv1D(1, 3), *layers])
    with pytest.raises(
        errors.TracingError, match=r"any number of examples: [^\n\x1b]*inconclusive\. Give sizes"
    ):
        tf.saved_model.save(model, tmp_path / "a")
    each = keras.Sequential([keras.Input((None, 2)), keras.layers.TimeDistributed(keras.layers.Dense(1))])
    with pytest.raises(
        errors.TracingError, match=r"any number of examples: [^\n\x1b]*_DimExpr[^\n\x1b]*\. Give sizes"
    ):
        tf.saved_model.save(each, tmp_path / "a")


def test_a_signature_gives_nothing_of_what_it_computes_besides(tmp_path):
    def called(x):
        tf.as_string(tf.tile([[0, 1]], [tf.shape(x)[0], 1]))
        return {"twice": 2 * x}

    module = tf.Module()
    function = tf.function(called, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(module, tmp_path / "a", signatures=function)
    for signatures in (
        tf.saved_model.load(tmp_path / "a").signatures,
        load_signatures(tmp_path / "a").signatures,
    ):
        found = signatures["serving_default"](x=np.array([1.0, 2.0], np.float32))
        assert {name: array.tolist() for name, array in found.items()} == {"twice": [2.0, 4.0]}


def test_text_is_laid_out_for_each_example_that_a_call_has(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def labelled(x):
        count = tf.shape(x)[0]
        return {
            "classes": tf.tile([["a", "b"]], [count, 1]),
            "filled": tf.fill([count], "c"),
            "same": tf.constant(["d"]),
            "plain": "e",
            "scores": x,
        }

    module = tf.Module()
    module.labelled = labelled
    found = reloaded(module, tmp_path, signatures=labelled).signatures["serving_default"](
        x=np.ones((3, 2), np.float32)
    )
    assert found["classes"].tolist() == [[b"a", b"b"]] * 3
    assert found["filled"].tolist() == [b"c"] * 3
    assert (found["same"].tolist(), found["plain"].tolist()) == ([b"d"], b"e")
    assert found["scores"].shape == (3, 2)


@pytest.mark.parametrize("obj", [3, "a", None, [tf.Variable(1.0)], {"a": tf.Variable(1.0)}, np.ones(3), len])
def test_what_has_no_attributes_is_not_saved(obj, tmp_path):
    with pytest.raises(errors.BadTypeError, match="Expected: a tf.Module, a model, or a tf.function"):
        tf.saved_model.save(obj, tmp_path / "a")


def test_what_tensorflow_has_written_is_told(tmp_path):
    (tmp_path / "saved_model.pbtxt").touch()
    for load in (load_signatures, tf.saved_model.load):
        with pytest.raises(errors.UnimplementedError, match="was written by TensorFlow"):
            load(tmp_path)


def test_a_layer_of_text_is_part_of_a_signature(tmp_path):
    layer = tf.keras.layers.TextVectorization(vocabulary=["a", "b"], output_sequence_length=2)
    module = tf.Module()
    module.numbered = tf.function(
        lambda texts: layer(texts), input_signature=[tf.TensorSpec([None], tf.string)]
    )
    tf.saved_model.save(module, tmp_path / "a", signatures=module.numbered)
    loaded = tf.saved_model.load(tmp_path / "a").signatures["serving_default"]
    (ids,) = loaded(texts=tf.constant(["A b a", "c"])).values()
    assert np.asarray(ids).tolist() == [[2, 3], [1, 0]]


def test_a_model_that_takes_several_arrays_does_not_say_what_it_takes(tmp_path):
    class Product(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, first, second, training=False):
            return self.dense(first) * second

    model = Product()
    model(np.ones((2, 3)), np.ones((2, 1)))
    assert len(reloaded(model, tmp_path).variables) == 2
    with pytest.raises(errors.BadArgumentError, match="does not say what it takes"):
        model.export(tmp_path / "b")
