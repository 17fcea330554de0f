"""What strategies run compiles for TPUs, with the collectives that the design promises, and reuses its buffers."""

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.command.rehearsal import Catcher, compile_for, parse_topology
from tests.command.rehearsal.devices import DEVICES, needs_libtpu
from tests.tensorflow.estimator.tpu import test_estimator as estimators

pytestmark = needs_libtpu

SLICES = ("v3-8", "v4-8", "v5e-8")
X, Y = np.zeros((32, 8), "float32"), np.zeros((32, 2), "float32")
PARAMETERS = 8 * 4 + 4 + 4 * 2 + 2


def caught_in(run):
    catcher = Catcher()
    with catcher.catching():
        run()
    return catcher.caught


def compiled(made, name):
    report = compile_for(made, parse_topology(name))
    assert report.fits, report.failure
    # What may be overwritten is.
    assert report.memory.reused >= report.memory.donated
    return report


def model_of(strategy, steps=1):
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(2)])
        model.compile("adam", "mse", metrics=["mae"], steps_per_execution=steps)
    return model


def fit(strategy, steps=1):
    model = model_of(strategy, steps)
    model.fit(X, Y, batch_size=16, verbose=0)
    return model


@pytest.fixture(scope="module")
def trained():
    return caught_in(lambda: fit(sx.distribute.MirroredStrategy()))


@pytest.mark.parametrize("name", [*SLICES, "v4-2048"])
def test_a_step_of_fit_has_one_packed_all_reduce(trained, name):
    (made,) = trained
    report = compiled(made, name)
    (one,) = report.collectives
    assert (one.kind, one.group, one.times) == ("all-reduce", report.topology.num_devices, 1)
    # The gradients, and the sums and counts of the loss and the metric.
    assert PARAMETERS * 4 <= one.bytes <= PARAMETERS * 4 + 32
    assert report.examples == 2 * report.topology.num_devices
    assert report.memory.weights == PARAMETERS * 4


@pytest.mark.parametrize(
    ("count", "replicas", "name", "steps"),
    [(8, 1, "v3-8", 1), (8, 1, "v5e-8", 1), (8, 1, "v3-8", 2), (8, 1, "v5e:4x4", 1), (2, 2, "v5e:4x4", 1)],
)
def test_devices_that_have_parts_gather_each_weight_twice_and_sum_each_gradient_once(
    count, replicas, name, steps
):
    width, layers = 128, 3
    strategy = sx.distribute.ShardedStrategy(DEVICES[:count], replicas=replicas)
    with strategy.scope():
        inner = [keras.layers.Dense(width, "relu", name=f"layer_{index}") for index in range(layers)]
        model = keras.Sequential([keras.Input((width,)), *inner], name="model")
        model.compile("adam", "mse", steps_per_execution=steps)
    x = np.zeros((32, width), "float32")
    (made,) = caught_in(lambda: model.fit(x, x, batch_size=16, verbose=0))
    report = compiled(made, name)
    kernel, parts = width * width, report.topology.num_devices // replicas
    gathers = [each for each in report.collectives if each.kind == "all-gather" and each.bytes >= kernel]
    # Forward, and backward but for the first layer's, of which nobody wants the gradient of the input. What is
    # multiplied as bfloat16 travels so.
    kernels = [f"model/layer_{index}/kernel" for index in range(layers)]
    assert sorted(each.variable for each in gathers) == sorted([*kernels, *kernels[1:]])
    assert {(each.dtype, each.elements, each.group) for each in gathers} == {("bfloat16", kernel, parts)}
    # Nothing else of that size travels but the gradients, each by itself: within a group, and its parts among groups.
    sums = [each for each in report.collectives if each.kind != "all-gather" and each.bytes >= kernel * 4]
    assert [(each.dtype, each.bytes, each.group) for each in sums] == [
        ("float32", kernel * 4, parts)
    ] * layers
    assert sorted(each.variable for each in sums) == kernels
    small = [each for each in report.collectives if each not in (*gathers, *sums)]
    # Biases, metrics and, among groups, parts of gradients.
    assert sum(each.bytes for each in small) <= (layers * (kernel // parts + width) + 8) * 4
    whole = layers * width * 4
    assert report.memory.weights == layers * kernel * 4 // parts + whole
    assert report.memory.slots <= 2 * (layers * kernel * 4 // parts + whole) + 16
    assert report.examples == 16 // strategy.num_replicas_in_sync * report.topology.num_devices


def test_what_does_not_fit_names_the_largest_variables_and_a_rule_that_divides_them():
    strategy = sx.distribute.ShardedStrategy(DEVICES[:1], layout={"rows/embeddings": None})
    with strategy.scope(), sx.tpu.abstract_variables():
        rows = keras.layers.Embedding(1 << 21, 1024, name="rows")
        model = keras.Sequential([keras.Input((4,)), rows, keras.layers.Dense(8)], name="model")
        model.compile("sgd", "mse")
    ids, labels = (
        jax.ShapeDtypeStruct(shape, np.dtype(dtype))
        for shape, dtype in (((16, 4), "int32"), ((16, 4, 8), "float32"))
    )
    failure = sx.tpu.compile(model, "v5e:4x4", ids, labels).failure
    assert failure.kind == "memory"
    assert (
        "the largest: 'model/rows/embeddings' of shape (2097152, 1024) 8,589,934,592 bytes, whole: "
        "layout={'model/rows/embeddings$': ('shard', None)} divides it by 16" in failure.remedy
    )


def test_several_steps_in_a_dispatch_add_up_metrics_once():
    (made,) = caught_in(lambda: fit(sx.distribute.MirroredStrategy(), steps=2))
    report = compiled(made, "v3-8")
    found = [(each.kind, each.times) for each in report.collectives]
    assert found == [("all-reduce", None), ("all-reduce", 1)]
    assert report.collectives[0].bytes == PARAMETERS * 4
    assert report.collectives[1].bytes <= 48
    assert report.steps == 2


def test_evaluating_has_one_collective_and_predicting_a_batch_none():
    def run():
        model = fit(sx.distribute.MirroredStrategy())
        model.evaluate(X, Y, verbose=0)
        model.predict(X, verbose=0)

    _, tests, predictions = caught_in(run)
    assert [each.kind for each in compiled(tests, "v5e-8").collectives] == ["all-reduce"]
    assert not compiled(predictions, "v5e-8").collectives


def test_predicting_several_batches_sends_nothing():
    (predictions,) = caught_in(
        lambda: model_of(sx.distribute.MirroredStrategy(), steps=2).predict(X, batch_size=16, verbose=0)
    )
    report = compiled(predictions, "v3-8")
    assert not report.collectives
    assert report.steps == 2


def test_one_device_stays_one():
    caught = caught_in(lambda: fit(sx.distribute.OneDeviceStrategy("/cpu:0")))
    report = compiled(caught[0], "v5e-8")
    assert report.num_devices == 1
    assert not report.collectives


def test_loops_that_the_host_drives_compile_for_as_many_devices():
    strategy = sx.distribute.MirroredStrategy()
    with strategy.scope():
        total = sx.Variable(np.zeros((8,), "float32"))

    @sx.function
    def epoch(batches):
        for batch in batches:
            strategy.run(lambda x: total.assign_add(x.sum(0)), (batch,))

    dataset = sx.Dataset.from_tensor_slices(X).batch(16)
    caught = caught_in(lambda: epoch(strategy.experimental_distribute_dataset(dataset)))
    window = next(each for each in caught if each.is_window)
    compiled(window, "v3-8")
    refused = compile_for(window, parse_topology("v5e-16"))
    assert "--simulate tpu:16" in refused.failure.message


@pytest.mark.parametrize("name", SLICES)
def test_a_tpu_estimators_steps_compile(tmp_path, name):
    caught = caught_in(lambda: estimators.estimator(tmp_path).train(estimators.input_fn, max_steps=4))
    (step,) = [each for each in caught if each.name == "train"]
    report = compiled(step, name)
    assert report.steps == 4
    assert [each.times for each in report.collectives].count(None) == 1


@pytest.mark.parametrize(
    "options", [{}, {"replicas": 2}, {"model": 2, "layout": {"kernel": (None, "model")}}]
)
@pytest.mark.parametrize("name", ["v5e:4x4", "v5p:8x8x8"])
def test_a_few_devices_stand_for_a_slice_and_variables_need_no_values(name, options):
    width, layers = 1024, 2
    strategy = sx.distribute.ShardedStrategy(DEVICES[:2] if options else DEVICES[:1], **options)
    with strategy.scope(), sx.tpu.abstract_variables():
        inner = [keras.layers.Dense(width, "relu") for _ in range(layers)]
        model = keras.Sequential([keras.Input((width,)), *inner])
        model.compile("adam", "mse")
    before = [variable._layout for variable in model.variables]
    batch = jax.ShapeDtypeStruct((512, width), np.dtype("float32"))
    report = sx.tpu.compile(model, name, batch, batch)
    assert report.fits, report.failure
    # Rules are asked anew, of the slice's mesh: one device divides nothing.
    parts = 2 if "model" in options else report.topology.num_devices // options.get("replicas", 1)
    # A bias has as many elements as are not worth a gather.
    state = 4 * layers * (width * width // parts + width)
    assert report.memory.weights == state
    assert 2 * state <= report.memory.slots <= 2 * state + 16
    assert report.examples == 512
    # Here nothing has changed.
    assert [variable._layout for variable in model.variables] == before
