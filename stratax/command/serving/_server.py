"""A server that listens, until it is told to end (serving layer)."""

import asyncio
import concurrent.futures
import contextlib
import ctypes
import errno
import functools
import json
import logging
import os
import signal
import socket
import struct
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from stratax.base.shown import shown
from stratax.command.serving._options import ServingOptions
from stratax.errors import BadArgumentError, FailedPreconditionError, MissingPackageError

try:
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from stratax.command.serving._application import Application
    from stratax.command.serving._metrics import Metrics
    from stratax.command.serving._models import Models, ServedModel
    from stratax.command.serving._versions import Computing
except ImportError as _error:
    raise MissingPackageError(
        f"Serving needs packages that are not installed ({_error}). Run `pip install 'stratax-train[serve]'`."
    ) from _error

_logger = logging.getLogger("stratax")
# Two: one prepares its arguments while the other computes.
_NUM_THREADS = 2
# In which a request's head has to come.
_HEAD_SECONDS = 10
_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 2048
# Connections that are told that there are too many, or that don't speak yet.
_MORE_CONNECTIONS = 128
# When it ends: for what is on its way through the kernel, and for what comes next over a connection that is kept.
_ARRIVING_SECONDS = 0.1
_GRACE_SECONDS = 2
_POLL_SECONDS = 0.05
_CLOSE_HEADER = (b"connection", b"close")
_SO_ATTACH_FILTER = 26  # Linux'; Python has no name for it.
# Classic BPF over the TCP header: of flags SYN and ACK, SYN alone, a new connection, is dropped.
_WITHOUT_SYN = (
    (0x30, 0, 0, 13),  # Load byte 13, the flags.
    (0x54, 0, 0, 0x12),  # And with SYN | ACK.
    (0x15, 0, 1, 0x02),  # If it is SYN, go on, else pass over one.
    (0x06, 0, 0, 0),  # Drop.
    (0x06, 0, 0, 0xFFFFFFFF),  # Take all of it.
)


class ModelServer:
    """Serves exports over HTTP, as TensorFlow Serving's REST interface does.

    While it serves, Python's garbage collector takes no notice of what there was when a version was loaded
    (`gc.freeze`).

    Attributes:
        port: The port that it listens on; that of the options, until it listens.

    Args:
        options: What it serves, where, and within which limits.
    """

    def __init__(self, options: ServingOptions) -> None:
        self.port = options.port
        self._options = options
        self._listens = threading.Event()
        self._server: _Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT comes, or :meth:`stop` is called; what has begun is finished then."""
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    def start(self) -> None:
        """Serve in a thread of its own, and return when it listens.

        Raises:
            FailedPreconditionError: It can't listen there.
        """

        def body() -> None:
            try:
                self.run()
            except BaseException as error:  # Of a thread: handed to who has started it.
                self._failure = error
            finally:
                self._listens.set()

        self._thread = threading.Thread(target=body, name="stratax-serving", daemon=True)
        self._thread.start()
        self._listens.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End it; what has begun is finished before."""
        if self._loop is not None and self._server is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._server.end)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def __enter__(self) -> "ModelServer":
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    async def _serve(self) -> None:
        options = self._options
        metrics = Metrics()
        with concurrent.futures.ThreadPoolExecutor(_NUM_THREADS, "stratax-serving-compute") as executor:
            computing = Computing(options=options, executor=executor, computed=metrics.count_rows)
            models = Models(
                {
                    name: ServedModel(name, base, options.labels.get(name, {}), computing)
                    for name, base in options.models.items()
                },
                options.poll_seconds,
            )
            ending = threading.Event()
            server = _Server(_configuration(Application(models, options, metrics), options, ending), ending)
            listener = _listener(options)
            self.port = listener.getsockname()[1]
            self._loop, self._server = asyncio.get_running_loop(), server
            await models.refresh()
            watching = asyncio.create_task(models.watch())
            telling = asyncio.create_task(self._tell(server))
            try:
                await server.serve(sockets=[listener])
            finally:
                for task in (watching, telling):
                    task.cancel()
                await asyncio.gather(watching, telling, return_exceptions=True)

    async def _tell(self, server: "_Server") -> None:
        while not server.started:
            await asyncio.sleep(0.01)
        scheme = "http" if self._options.tls_cert is None else "https"
        _logger.info("serving: listening on %s://%s:%d", scheme, self._options.host, self.port)
        self._listens.set()


class _Server(uvicorn.Server):
    """Ends orderly, and with exit code 0, on SIGTERM: Uvicorn's raises the signal again.

    Uvicorn's also closes connections without a request in progress at once, on whose way to it one may be.

    Args:
        config: Uvicorn's configuration.
        ending: Set when it ends.
    """

    def __init__(self, config: uvicorn.Config, ending: threading.Event) -> None:
        super().__init__(config)
        self._ending = ending

    def end(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; TLS has to be agreed on in as much time as a request's head may take, not in asyncio's minute."""
        loop: Any = asyncio.get_running_loop()
        make = loop.create_server
        if self.config.ssl is not None:
            loop.create_server = functools.partial(make, ssl_handshake_timeout=_HEAD_SECONDS)
        try:
            await super().startup(sockets)
        finally:
            loop.create_server = make

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what was sent before connections are closed: what is accepted, or lies in a socket."""
        self._ending.set()
        connections: set[Any] = self.server_state.connections
        for connection in list(connections):
            connection.close_after_answer()
        # The kernel has made connections that nobody has accepted; to close the socket would reset them.
        for listener in sockets or ():
            _refuse_new(listener)
        await asyncio.sleep(_ARRIVING_SECONDS)
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        deadline = asyncio.get_running_loop().time() + _GRACE_SECONDS
        # What computes has its own time limit, which the rest of the shutdown waits for.
        while any(connection.is_idle() for connection in connections):
            if asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(_POLL_SECONDS)
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.end)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)


class _Protocol(H11Protocol):
    """HTTP of clients that may be slow, many or broken: heads have to come in time, and errors are JSON."""

    def __init__(self, *args: Any, max_connections: int, ending: threading.Event, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._max_connections = max_connections
        self._ending = ending
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._max_connections:
            self._refuse(503, "The server has too many connections.")
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._forget_head()
        elif self._head_timer is None and self.timeout_keep_alive_task is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self._ending.is_set():
            self.close_after_answer()

    def is_idle(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def close_after_answer(self) -> None:
        """Have the answer to the request in progress, if there is one, be the last, and say so."""
        if self.is_idle():
            return
        self.cycle.keep_alive = False
        # Uvicorn copies it from the request to an answer that has not begun.
        headers = self.cycle.scope["headers"]
        if _CLOSE_HEADER not in headers:
            self.cycle.scope["headers"] = [*headers, _CLOSE_HEADER]

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(_HEAD_SECONDS, self._give_up_head)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up_head(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self._refuse(408, f"The request's head did not come within {_HEAD_SECONDS} s.")

    def _refuse(self, code: int, message: str) -> None:
        """Answer what has not become a request, and close the connection."""
        if self.conn.our_state is h11.IDLE or self.conn.our_state is h11.SEND_RESPONSE:
            content = json.dumps({"error": message}).encode()
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(content)).encode()),
                (b"connection", b"close"),
            ]
            for event in (
                h11.Response(status_code=code, headers=headers),
                h11.Data(content),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class _Listener(socket.socket):
    """A socket that listens, and closes at once what would be too many connections.

    The protocol answers those that are more than may be; of what does not even agree on TLS it never hears, and each
    of them takes 300 KB.

    Args:
        most: The most connections.
    """

    def __init__(self, most: int, listens: socket.socket) -> None:
        super().__init__(listens.family, listens.type, listens.proto, fileno=listens.detach())
        self._most = most
        # Given up for a moment when the process has no file left: else asyncio would log 2,000 errors a second.
        self._spare = os.open(os.devnull, os.O_RDONLY)
        self._accepted: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            connection, address = super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._close_next()
            raise BlockingIOError from error
        if len(self._accepted) >= self._most:
            # One that is closed may not have been forgotten yet.
            self._accepted = weakref.WeakSet(each for each in self._accepted if each.fileno() >= 0)
        if len(self._accepted) >= self._most:
            connection.close()
            # By which asyncio goes on to the next one that comes.
            raise BlockingIOError
        self._accepted.add(connection)
        return connection, address

    def close(self) -> None:
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        super().close()

    def _close_next(self) -> None:
        os.close(self._spare)
        with contextlib.suppress(OSError):
            super().accept()[0].close()
        self._spare = os.open(os.devnull, os.O_RDONLY)


def _listener(options: ServingOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listens = socket.create_server((options.host, options.port), family=family, backlog=_BACKLOG)
        found = _Listener(options.max_connections + _MORE_CONNECTIONS, listens)
    except OSError as error:
        raise FailedPreconditionError(
            f"The server can't listen on {shown(options.host)} port {options.port}: {error.strerror or error}. Choose "
            "another address or port; port 0 takes a free one."
        ) from error
    # For all connections, as asyncio does only for sockets that name their protocol: an answer's head and content are
    # two packets, and the second would wait 40 ms for the first one's receipt.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _refuse_new(listener: socket.socket) -> None:
    """Have the kernel make no more connections, without an answer, and keep those that it has made."""
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in _WITHOUT_SYN)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(_WITHOUT_SYN), ctypes.addressof(buffer))
    # Elsewhere, and in sandboxes without it, a connection that comes in the last microseconds is reset.
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def _configuration(
    application: Application, options: ServingOptions, ending: threading.Event
) -> uvicorn.Config:
    found = uvicorn.Config(
        application.asgi(),
        loop="none",
        http=functools.partial(_Protocol, max_connections=options.max_connections, ending=ending),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(2 * options.timeout_seconds) + 1,
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
    )
    try:
        found.load()
    except OSError as error:  # Among them `ssl.SSLError`.
        raise BadArgumentError(
            f"The certificate {shown(options.tls_cert)} or its key {shown(options.tls_key)} can't be used: {error}. "
            "Expected: PEM files that belong together."
        ) from error
    return found
