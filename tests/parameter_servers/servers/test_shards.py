"""A server's arrays are replaced in one go, and who reads gets one version of each."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from stratax.errors import BadArgumentError, FailedPreconditionError
from stratax.parameter_servers.servers import Shards


def exported(function, *specs):
    return bytes(export.export(jax.jit(function))(*specs).serialize())


def add_to(size, dtype="float32"):
    spec = jax.ShapeDtypeStruct((size,), dtype)
    return exported(lambda values, others, sent: [values[0] + sent[0]], [spec], [], [spec])


def value_of(shards, name):
    with shards.reading([name], {}) as (_, arrays):
        return np.array(arrays[name])


def test_what_is_created_twice_keeps_its_value():
    shards = Shards()
    assert shards.create("w", np.ones(2))
    assert not shards.create("w", np.zeros(2))
    assert value_of(shards, "w").tolist() == [1.0, 1.0]
    with pytest.raises(BadArgumentError, match=r"variable 'w' of another kind.*shape=\(3,\)"):
        shards.create("w", np.ones(3))


def test_only_what_changed_is_read():
    shards = Shards()
    shards.create("a", np.ones(2))
    shards.create("b", np.ones(2))
    with shards.reading(["a", "b"], {}) as (versions, _):
        assert versions == {"a": 0, "b": 0}
    shards.assign(["b"], [np.zeros(2)])
    with shards.reading(["a", "b"], versions) as (versions, arrays):
        assert versions == {"a": 0, "b": 1}
        assert list(arrays) == ["b"]


def test_an_assignment_of_a_wrong_value_changes_nothing():
    shards = Shards()
    shards.create("a", np.ones(2))
    shards.create("b", np.ones(2))
    with pytest.raises(BadArgumentError, match=r"does not fit variable 'b'.*Received: shape=\(3,\)"):
        shards.assign(["a", "b"], [np.zeros(2), np.zeros(3)])
    assert value_of(shards, "a").tolist() == [1.0, 1.0]


def test_an_update_computes_with_what_it_reads_and_is_sent():
    shards = Shards()
    for name, value in (("w", [1.0, 2.0]), ("m", [0.0, 0.0]), ("rate", [0.5, 0.5])):
        shards.create(name, np.array(value, "float32"))
    spec = jax.ShapeDtypeStruct((2,), "float32")
    momentum = exported(
        lambda values, others, sent: [
            values[0] - others[0] * (0.9 * values[1] + sent[0]),
            0.9 * values[1] + sent[0],
        ],
        [spec, spec],
        [spec],
        [spec],
    )
    shards.define("momentum", momentum, ["w", "m"], ["rate"])
    for count in (1, 2):
        assert shards.apply("momentum", [np.array([1.0, 2.0], "float32")]) == {"w": count, "m": count}
    np.testing.assert_allclose(value_of(shards, "m"), [1.9, 3.8])
    np.testing.assert_allclose(value_of(shards, "w"), [1 - 0.5 - 0.95, 2 - 1 - 1.9], rtol=1e-6)
    assert shards.num_applied("momentum") == 2


def test_what_is_missing_or_no_program_is_told():
    shards = Shards()
    with pytest.raises(FailedPreconditionError, match="no update 'u'"):
        shards.apply("u", [])
    with pytest.raises(BadArgumentError, match="no function that JAX of this version exported"):
        shards.define("u", b"garbage", [], [])
    shards.define("u", add_to(2), ["w"], [])
    with pytest.raises(FailedPreconditionError, match="keeps no variable 'w'"):
        shards.apply("u", [np.ones(2, "float32")])


def test_who_reads_keeps_the_version_that_was_read():
    shards = Shards()
    shards.create("w", np.zeros(1000, "float32"))
    shards.define("add", add_to(1000), ["w"], [])
    with shards.reading(["w"], {}) as (_, arrays):
        for _ in range(3):
            shards.apply("add", [np.ones(1000, "float32")])
        assert arrays["w"].tolist() == [0.0] * 1000
    assert value_of(shards, "w").tolist() == [3.0] * 1000


def test_what_is_sent_is_not_kept_beside_its_copy():
    shards = Shards()
    shards.create("t", np.zeros((1000, 4), "float32"))
    shards.define("add", adding_to_rows(), ["t"], [], [1000, 0])
    sent = [np.array([3], "int32"), np.ones((1, 4), "float32")]
    shards.apply("add", sent)
    assert sent == []
    with pytest.raises(BadArgumentError, match=r"another number of arrays. Expected: 2. Received: 1"):
        shards.apply("add", [np.array([3], "int32")])
    assert value_of(shards, "t")[3].tolist() == [1.0] * 4


def test_memory_is_used_again_where_nobody_reads():
    shards = Shards()
    shards.create("w", np.zeros(1 << 20, "float32"))
    shards.define("add", add_to(1 << 20), ["w"], [])
    one = np.ones(1 << 20, "float32")
    shards.apply("add", [one])
    before = shards._shards["w"].value.unsafe_buffer_pointer()
    shards.apply("add", [one])
    assert shards._shards["w"].value.unsafe_buffer_pointer() == before


def test_no_torn_value_is_read_and_no_update_lost_among_threads():
    shards = Shards()
    size, num_threads, num_updates = 200_000, 3, 30
    shards.create("w", np.zeros(size, "float32"))
    shards.define("add", add_to(size), ["w"], [])
    torn = []
    done = threading.Event()

    def read():
        while not done.is_set():
            with shards.reading(["w"], {}) as (versions, arrays):
                if set(np.unique(arrays["w"])) != {float(versions["w"])}:
                    torn.append(versions)

    def add():
        for _ in range(num_updates):
            shards.apply("add", [np.ones(size, "float32")])

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=add) for _ in range(num_threads)]
    reader.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    reader.join()
    assert torn == []
    assert value_of(shards, "w").tolist() == [float(num_threads * num_updates)] * size
    assert jnp.float32(shards.num_applied("add")) == num_threads * num_updates


def adding_to_rows():
    """A program that adds what it is sent to rows of an array of 4 columns."""
    (count,) = export.symbolic_shape("rows")
    table = jax.ShapeDtypeStruct((1000, 4), "float32")
    sent = [jax.ShapeDtypeStruct((count,), "int32"), jax.ShapeDtypeStruct((count, 4), "float32")]
    return exported(lambda v, _, s: [v[0].at[s[0]].add(s[1], mode="drop")], [table], [], sent)


def test_rows_are_read_and_updated_alone():
    shards = Shards()
    shards.create("t", np.arange(4000, dtype="float32").reshape(1000, 4))
    shards.define("add", adding_to_rows(), ["t"], [], [1000, 0])
    for count in (1, 3, 17, 100):
        numbers = np.arange(count, dtype="int32") * 7
        (before,) = shards.rows(["t"], [numbers])
        shards.apply("add", [numbers, np.ones((count, 4), "float32")])
        (after,) = shards.rows(["t"], [numbers])
        assert before.shape == (count, 4)
        assert (after - before == 1).all()
    before = shards._shards["t"].value.unsafe_buffer_pointer()
    shards.apply("add", [numbers, np.zeros((count, 4), "float32")])
    assert shards._shards["t"].value.unsafe_buffer_pointer() == before
    # What fills a message up to a size that programs are compiled for changes nothing.
    assert value_of(shards, "t")[1].tolist() == [4.0, 5.0, 6.0, 7.0]
    assert shards.rows(["t"], [np.zeros(0, "int32")])[0].shape == (0, 4)


@pytest.mark.parametrize(
    "numbers", [np.array([1000], "int32"), np.array([-1], "int32"), np.array([[1]], "int32"), np.array([1])]
)
def test_rows_that_an_array_does_not_have_are_refused(numbers):
    shards = Shards()
    shards.create("t", np.zeros((1000, 4), "float32"))
    with pytest.raises(BadArgumentError, match=r"'t' has no such rows.*below the number.*\(1000, 4\)"):
        shards.rows(["t"], [numbers])
    with pytest.raises(FailedPreconditionError, match="keeps no variable 'u'"):
        shards.rows(["u"], [np.array([1], "int32")])


def test_rows_that_are_read_while_others_update_them_are_of_one_version():
    shards = Shards()
    shards.create("t", np.zeros((1000, 4), "float32"))
    shards.define("add", adding_to_rows(), ["t"], [], [1000, 0])
    numbers = np.arange(1000, dtype="int32")
    ended = threading.Event()

    def update():
        while not ended.is_set():
            shards.apply("add", [numbers, np.ones((1000, 4), "float32")])

    thread = threading.Thread(target=update)
    thread.start()
    seen = set()
    try:
        # As many versions; one that is torn would have two numbers.
        while len(seen) < 50:
            seen.add(np.unique(shards.rows(["t"], [numbers])[0]).item())
    finally:
        ended.set()
        thread.join()
    assert len(seen) == 50
