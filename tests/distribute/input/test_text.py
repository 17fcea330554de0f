"""Text in distributed batches: it stays on the host. The numbers are TensorFlow 2.21's."""

import re

import pytest

import stratax.tf as tf
from stratax import errors
from tests.cluster.processes import run_tasks

WARNING = "takes datasets or text out of a dataset"


def batches(strategy, names=("a", "bc", "def", "g")):
    numbers = [float(number) for number in range(1, len(names) + 1)]
    dataset = tf.data.Dataset.from_tensor_slices({"name": list(names), "x": numbers})
    return strategy.experimental_distribute_dataset(dataset.batch(2))


def components(strategy, value):
    return [each.numpy().tolist() for each in strategy.experimental_local_results(value)]


@pytest.fixture(params=["mirrored", "one"])
def strategy(request):
    if request.param == "one":
        return tf.distribute.OneDeviceStrategy("CPU:0")
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def test_each_replica_has_its_part_on_the_host():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    found = [components(strategy, batch["name"]) for batch in batches(strategy)]
    assert found == [[[b"a"], [b"bc"]], [[b"def"], [b"g"]]]
    given = strategy.experimental_distribute_values_from_function(lambda context: tf.constant(["a", "b"]))
    assert components(strategy, given) == [[b"a", b"b"]] * 2
    with pytest.raises(TypeError, match="(?s)gather takes numbers.*experimental_local_results"):
        strategy.gather(given, axis=0)
    with pytest.raises(errors.StrataxError, match="make it numbers before"):
        strategy.reduce("SUM", given, axis=None)


@pytest.mark.filterwarnings("error")
def test_a_step_that_leaves_it_alone_is_one_compiled_program(strategy):
    traced = []
    total = tf.Variable(0.0)

    def step(batch):
        traced.append(batch)
        total.assign_add(tf.reduce_sum(batch["x"]))
        return batch["name"], batch["x"] * 2.0

    found = [strategy.run(step, args=(batch,)) for batch in batches(strategy)]
    names = [name for batch, _ in found for part in components(strategy, batch) for name in part]
    doubled = [x for _, batch in found for part in components(strategy, batch) for x in part]
    assert (names, doubled) == ([b"a", b"bc", b"def", b"g"], [2.0, 4.0, 6.0, 8.0])
    # The first trace may find out where variables are; Python would call it for each replica and batch.
    assert len(traced) <= 2


@pytest.mark.filterwarnings(f"ignore:.*{WARNING}")
class TestUsed:
    @pytest.mark.parametrize(
        ("use", "expected"),
        [
            (tf.strings.length, [1, 2, 3, 1]),
            (lambda names: tf.shape(names)[:1] * 0, [0] * 4),
            (lambda names: tf.cast(names == "bc", tf.int32), [0, 1, 0, 0]),
            (lambda names: tf.strings.upper(names), [b"A", b"BC", b"DEF", b"G"]),
            (lambda names: names + "!", [b"a!", b"bc!", b"def!", b"g!"]),
        ],
    )
    def test_replicas_compute_with_it_in_python(self, use, expected):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        runs = [strategy.run(lambda batch: use(batch["name"]), args=(batch,)) for batch in batches(strategy)]
        assert [x for each in runs for part in components(strategy, each) for x in part] == expected

    def test_it_is_printed(self, strategy, capfd):
        for batch in batches(strategy):
            strategy.run(lambda batch: tf.print(batch["name"]), args=(batch,))
        assert re.findall("[a-z]+", capfd.readouterr().err) == ["a", "bc", "def", "g"]

    def test_functions_loop_over_it_and_take_it(self, strategy):
        scale = tf.Variable(1.0)

        def step(batch):
            lengths = tf.reduce_sum(tf.strings.length(batch["name"]))
            scale.assign_add(1.0)
            return tf.reduce_sum(batch["x"]) + tf.cast(lengths, tf.float32)

        @tf.function
        def epoch(dataset):
            total = 0.0
            for batch in dataset:
                total += strategy.reduce("SUM", strategy.run(step, args=(batch,)), axis=None)
            return total

        @tf.function
        def take(iterator):
            run = strategy.run(lambda batch: tf.reduce_sum(batch["x"]), args=(next(iterator),))
            return strategy.reduce("SUM", run, axis=None)

        assert float(epoch(batches(strategy))) == 17.0
        assert float(scale) == 3.0
        iterator = iter(batches(strategy))
        assert [float(take(iterator)) for _ in range(2)] == [3.0, 7.0]

    def test_a_batch_that_does_not_divide_is_whole(self):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        last = list(batches(strategy, ("a", "bc", "def")))[-1]
        lengths = strategy.run(lambda batch: tf.strings.length(batch["name"]), args=(last,))
        assert components(strategy, lengths) == [[3]]

    def test_what_fails_with_it_says_why(self, strategy):
        (batch, _) = batches(strategy)
        with pytest.raises(errors.StrataxError, match="text|string"):
            strategy.run(lambda batch: tf.math.sin(batch["name"]), args=(batch,))


PROGRAM = """
import stratax.tf as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
named = tf.data.Dataset.from_tensor_slices({"name": ["a", "bc", "def", "g"], "x": [1.0, 2.0, 3.0, 4.0]}).batch(2)
totals, names = [], []
for batch in strategy.experimental_distribute_dataset(named):
    total, name = strategy.run(lambda batch: (tf.reduce_sum(batch["x"]), batch["name"]), args=(batch,))
    totals.append(float(strategy.reduce("SUM", total, axis=None)))
    names += [each.numpy().tolist()[0].decode() for each in strategy.experimental_local_results(name)]
try:
    strategy.run(lambda batch: tf.strings.length(batch["name"]), args=(batch,))
except Exception as error:
    report(refused=str(error))
report(totals=totals, names=names)
"""


@pytest.mark.processes
def test_each_of_several_workers_has_its_own_part():
    first, second = run_tasks(2, PROGRAM)
    assert [first.code, second.code] == [0, 0], first.err + second.err
    assert first.report["totals"] == second.report["totals"] == [3.0, 7.0]
    assert (first.report["names"], second.report["names"]) == (["a", "def"], ["bc", "g"])
    assert "steps that use neither text" in first.report["refused"]
