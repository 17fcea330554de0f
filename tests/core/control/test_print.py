import io
import sys

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import core, errors


def printed(function, *args):
    stream = io.StringIO()
    function(stream, *args)
    jax.effects_barrier()
    return stream.getvalue()


def test_values_are_printed_as_in_tensorflow():
    text = printed(
        lambda stream: core.print(
            "x", jnp.arange(3), {"b": [keras.Variable(2.0), 1.5], "a": "s"}, None, output_stream=stream
        )
    )
    assert text == "x [0 1 2] {'a': 's', 'b': [2, 1.5]} None\n"


def test_of_large_arrays_the_ends_are_printed():
    rows = jnp.arange(24).reshape(2, 3, 4)
    assert printed(lambda s: core.print(jnp.arange(7), jnp.arange(6), output_stream=s)) == (
        "[0 1 2 ... 4 5 6] [0 1 2 3 4 5]\n"
    )
    assert printed(lambda s: core.print(rows, summarize=1, output_stream=s)) == (
        "[[[0 ... 3]\n  ...\n  [8 ... 11]]\n\n [[12 ... 15]\n  ...\n  [20 ... 23]]]\n"
    )
    assert (
        printed(lambda s: core.print(jnp.arange(8), summarize=-1, output_stream=s)) == "[0 1 2 3 4 5 6 7]\n"
    )


def test_arrays_of_numpy_are_shown_as_numpys_shapes_and_dtypes_as_themselves():
    shape = tf.TensorShape([2, None])
    text = printed(
        lambda s: core.print(np.ones(2), np.float32(0.5), shape, [shape], tf.float32, output_stream=s)
    )
    assert (
        text == "array([1., 1.]) np.float32(0.5) TensorShape([2, None]) [TensorShape([2, None])] tf.float32\n"
    )


def test_what_a_compiled_function_knows_of_shapes_prints_as_tensors():
    stream = io.StringIO()

    @tf.function
    def show(x):
        tf.print(tf.shape(x), tf.size(x), [tf.shape(x)[0]], tf.constant("a"), sep="|", output_stream=stream)

    show(tf.ones((2, 3)))
    jax.effects_barrier()
    assert stream.getvalue() == '[2 3]|6|[2]|"a"\n'


def test_ragged_and_sparse_tensors_print():
    ragged, sparse = tf.ragged.constant([[1, 2], [3]]), tf.sparse.from_dense([[1, 0]])
    assert printed(lambda s: core.print(ragged, sparse, output_stream=s)) == (
        "[[1, 2], [3]] 'SparseTensor(indices=[[0 0]], values=[1], shape=[1 2])'\n"
    )


def test_it_prints_to_the_end_of_a_file_and_by_a_function(tmp_path):
    lines = []
    for number in range(2):
        core.print("line", number, output_stream=f"file://{tmp_path}/log.txt")
        core.print("line", number, output_stream=lines.append)
    assert (tmp_path / "log.txt").read_text() == "line 0\nline 1\n"
    assert lines == ["line 0", "line 1"]


def test_text_prints_as_in_tensorflow():
    texts = np.array([b"a", b"b"], object)
    assert (
        printed(lambda s: core.print(b"x", [b"y", texts], texts, output_stream=s))
        == '"x" ["y", ["a" "b"]] ["a" "b"]\n'
    )


def test_separator_and_end_are_used():
    assert printed(lambda s: core.print(1, "b", sep="-", end="!", output_stream=s)) == "1-b!"


def test_the_default_stream_is_the_standard_error(capsys):
    core.print("hello")
    assert capsys.readouterr().err == "hello\n"


def test_a_compiled_function_prints_every_time_it_runs_with_its_own_values():
    stream = io.StringIO()
    traced = []

    @core.function
    def step(x):
        traced.append(1)
        core.print("x =", x, {"twice": x * 2}, output_stream=stream)
        return x

    step(jnp.float32(1.0))
    step(jnp.float32(3.0))
    jax.effects_barrier()
    assert stream.getvalue() == "x = 1 {'twice': 2}\nx = 3 {'twice': 6}\n"
    assert len(traced) == 1


def test_a_text_without_arrays_is_printed_when_the_program_runs_too():
    stream = io.StringIO()

    @core.function
    def step(x):
        core.print("step", output_stream=stream)
        return x

    step(1)
    step(1)
    jax.effects_barrier()
    assert stream.getvalue() == "step\nstep\n"


def test_a_loop_prints_in_every_iteration():
    stream = io.StringIO()

    @core.function
    def count(n):
        for i in core.range(n):
            core.print(i, output_stream=stream)

    count(jnp.int32(3))
    jax.effects_barrier()
    assert sorted(stream.getvalue().split()) == ["0", "1", "2"]


def test_a_branch_prints_only_when_it_is_taken():
    stream = io.StringIO()

    @core.function
    def check(x):
        if x > 0:
            core.print("positive", output_stream=stream)
        return x

    check(jnp.float32(-1.0))
    check(jnp.float32(1.0))
    jax.effects_barrier()
    assert stream.getvalue() == "positive\n"


def test_every_replica_of_a_mapped_function_prints():
    stream = io.StringIO()
    mesh = jax.make_mesh((2,), ("replica",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("replica")

    def replica(x):
        core.print("part", x, output_stream=stream)
        return x

    jax.jit(jax.shard_map(replica, mesh=mesh, in_specs=spec, out_specs=spec))(jnp.arange(4.0))
    jax.effects_barrier()
    assert sorted(stream.getvalue().splitlines()) == ["part [0 1]", "part [2 3]"]


@pytest.mark.parametrize("summarize", [-2, 1.5])
def test_how_much_is_shown_is_a_whole_number(summarize):
    with pytest.raises(errors.BadTypeError, match=f"-1 for all. Received: summarize={summarize}"):
        core.print("x", summarize=summarize)


@pytest.mark.parametrize("name", ["sep", "end"])
def test_separator_and_end_have_to_be_text(name):
    with pytest.raises(errors.BadTypeError, match=f"Expected: {name} to be a string. Received: {name}=1"):
        core.print("x", **{name: 1})


def test_the_stream_has_to_be_writable():
    with pytest.raises(
        errors.BadArgumentError, match="can't write to `output_stream`.*Received: output_stream=3"
    ):
        core.print("x", output_stream=3)


def test_standard_output_can_be_chosen(capsys):
    core.print("x", output_stream=sys.stdout)
    assert capsys.readouterr().out == "x\n"
