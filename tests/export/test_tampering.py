"""An export that somebody has changed, checksums and all, is an error or another result, and never anything else."""

import copy
import json
import random

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import DataLossError, StrataxError
from stratax.export import ExportedFunction, TensorInfo, load, save
from stratax.image import encode_jpeg
from stratax.io import seal_text, unseal_text

INPUTS = {"examples": TensorInfo("string", (None,)), "n": TensorInfo("int32", ())}
FEATURES = {
    "x": tf.io.FixedLenFeature([2], tf.float32, [0.5, 1.5]),
    "words": tf.io.VarLenFeature(tf.string),
    "image": tf.io.FixedLenFeature([], tf.string),
}


def pixels(contents):
    return tf.image.resize(tf.cast(tf.io.decode_jpeg(contents, channels=3), tf.float32), [4, 4])


def answer(inputs):
    found = tf.io.parse_example(inputs["examples"], FEATURES)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    words = table.lookup(tf.sparse.to_dense(found["words"], default_value=""))
    images = tf.map_fn(pixels, found["image"], fn_output_signature=tf.float32)
    score = (
        tf.reduce_sum(found["x"], 1) + tf.reduce_mean(images, [1, 2, 3]) + tf.cast(inputs["n"], tf.float32)
    )
    chosen = tf.cast(score > 3.0, tf.int32)
    return {
        "score": score,
        "words": tf.strings.as_string(words[:, :1]),
        "class": tf.gather(["low", "high"], chosen),
    }


def example(x, words):
    image = encode_jpeg(np.full((6, 5, 3), 10 * x, np.uint8))
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[x, x])),
        "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


GIVEN = {"examples": np.array([example(1, [b"a"]), example(2, [b"b", b"c"])], object), "n": np.int32(1)}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "1"
    save(None, folder, {"serving_default": ExportedFunction(answer, INPUTS)}, platforms=["cpu"])
    signature = load(folder).signatures["serving_default"]
    results = signature.program(signature.prepare(GIVEN).arguments)
    return folder, unseal_text((folder / "export.json").read_bytes()), results


def places(values, path=()):
    """Every place within values of JSON, as the keys that lead to it."""
    if path:
        yield path
    items = (
        values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    )
    for key, each in items:
        yield from places(each, (*path, key))


def at(values, path):
    for key in path:
        values = values[key]
    return values


OTHERS = [
    *(None, True, -1, 0, 3, 1 << 40, 1e300, "", "in/examples", "os.system", "float32", "string", [], {}),
    {"ref": "out/score"},
    {"ref": "none"},
    {"array": "AAAA", "dtype": "object", "shape": [1]},
    {"array": "AAAAAA==", "dtype": "int32", "shape": [-1, 1 << 62]},
    {"dtype": "O"},
    {"slice": [0, 1 << 62, 1]},
    {"float": "nan"},
    {"table": {"dict": []}},
    {"feature": "x"},
]


def tampered(rng, body):
    """What an export says of itself, changed in one place or a few."""
    body = copy.deepcopy(body)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        signature = body["signatures"]["serving_default"]
        found = list(places(signature))
        path, other = rng.choice(found), rng.choice(found)
        parent = at(signature, path[:-1])
        kind = rng.randrange(6)
        if kind == 0:
            del parent[path[-1]]
        elif kind == 1:
            parent[path[-1]] = copy.deepcopy(at(signature, other))
        elif kind == 2 and isinstance(parent, list):
            parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(parent[path[-1]]))
        elif kind == 3:
            parent[path[-1]] = [parent[path[-1]]] * rng.choice([0, 1, 3])
        elif kind == 4:
            for _ in range(rng.choice([3, 50])):
                parent[path[-1]] = {"tuple": [parent[path[-1]]]}
        else:
            parent[path[-1]] = rng.choice(OTHERS)
    return body


def outcome(folder, body, results):
    """What loading and calling gives: results, or the error's name; an error that is none of Stratax' is raised."""
    (folder / "export.json").write_bytes(seal_text(body))
    try:
        signature = load(folder).signatures["serving_default"]
        # Without the program, which a plan can't change, and which takes long to compile.
        return signature.finish(signature.prepare(GIVEN), results)
    except StrataxError as error:
        return type(error).__name__


def check(exported, tmp_path, *, seed, times):
    folder, body, results = exported
    rng = random.Random(seed)
    for name in ("programs", "weights.safetensors"):
        if (folder / name).exists():
            (tmp_path / name).symlink_to(folder / name)
    assert set(outcome(tmp_path, body, results)) == {"score", "words", "class"}
    seen = []
    for _ in range(times):
        changed = tampered(rng, body)
        try:
            seen.append(outcome(tmp_path, changed, results))
        except Exception as error:
            raise AssertionError(f"{error!r} of {json.dumps(changed['signatures'])[:3000]}") from error
    # Neither is everything refused, nor is it all taken.
    assert 0.2 < sum(isinstance(each, str) for each in seen) / times < 0.98


def test_a_changed_plan_is_refused_or_computed(exported, tmp_path):
    check(exported, tmp_path, seed=0, times=120)


@pytest.mark.stress
def test_thousands_of_changed_plans_are_refused_or_computed(exported, tmp_path):
    check(exported, tmp_path, seed=1, times=10_000)


@pytest.mark.parametrize(
    ("name", "value"), [("dtype", "O"), ("dtype", "complex64"), ("shape", []), ("shape", [None, None])]
)
def test_a_signature_whose_program_takes_other_arrays_is_refused(tmp_path, name, value):
    inputs = {"x": TensorInfo("float32", (None,))}
    save(
        None,
        tmp_path / "1",
        {"f": ExportedFunction(lambda given: {"y": given["x"] + 1.0}, inputs)},
        platforms=["cpu"],
    )
    body = unseal_text((tmp_path / "1" / "export.json").read_bytes())
    body["signatures"]["f"]["inputs"]["x"][name] = value
    (tmp_path / "1" / "export.json").write_bytes(seal_text(body))
    with pytest.raises(DataLossError, match="is damaged"):
        load(tmp_path / "1")
