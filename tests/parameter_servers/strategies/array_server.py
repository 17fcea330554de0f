"""A process that holds named arrays for others: `python array_server.py SOCKET KEY`. Knows neither JAX nor Stratax."""

import sys
import threading
from multiprocessing.connection import Listener


class Arrays:
    """The arrays, and what has been asked of them."""

    def __init__(self):
        self._arrays = {}
        self._requests = []
        self._lock = threading.Lock()

    def answer(self, kind, *arguments):
        with self._lock:
            if kind == "requests":
                found, self._requests = self._requests, []
                return found
            self._requests.append(kind)
            return getattr(self, kind)(*arguments)

    def create(self, name, array):
        if name in self._arrays:
            raise ValueError(f"There is {name} already.")
        self._arrays[name] = array

    def zeros(self, name, shape, dtype):
        import numpy as np

        self._arrays[name] = np.zeros(shape, dtype)

    def read(self, names):
        return [self._arrays[name] for name in names]

    def write(self, names, arrays):
        self._arrays.update(zip(names, arrays, strict=True))

    def names(self):
        return list(self._arrays)


def serve(connection, arrays):
    """Answers the requests of one connection until it is closed."""
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        try:
            connection.send((True, arrays.answer(*request)))
        except Exception as error:
            connection.send((False, repr(error)))


def main(address, key):
    """Listens until the process is ended."""
    arrays = Arrays()
    with Listener(address, family="AF_UNIX", authkey=key.encode()) as listener:
        print("ready", flush=True)
        while True:
            connection = listener.accept()
            threading.Thread(target=serve, args=(connection, arrays), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
