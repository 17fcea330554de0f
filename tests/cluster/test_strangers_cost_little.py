"""Hundreds of connections of strangers take no memory to speak of, and the workers get in all the same."""

import json
import subprocess
import sys

import pytest

from tests.cluster.processes import addresses, environment, no_tasks, places
from tests.cluster.programs import TRAIN

pytestmark = pytest.mark.processes

# Connections that are opened again as soon as they are closed, until the process is ended. Each of them wants to send
# much, and says so as messages did before they were authenticated.
FLOOD = """
import errno, json, os, selectors, socket, struct, sys, time
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
host, port, count = json.loads(sys.argv[1])
beginnings = [b"", b"STRATAX2", b"STRATAX1" + struct.pack(">II", 4_000_000, 0), os.urandom(100)]
selector, made = selectors.DefaultSelector(), 0

def connect():
    global made
    stranger = socket.socket()
    stranger.setblocking(False)
    stranger.connect_ex((host, port))
    selector.register(stranger, selectors.EVENT_WRITE | selectors.EVENT_READ, made % len(beginnings))
    made += 1

for _ in range(count):
    connect()
print("FLOODING", flush=True)
junk = bytes(65536)
while True:
    for key, events in selector.select(1):
        stranger = key.fileobj
        try:
            if events & selectors.EVENT_READ:
                assert not stranger.recv(1), "a stranger was told something"
                raise ConnectionError
            stranger.send(beginnings[key.data] or b"")
            if key.data > 1:
                stranger.send(junk)
            else:
                selector.modify(stranger, selectors.EVENT_READ, key.data)
        except BlockingIOError:
            pass
        except OSError:
            selector.unregister(stranger)
            stranger.close()
            connect()
    time.sleep(0.01)
"""


@pytest.mark.programs
def test_workers_join_and_train_in_a_flood_of_strangers():
    cluster = addresses(2)
    host, port = cluster["worker"][0].split(":")
    program = """
import resource
train(20)
memory = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = memory()
print("TRAINED", flush=True)
train(100)
report(grown=memory() - before)
"""
    command = [sys.executable, "-I", "-c", FLOOD, json.dumps([host, int(port), 400])]
    with no_tasks() as running, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as flood:
        try:
            assert flood.stdout.readline() == "FLOODING\n"
            for place in places(cluster):
                running.start(TRAIN + program, environment(cluster, *place))
            results = running.wait()
            assert flood.poll() is None
        finally:
            flood.kill()
    assert [result.code for result in results] == [0, 0], results
    assert results[0].report["grown"] < 50, results
