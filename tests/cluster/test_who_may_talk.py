"""A stranger of another user id learns nothing at a cluster's port, and can neither join nor disturb."""

import json

import pytest

from tests.cluster.processes import addresses, as_stranger, environment, no_tasks, places
from tests.cluster.programs import CONNECT, TRAIN

pytestmark = pytest.mark.processes

# The stranger knows the protocol and TF_CONFIG, but not the secret: what the task that is missing would send.
INTRUDE = """
host, port, introduction = json.loads(sys.argv[1])

def say(data):
    heard = b""
    with socket.create_connection((host, port), 10) as knocking:
        knocking.settimeout(10)
        try:
            knocking.sendall(data)
            while chunk := knocking.recv(65536):
                heard += chunk
        except OSError:
            pass
    return heard

def hello(kind, key):
    begin = b"STRATAX2" + kind + os.urandom(32)
    return begin + hmac.digest(key, b"hello\\0" + begin, "sha256")

text = json.dumps(introduction).encode()
heard = [say(data) for data in (
    b"GET / HTTP/1.1\\r\\n\\r\\n",
    b"STRATAX1" + struct.pack(">II", len(text), 0) + text,
    hello(b"T", b"guessed") + bytes(32) + text,
    hello(b"J", b"guessed") + bytes(32) + text,
    os.urandom(4096),
)]
print(json.dumps([each.hex() for each in heard]))
"""


def test_a_stranger_is_told_nothing_before_and_after_the_cluster_is_complete(tmp_path):
    cluster = addresses(2)
    host, port = cluster["worker"][0].split(":")
    introduction = {"kind": "task", "index": 1, "name": "/job:worker/task:1", "job": "", "cluster": cluster}
    knock = json.dumps([host, int(port), introduction])
    program = """
train(10)
print("TRAINED", flush=True)
import time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)  # No steps: one task would see the file a step before the other.
"""
    with no_tasks() as running:
        first, second = places(cluster)
        running.start(TRAIN + program, environment(cluster, *first), str(tmp_path / "enough"))
        while "OSError" in (heard := _try(knock)):
            pass
        assert json.loads(heard) == [""] * 5
        running.start(TRAIN + program, environment(cluster, *second), str(tmp_path / "enough"))
        running.wait_for(0, "TRAINED")
        assert json.loads(_try(knock)) == [""] * 5
        (tmp_path / "enough").touch()
        results = running.wait()
    assert [result.code for result in results] == [0, 0], results


def _try(knock):
    """What a stranger hears; "OSError" where nobody listens yet."""
    listens = "try:\n    socket.create_connection(tuple(json.loads(sys.argv[1])[:2]), 10).close()\n"
    return as_stranger(
        f"{listens}except OSError:\n    time.sleep(0.1)\n    print('OSError')\n    sys.exit()\n{INTRUDE}",
        knock,
    )


def test_a_task_with_another_secret_ends_at_once_and_the_others_go_on():
    cluster = addresses(2)
    with no_tasks() as running:
        first, second = places(cluster)
        running.start(CONNECT, environment(cluster, *first))
        wrong = {"STRATAX_CLUSTER_SECRET": "another one, and long enough"}
        running.start(CONNECT, environment(cluster, *second, variables=wrong))
        (refused,) = running.wait(only=[1])
        assert refused.code == 78, refused
        assert "closes the connections of /job:worker/task:1 without an answer" in refused.err
        assert "Received: the secret of STRATAX_CLUSTER_SECRET." in refused.err
        assert wrong["STRATAX_CLUSTER_SECRET"] not in refused.err
        running.start(CONNECT, environment(cluster, *second))
        results = running.wait()
    assert [result.code for result in results] == [0, 78, 0], results


def test_a_cluster_works_without_a_secret_and_says_so_once():
    cluster = addresses(2)
    with no_tasks() as running:
        for place in places(cluster):
            running.start(
                TRAIN + "train(10)", environment(cluster, *place, variables={"STRATAX_CLUSTER_SECRET": ""})
            )
        results = running.wait()
    assert [result.code for result in results] == [0, 0], results
    assert [result.err.count("This cluster has no secret") for result in results] == [1, 0]
