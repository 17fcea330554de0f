"""Whatever comes over the wire, the answer is a JSON error of 4xx, and the next good request is answered."""

import http.client
import json
import random
import resource
import socket
import string

import pytest

from tests.command.serving.serving import predict, serving, write

GOOD = {"instances": [[1, 2], [3, 4]]}
PATH = "/v1/models/m:predict"
MOST_BODY = 1 << 20


def truncated(rng):
    text = json.dumps(GOOD | {"signature_name": "serving_default"})
    return text[: rng.randrange(len(text))].encode()


def other_value(rng):
    leaf = rng.choice(
        [None, True, "1", "x" * rng.randrange(2000), {}, [], {"b64": "AA=="}, {"b64": 3}, [[1]], {"x": 1}]
    )
    rows = [[1, 2], [3, 4]]
    rows[rng.randrange(2)][rng.randrange(2)] = leaf
    return json.dumps({rng.choice(["instances", "inputs"]): rows}).encode()


def other_shape(rng):
    def of(shape):
        return [of(shape[1:]) for _ in range(shape[0])] if shape else rng.random()

    while len(shape := [rng.randrange(4) for _ in range(rng.randrange(5))]) == 2 and shape[1] == 2:
        pass
    # Lists without a value may be of any shape.
    if 0 in shape:
        shape = [3, 3]
    return json.dumps({rng.choice(["instances", "inputs"]): of(shape)}).encode()


def ragged(rng):
    rows = [
        [1.0] * rng.choice([0, 1, 3, 5]) if rng.random() < 0.5 else [1, 2]
        for _ in range(rng.randrange(1, 50))
    ]
    return json.dumps({"instances": [*rows, [1]]}).encode()


def huge_number(rng):
    sign = rng.choice(["", "-"])
    number = rng.choice(
        [
            str(rng.randrange(1 << 24, 1 << 80)),
            "9" * rng.randrange(20, 6000),
            f"1e{rng.randrange(39, 5000)}",
            f"{'9' * 400}.5",
        ]
    )
    return f'{{"instances": [[1, {sign}{number}]]}}'.encode()


def no_number(rng):
    number = rng.choice(
        ["nan", "inf", "+1", "01", "1.", ".5", "0x10", "1_0", "--1", "1e", "NaNN", "Infinit", "'1'"]
    )
    return f'{{"instances": [[1, {number}]]}}'.encode()


def deep(rng):
    depth = int(10 ** rng.uniform(0.7, 5.3))
    opened, closed = rng.choice([("[", "]"), ('{"x":', "}"), ('[{"b64":', "}]")])
    return f'{{"instances": {opened * depth}1{closed * rng.choice([0, depth])}}}'.encode()


def other_keys(rng):
    names = [
        "instance",
        "input",
        "",
        "signature_name",
        "examples",
        "x" * rng.randrange(1, 5000),
        "\ud800",
        "\0",
    ]
    values = [GOOD["instances"], None, 1, "x", [], {}, [{}], [None], {"x": None}, {"y": [[1, 2]]}]
    given = {name: rng.choice(values) for name in rng.sample(names, rng.randrange(len(names)))}
    given |= rng.choice([{}, {"instances": rng.choice(values[1:])}, {"inputs": rng.choice(values[1:])}])
    return json.dumps(rng.choice([given, list(given), None, "x", 3])).encode()


def noise(rng):
    return b"\xff" + rng.randbytes(rng.randrange(3000)) if rng.random() < 0.5 else b"{" + rng.randbytes(50)


def base64_bomb(rng):
    text = "A" * rng.randrange(1, MOST_BODY // 2)
    return json.dumps({"instances": [{"b64": text}], "signature_name": "serving_default"}).encode()


def too_large(rng):
    return b'{"instances": [' + b"[1,2]," * (MOST_BODY // 5) + b"[1,2]]}"


BODIES = [truncated, other_value, other_shape, ragged, huge_number, no_number, deep, other_keys, noise]
RARE_BODIES = [base64_bomb, too_large]


def other_path(rng):
    step = rng.choice(
        ["..", "%2e%2e", "%2F", ".", "", "%00", "m%20", "M", "m;x", "%c3%28", "m" * rng.randrange(1, 9000)]
    )
    version = rng.choice(
        ["-1", "0x1", "1.0", "", "%EF%BC%91", "9" * rng.randrange(2, 60), "1/..", "../1", "latest"]
    )
    return rng.choice(
        [
            f"/v1/models/{step}/{step}/etc/passwd:predict",
            f"/v1/models/{step}x:predict",
            f"/v1/models/m/versions/{version}:predict",
            f"/v1/models/m/labels/{rng.choice([step, version])}:predict",
            f"/v1/models/m:{rng.choice(['predic', 'predictt', 'classify', 'regress', '', ':predict', 'predict/'])}",
            f"/{step}",
            f"//v1/models/m:predict/{step}",
            f"/v1/models/m/{step}x/metadata",
            "/v2/models/m/infer",
        ]
    )


def other_head(rng):
    good = "Host: here"
    body = json.dumps(GOOD)
    length = f"Content-Length: {len(body)}"
    line = f"POST {PATH} HTTP/1.1"
    word = "".join(rng.choices(string.ascii_letters, k=rng.randrange(1, 30)))
    return rng.choice(
        [
            (line, good, length, f"Content-Length: {len(body) + 1}"),
            (line, good, f"Content-Length: {rng.choice(['-5', '+5', '5, 6', '0x5', '', 'x', '9' * 30])}"),
            (
                line,
                good,
                f"Transfer-Encoding: {rng.choice(['gzip', 'chunked, gzip', 'xchunked', 'chunked, chunked'])}",
            ),
            (
                line,
                good,
                "Transfer-Encoding: chunked",
                "",
                rng.choice(["x", "-1", "fffffffffffffffffffff", "5;\0"]),
            ),
            (line, length),
            (line, good, good, length),
            (line, good, f"{word} : {word}", length),
            (line, good, f"{word}\0: x", length),
            (line, good, f"X: {word}\0", length),
            (line, good, "no colon here", length),
            (line, good, f"X: {'y' * rng.randrange(70_000, 200_000)}", length),
            (line, good, *[f"X{number}: {word}" for number in range(5000)], length),
            (f"{line[:-1]}9", good, "Connection: close, x", f"Content-Length: {MOST_BODY * 2}"),
            (f"POST {PATH} HTTP/99", good, length),
            (f"POST {PATH}", good, length),
            (f"POST  {PATH} HTTP/1.1", good, length),
            (f"PO\0ST {PATH} HTTP/1.1", good, length),
            (
                f"{rng.choice(['PUT', 'DELETE', 'PATCH', 'FOO', 'GET', 'OPTIONS'])} {PATH} HTTP/1.1",
                good,
                length,
            ),
            (f"POST {PATH}\x7f HTTP/1.1", good, length),
            (word, word, word),
            (f"\x16\x03\x01\x02{word}", word),
            (line, good, f"Content-Encoding: {rng.choice(['gzip', 'br', 'deflate', 'x'])}", length),
        ]
    )


def exchanged(port, content):
    """Return the status, the content's type and the content of the answer to what may not be HTTP."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(content)
        answer = http.client.HTTPResponse(connection, method="POST")
        answer.begin()
        return answer.status, answer.headers["content-type"], answer.read()


def check(answer, what):
    """Whether it is an error of 4xx in JSON."""
    code, content_type, text = answer
    assert (code // 100, content_type) == (4, "application/json"), (code, what[:300], text[:300])
    told = json.loads(text)
    assert told.keys() == {"error"}
    assert 0 < len(told["error"]) < 2000, what[:300]
    assert "Traceback" not in told["error"]


class Client:
    """Sends bodies over connections that are kept."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def post(self, body, path=PATH):
        self._connection.request("POST", path, body, {"content-type": "application/json"})
        answer = self._connection.getresponse()
        return answer.status, answer.headers["content-type"], answer.read()


def check_all(server, rng, *, times):
    client = Client(server.port)
    for number in range(times):
        kind = rng.random()
        if kind < 0.7:
            body = rng.choice(RARE_BODIES if rng.random() < 0.01 else BODIES)(rng)
            check(client.post(body), body)
        elif kind < 0.85:
            path = other_path(rng)
            check(client.post(json.dumps(GOOD), path), path)
        else:
            head = "\r\n".join(other_head(rng)).encode("latin-1") + b"\r\n\r\n"
            check(exchanged(server.port, head + json.dumps(GOOD).encode()), head)
        if number % 25 == 0:
            assert predict(server, GOOD) == (200, {"predictions": [[2, 4], [6, 8]]})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("fuzzed")
    write(base / "1", 2)
    with pytest.MonkeyPatch.context() as patch:
        # How long the rest of a body is waited for that never comes.
        patch.setattr("stratax.command.serving._application._DISCARD_SECONDS", 0.02)
        with serving(base, max_body_bytes=MOST_BODY, max_pending_bytes=4 * MOST_BODY) as server:
            yield server


def test_wrong_requests_are_told_so_and_harm_no_others(server):
    check_all(server, random.Random(0), times=200)


@pytest.mark.stress
def test_thousands_of_wrong_requests_cost_no_memory(server):
    rng = random.Random(1)
    check_all(server, rng, times=500)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check_all(server, rng, times=6000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 200_000, "In KiB."
