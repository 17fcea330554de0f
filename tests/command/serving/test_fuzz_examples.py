"""Whatever comes as an Example or an image: the answer is a JSON error of 4xx, and the next good one is answered."""

import base64
import json
import random
import resource
import struct
import zlib

import pytest

import stratax.tf as tf
from stratax.export import ExportedFunction, TensorInfo, save
from tests.command.serving.serving import ask, serving
from tests.command.serving.test_fuzz import Client, check, deep, no_number, noise, truncated

TEXT = {"inputs": TensorInfo("string", (None,))}
FEATURES = {"x": tf.io.FixedLenFeature([2], tf.float32), "n": tf.io.FixedLenFeature([], tf.int64, 1)}
GOOD = {"examples": [{"x": [1.0, 2.0]}, {"x": [3.0, 4.0], "n": 2}]}
ANSWERS = {
    "classify": {"result": [[["a", 1.0], ["b", 2.0]], [["a", 6.0], ["b", 8.0]]]},
    "regress": {"result": [3.0, 14.0]},
}


def scores(inputs):
    found = tf.io.parse_example(inputs["inputs"], FEATURES)
    return found["x"] * tf.cast(found["n"], tf.float32)[:, None]


def classified(inputs):
    made = scores(inputs)
    return {
        "scores": made,
        "classes": tf.gather(["a", "b"], tf.add(tf.zeros_like(tf.cast(made, tf.int32)), [[0, 1]])),
    }


def regressed(inputs):
    return {"outputs": tf.reduce_sum(scores(inputs), 1)}


def sized(inputs):
    def total(contents):
        return tf.reduce_sum(tf.cast(tf.io.decode_image(contents, 3, expand_animations=False), tf.int32))

    return {"sum": tf.map_fn(total, inputs["inputs"], tf.int32)}


def png(width, height, content=b""):
    """A PNG file that says that it has so many pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", content) + chunk(b"IEND", b"")


def other_feature(rng):
    value = rng.choice(
        [
            *(
                None,
                True,
                {},
                [],
                [None],
                [[1.0, 2.0]],
                [1.0, "a"],
                1 << 70,
                "x",
                [1e300, 1.0],
                [1.0],
                ["a", "b"],
            ),
            *(
                [1.0, 2.0, 3.0],
                [1, 2],
                {"b64": "?"},
                {"b64": 3},
                {"x": 1},
                {"b64": "A" * rng.randrange(1, 5000)},
            ),
        ]
    )
    return json.dumps({"examples": [{"x": [1.0, 2.0]}, {"x": value}]}).encode()


def other_examples(rng):
    value = rng.choice(
        [None, {}, 3, "x", [], [None], [[]], [3], ["x"], [{}], [{"y": 1.0}], {"x": [1.0, 2.0]}]
    )
    name = rng.choice(["examples", "example", "instances", "inputs", "\ud800", ""])
    context = rng.choice([{}, {"context": 3}, {"context": {"x": None}}, {"context": [{}]}])
    return json.dumps({name: value, **context}).encode()


BODIES = [truncated, deep, no_number, noise, other_feature, other_examples]


def other_image(rng):
    sides = [1 << power for power in range(12, 31, 3)]
    content = rng.choice(
        [
            b"",
            rng.randbytes(rng.randrange(200)),
            png(rng.choice(sides), rng.choice(sides)),
            png(60_000, 60_000, zlib.compress(bytes(1 << 20), 9)),
            png(8, 8, zlib.compress(bytes(10))),
            png(0, 8),
            png(8, 8, zlib.compress(bytes(200)))[: rng.randrange(60)],
            b"\xff\xd8\xff\xe0" + rng.randbytes(40),
            b"GIF89a" + rng.randbytes(40),
            b"BM" + rng.randbytes(60),
            b"RIFF\x10\0\0\0WEBPVP8 " + rng.randbytes(40),
        ]
    )
    return json.dumps(
        {"signature_name": "sized", "instances": [{"b64": base64.b64encode(content).decode()}]}
    ).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("fuzzed")
    signatures = {
        "serving_default": ExportedFunction(classified, TEXT, "classify"),
        "regression": ExportedFunction(regressed, TEXT, "regress"),
        "sized": ExportedFunction(sized, TEXT),
    }
    save(None, base / "1", signatures, platforms=["cpu"])
    with serving(base) as server:
        yield server


def check_all(server, rng, *, times):
    client = Client(server.port)
    for number in range(times):
        if rng.random() < 0.7:
            body = rng.choice(BODIES)(rng)
            path = f"/v1/models/m:{rng.choice(['classify', 'regress'])}"
        else:
            body, path = other_image(rng), "/v1/models/m:predict"
        check(client.post(body, path), body)
        if number % 25 == 0:
            for method, name in (("classify", "serving_default"), ("regress", "regression")):
                asked = {**GOOD, "signature_name": name}
                assert ask(server, "POST", f"/v1/models/m:{method}", asked) == (200, ANSWERS[method])


def test_wrong_examples_and_images_are_told_so_and_harm_no_others(server):
    check_all(server, random.Random(0), times=150)


@pytest.mark.stress
def test_thousands_of_wrong_examples_and_images_cost_no_memory(server):
    rng = random.Random(1)
    check_all(server, rng, times=500)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check_all(server, rng, times=5000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 200_000, "In KiB."
