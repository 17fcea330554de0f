"""Strangers at the ports of a job: hundreds of held connections of all kinds, from before its workers come."""

import contextlib
import itertools
import socket
import threading
import time

import psutil
import pytest

from stratax.cluster._handshake import MAGIC, TASK, ClientHandshake
from tests.cluster.processes import addresses, environment, no_tasks

pytestmark = [pytest.mark.processes, pytest.mark.stress]

HELD = 800
# What strangers send before they say nothing more: of TLS, of HTTP, of this protocol with another secret, and garbage.
SENT = [
    b"",
    b"GET / HTTP/1.1\r\nHost: worker\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32),
    MAGIC,
    MAGIC[:1],
    ClientHandshake(b"another" * 5, TASK).hello,
    bytes(range(256)) * 20,
]
PROGRAM = """
    import numpy as np, keras
    import stratax as sx

    strategy = sx.distribute.MultiWorkerMirroredStrategy()
    # Gloo listens now.
    time.sleep(5)
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile("sgd", "mse")
    x = np.arange(96, dtype="float32").reshape(32, 3) / 96
    history = model.fit(x, x.sum(1, keepdims=True), batch_size=8, epochs=3, shuffle=False, verbose=0)
    report(loss=history.history["loss"])
"""


def ports_of(process):
    """The ports at which a process listens."""
    with contextlib.suppress(psutil.Error):
        found = psutil.Process(process).net_connections(kind="tcp")
        return {each.laddr.port for each in found if each.status == psutil.CONN_LISTEN}
    return set()


def is_open(stranger):
    """Whether the other end has left a connection open."""
    try:
        return stranger.recv(1, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


class Strangers:
    """Holds connections at every port of some processes, and makes new ones where these are closed."""

    def __init__(self):
        self.made = {}
        self.largest = {}
        self._processes = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def watch(self, process):
        self._processes.append(process)

    def wait_for(self, count):
        """Wait until so many connections were made."""
        deadline = time.monotonic() + 60
        while sum(self.made.values()) < count:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()

    def _hold(self):
        held, words = {}, itertools.cycle(SENT)
        with contextlib.ExitStack() as stack:
            while not self._stop.wait(0.05):
                for process in list(self._processes):
                    with contextlib.suppress(psutil.Error):
                        size = psutil.Process(process).memory_info().rss
                        self.largest[process] = max(self.largest.get(process, 0), size)
                    for port in ports_of(process):
                        here = held[port] = [each for each in held.get(port, []) if is_open(each)]
                        for _ in range(min(HELD - len(here), 100)):
                            with contextlib.suppress(OSError):
                                here.append(socket.create_connection(("127.0.0.1", port), timeout=1))
                                stack.callback(here[-1].close)
                                here[-1].sendall(next(words))
                                self.made[port] = self.made.get(port, 0) + 1


def losses(attacked):
    """The losses of two workers, the largest memory of each, and the connections that were held at most."""
    cluster = addresses(2)
    with no_tasks() as running, Strangers() as strangers:
        for index in range(2):
            running.start(PROGRAM, environment(cluster, "worker", index))
            if attacked:
                strangers.watch(running.pid(index))
                if not index:
                    running.wait_for(0, "1 of 2 tasks joined")
                    strangers.wait_for(HELD)
        results = running.wait(150)
    assert [result.code for result in results] == [0, 0], "".join(result.err for result in results)
    return [result.report["loss"] for result in results], strangers


def test_eight_hundred_held_connections_at_every_port_keep_nobody_out():
    alone, _ = losses(attacked=False)
    attacked, strangers = losses(attacked=True)
    assert attacked == alone
    # At the chief's own door, and at Gloo's of both workers, which keeps what comes.
    print(strangers.made, strangers.largest)
    assert len(strangers.made) == 3
    assert max(strangers.made.values()) >= HELD
    assert max(strangers.largest.values()) < 1.5e9
