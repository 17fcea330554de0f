"""Summaries of TensorFlow 1: values of a step, and what writes them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import summary as summary_v2
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import metrics, summary
from stratax.tensorflow.v1.train import summary_iterator


@pytest.fixture
def read(tmp_path):
    """Returns a function that gives the steps and tags that were written."""

    def read(folder=tmp_path):
        return [
            (event.step, [(value.tag, value.simple_value) for value in event.summary.value])
            for path in sorted(folder.iterdir())
            for event in summary_iterator(path)
            if event.HasField("summary")
        ]

    return read


def in_scope(body):
    state = v1.ModelState()

    def step(*args):
        scope = v1.ModelScope(state, "train")
        with scope.entered(args):
            return body(scope, *args)

    return sx.function(step, autograph=False)


def test_summaries_are_values_of_the_step(tmp_path, read):
    def body(scope, x):
        summary.scalar("a", x)
        summary.scalar("a", x + 1, collections=["others"])
        with v1.name_scope("inner"):
            summary.scalar("b", x + 2)
        assert [record.name for record in scope.collections.get("others")] == ["a_1"]
        return {
            "all": summary.merge_all(),
            "one": summary.merge_all(scope="inner"),
            "none": summary.merge_all("no"),
        }

    step = in_scope(body)
    with summary.FileWriter(tmp_path) as writer:
        for number in range(2):
            found = step(np.float32(number))
            assert found["none"] is None
            writer.add_summary(found["all"], number)
        writer.add_summary(found["one"])
    assert step.num_programs == 1
    assert read() == [
        (0, [("a", 0.0), ("inner/b", 2.0)]),
        (1, [("a", 1.0), ("inner/b", 3.0)]),
        (0, [("inner/b", 3.0)]),
    ]


def test_functions_of_tensorflow_2_without_a_step_are_collected_in_a_model_fn(tmp_path):
    def body(scope, x):
        with v1.name_scope("outer"):
            summary_v2.scalar("a", x)
        summary_v2.histogram("h", jnp.stack([x, x + 1]), buckets=2)
        summary_v2.text("t", "text")
        return summary.merge_all()

    with summary.FileWriter(tmp_path) as writer:
        writer.add_summary(in_scope(body)(np.float32(1)), 5)
    (path,) = tmp_path.iterdir()
    *_, event = summary_iterator(path)
    assert [value.tag for value in event.summary.value] == ["outer/a", "h", "t"]
    plugins = [value.metadata.plugin_data.plugin_name for value in event.summary.value]
    assert plugins == ["scalars", "histograms", "text"]


def test_functions_of_tensorflow_2_take_what_an_update_is_worth(tmp_path):
    def body(scope, x):
        _, update = metrics.mean(x)
        summary_v2.scalar("mean", update)
        summary_v2.histogram("all", update, buckets=2)
        return summary.merge_all()

    with summary.FileWriter(tmp_path) as writer:
        writer.add_summary(in_scope(body)(np.float32(3)), 5)
    (path,) = tmp_path.iterdir()
    *_, event = summary_iterator(path)
    assert [value.tag for value in event.summary.value] == ["mean", "all"]
    assert event.summary.value[0].tensor.float_val == [3.0]


def test_outside_of_a_model_fn_they_are_what_a_file_writer_takes(tmp_path, read):
    with summary.FileWriter(tmp_path) as writer:
        merged = summary.merge([summary.scalar("a", 1.0), summary.scalar("b", 2.0, family="f")])
        writer.add_summary(merged, jnp.int32(3))
        writer.add_summary(merged.to_proto().SerializeToString(), 4)
        writer.add_summary(merged.to_proto(), np.int64(5))
    assert read() == [(step, [("a", 1.0), ("f/f/b", 2.0)]) for step in (3, 4, 5)]


def test_outside_of_a_model_fn_a_default_writer_with_a_step_writes_them(tmp_path):
    writer = summary_v2.create_file_writer(tmp_path)
    with writer.as_default(step=3):
        assert summary.scalar("a", 1.0, family="f") == b""
        assert summary.histogram("h", [1.0]) == b""
        assert summary.image("i", np.zeros((1, 1, 1, 1), np.float32)) == b""
        assert summary.audio("s", np.zeros((1, 4), np.float32), 8000) == b""
        assert summary.text("t", "x") == b""
    writer.close()
    (path,) = tmp_path.iterdir()
    tags = [(event.step, value.tag) for event in summary_iterator(path) for value in event.summary.value]
    assert tags == [(3, tag) for tag in ("f/a", "h", "i", "s", "t")]


def test_the_metadata_of_a_tag_is_written_once(tmp_path):
    with summary.FileWriter(tmp_path) as writer:
        for step in range(2):
            writer.add_summary(summary.text("t", "x"), step)
        writer.close()
        writer.reopen()
        writer.add_summary(summary.text("t", "x"), 2)
    events = [event for path in sorted(tmp_path.iterdir()) for event in summary_iterator(path)]
    found = {
        event.step: event.summary.value[0].HasField("metadata") for event in events if event.summary.value
    }
    assert found == {0: True, 1: False, 2: True}


def test_a_file_writer_writes_events_and_session_logs(tmp_path):
    with summary.FileWriter(tmp_path, filename_suffix=".mine") as writer:
        assert writer.get_logdir() == str(tmp_path)
        writer.add_event(summary.Event(step=7, wall_time=1.0))
        writer.add_session_log(summary.SessionLog(status=summary.SessionLog.START), 8)
        writer.add_graph(None)
        writer.flush()
        (path,) = tmp_path.iterdir()
        assert path.suffix == ".mine"
        _, first, second = summary_iterator(path)
    assert (first.step, first.wall_time, second.step, second.session_log.status) == (7, 1.0, 8, 1)


def test_a_closed_file_writer_warns(tmp_path, read):
    writer = summary.FileWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.warns(RuntimeWarning, match=r"reopen\(\)"):
        writer.add_summary(summary.scalar("a", 1.0))
    assert read() == []


def test_writers_of_a_folder_are_shared(tmp_path):
    cache = summary.FileWriterCache
    writer = cache.get(tmp_path)
    assert cache.get(str(tmp_path)) is writer
    cache.clear()
    assert cache.get(tmp_path) is not writer
    cache.clear()


def test_a_record_passes_through_structures_and_loops():
    record = summary.scalar("a", jnp.float32(1))
    doubled = jax.tree.map(lambda x: x * 2, {"r": record})["r"]
    assert doubled.to_proto().value[0].simple_value == 2.0
    assert jax.jit(lambda r: r)(record).to_proto() == record.to_proto()
    assert repr(record) == "<summary 'a'>"


@pytest.mark.parametrize(
    ("make", "kind", "match"),
    [
        (lambda: summary.scalar("a", [1.0, 2.0]), BadArgumentError, r"shape \(2,\)"),
        (lambda: summary.scalar("a", "text"), BadTypeError, "scalar summary holds numbers.*'text'"),
        (lambda: summary.image("a", jnp.zeros((1, 2, 2, 2))), BadArgumentError, "1, 3 or 4 channels"),
        (
            lambda: summary.image("a", jnp.zeros((1, 2, 2, 3)), max_outputs=0),
            BadArgumentError,
            "max_outputs=0",
        ),
        (lambda: summary.audio("a", jnp.zeros((2,)), 8000), BadArgumentError, "several clips"),
        (lambda: summary.text("a", 3), BadTypeError, "holds strings"),
        (lambda: summary.merge([1]), BadTypeError, r"Only summaries can be merged.*1 \(int\)"),
        (lambda: summary.get_summary_description(None), BadTypeError, "no(ne| graph)|there is none"),
    ],
)
def test_what_can_not_be_summarised_says_why(make, kind, match):
    with pytest.raises(kind, match=match):
        make()


def test_only_summaries_are_added(tmp_path):
    with summary.FileWriter(tmp_path) as writer, pytest.raises(BadTypeError, match=r"Received: 3 \(int\)"):
        writer.add_summary(3)
