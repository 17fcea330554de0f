"""What is answered to which request: TensorFlow Serving's paths and answers (serving layer)."""

import asyncio
import contextlib
import dataclasses
import functools
import hmac
import itertools
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stratax.base.shown import shown
from stratax.command.serving._examples import examples_request
from stratax.command.serving._metrics import CONTENT_TYPE, Metrics
from stratax.command.serving._models import Models, ServedModel
from stratax.command.serving._options import ServingOptions
from stratax.command.serving._page import POLICY, page
from stratax.command.serving._requests import PredictRequest, parse_body, predict_request, signature_name
from stratax.command.serving._responses import classify_response, predict_response, regress_response
from stratax.command.serving._versions import Version
from stratax.errors import BadArgumentError, DataError, StrataxError
from stratax.export import TensorInfo
from stratax.io import TENSOR_TYPES

_logger = logging.getLogger("stratax")
_ONE = r"/v1/models/(?P<model>[^/:]+)(?:/versions/(?P<number>[0-9]+)|/labels/(?P<label>[^/:]+))?"
_ANSWERS = {"classify": classify_response, "regress": regress_response}
_ASKED = re.compile(_ONE + r":(?P<method>predict|classify|regress)", re.IGNORECASE)
_STATUS = re.compile(_ONE + r"(?P<metadata>/metadata)?", re.IGNORECASE)
_METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
_JSON = "application/json"
# After these a part of the request may be still to come.
_CLOSING = (401, 408, 413, 415, 431, 503)
_MOST_HEADERS = 200
_MOST_HEAD_BYTES = 1 << 15
_DISCARD_SECONDS = 1
# For so long nothing may come of a body.
_STALL_SECONDS = 10
# As others log it where a client was gone before it was answered.
_DISCONNECTED = 499
# By gRPC's codes, as `stratax.errors` has them.
_STATUS_CODES = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 12: 501, 14: 503, 16: 401}
# Larger bodies are read in a thread, one at a time: as Python's objects they are many times their size.
_LARGE = 1 << 16
_CONSTANTS = {kind.name: kind.constant for kind in TENSOR_TYPES}


@dataclasses.dataclass(slots=True)
class _Load:
    """What there is to do at a time.

    Attributes:
        pending: How many requests have begun.
        receiving: Of how many of them the body has not come yet.
    """

    pending: int = 0
    receiving: int = 0

    @property
    def working(self) -> int:
        """How many requests are worked on: who sends slowly keeps nobody else away."""
        return self.pending - self.receiving


class Application:
    """Answers requests.

    Args:
        models: What is served.
        options: The limits.
        metrics: What is told of it.
    """

    def __init__(self, models: Models, options: ServingOptions, metrics: Metrics) -> None:
        self._models = models
        self._options = options
        self._metrics = metrics
        self._reading = asyncio.Lock()
        self._load = _Load()
        self._pending_bytes = 0

    def asgi(self) -> ASGIApp:
        """Return what Uvicorn calls."""
        router = Router(
            routes=[
                Route("/", self._show),
                Route("/healthz", self._health),
                Route("/metrics", self._tell_metrics),
                Route("/v1/{rest:path}", self._answer, methods=_METHODS),
            ],
            redirect_slashes=False,
        )
        return _Guard(router, self._options, self._metrics, self._load)

    async def _show(self, request: Request) -> Response:
        headers = {"content-security-policy": POLICY, "x-content-type-options": "nosniff"}
        return Response(page(self._models), headers=headers, media_type="text/html")

    async def _health(self, request: Request) -> Response:
        missing = [model.name for model in self._models if not model.versions]
        if missing:
            raise HTTPException(503, f"No version is loaded yet of {', '.join(missing)}.")
        return _json({"status": "ok"})

    async def _tell_metrics(self, request: Request) -> Response:
        for model in self._models:
            if model.versions:
                self._metrics.note_version(model.name, max(model.versions))
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["path"]
        if request.method == "POST" and (asked := _ASKED.fullmatch(path)):
            version = self._version(asked)
            request.scope["model"] = version.model
            with version.keep():
                return await self._answer_in_time(version, asked["method"].lower(), request)
        if request.method in ("GET", "HEAD") and (asked := _STATUS.fullmatch(path)):
            if asked["metadata"]:
                return _json(_metadata(self._version(asked)))
            return _json(_status(self._models.find(asked["model"]), _number(asked), asked["label"]))
        raise HTTPException(400, f"Malformed request: {request.method} {path[:200]}")

    def _version(self, asked: re.Match[str]) -> Version:
        return self._models.find(asked["model"]).version(_number(asked), asked["label"])

    async def _answer_in_time(self, version: Version, method: str, request: Request) -> Response:
        until = asyncio.get_running_loop().time() + self._options.timeout_seconds
        async with self._body(request, until) as body:
            try:
                async with asyncio.timeout_at(until):
                    return await self._compute(version, method, body)
            except TimeoutError as error:
                raise HTTPException(
                    504, f"It took longer than {self._options.timeout_seconds:g} s."
                ) from error

    async def _compute(self, version: Version, method: str, body: bytearray) -> Response:
        if len(body) < _LARGE:
            name, asked = self._read(version, method, body)
        else:
            async with self._reading:
                name, asked = await asyncio.to_thread(self._read, version, method, body)
        outputs = await version.answer(name, asked.arrays)
        answer = _ANSWERS.get(method) or functools.partial(predict_response, is_row_wise=asked.is_row_wise)
        if sum(array.size for array in outputs.values()) < _LARGE // 32:
            content = answer(outputs)
        else:
            content = await asyncio.to_thread(answer, outputs)
        return Response(content, media_type=_JSON)

    def _read(self, version: Version, method: str, body: bytearray) -> tuple[str, PredictRequest]:
        values = parse_body(body)
        name = signature_name(values)
        if name not in version.export.signatures:
            raise BadArgumentError(
                f"Serving signature name: {shown(name)} not found in signature def. Expected: one of "
                f"{', '.join(version.export.signatures)}."
            )
        signature = version.export.signatures[name]
        if method == "predict":
            asked = predict_request(values, signature.inputs)
        elif method == signature.method:
            asked = PredictRequest(examples_request(values, signature.inputs), True)
        else:
            raise BadArgumentError(
                f"Expected a signature of the method {method}. Received: {shown(name)}, which is one of "
                f"{signature.method}. Use ':{signature.method}'."
            )
        rows = max((array.shape[0] for array in asked.arrays.values() if array.shape), default=1)
        if rows > self._options.max_rows:
            raise BadArgumentError(
                f"A request has too many rows. Expected: at most {self._options.max_rows}. Received: {rows}."
            )
        return name, asked

    @contextlib.asynccontextmanager
    async def _body(self, request: Request, until: float) -> AsyncIterator[bytearray]:
        """Read the body, and count its bytes for as long as it is worked on."""
        _check_head(request, self._options.max_body_bytes)
        body = bytearray()
        try:
            self._load.receiving += 1
            try:
                await self._receive(request, body, until)
            finally:
                self._load.receiving -= 1
            _check_load(self._load, self._options)
            yield body
        finally:
            self._pending_bytes -= len(body)

    async def _receive(self, request: Request, body: bytearray, until: float) -> None:
        pieces = aiter(request.stream())
        time_now = asyncio.get_running_loop().time
        while True:
            last = time_now() + _STALL_SECONDS
            try:
                async with asyncio.timeout_at(min(until, last)):
                    piece = await anext(pieces, None)
            except TimeoutError as error:
                limit = _STALL_SECONDS if last < until else self._options.timeout_seconds
                what = "Nothing came of the body for" if last < until else "The body did not come within"
                raise HTTPException(408, f"{what} {limit:g} s.") from error
            if piece is None:
                return
            if len(body) + len(piece) > self._options.max_body_bytes:
                raise _too_large(self._options.max_body_bytes)
            if self._pending_bytes + len(piece) > self._options.max_pending_bytes:
                raise HTTPException(
                    503, "The server is busy with other large requests.", headers={"retry-after": "1"}
                )
            self._pending_bytes += len(piece)
            body += piece


class _Guard:
    """Lets in who may come in, no more than can be served, and answers what nobody else has answered."""

    def __init__(self, inner: ASGIApp, options: ServingOptions, metrics: Metrics, load: _Load) -> None:
        self._inner = inner
        self._options = options
        self._metrics = metrics
        self._expected = None if options.token is None else f"Bearer {options.token}".encode()
        self._load = load

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        begin = time.monotonic()
        code = 500
        has_begun = False

        async def watch(message: Message) -> None:
            nonlocal code, has_begun
            if message["type"] == "http.response.start":
                code, has_begun = message["status"], True
                if code in _CLOSING:
                    # What is left of the body is not waited for.
                    message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        # With an application, the router raises what else it would answer in plain text.
        scope["app"] = self
        scope["model"] = ""
        self._load.pending += 1
        self._metrics.pending.set(self._load.pending)
        try:
            # Also who takes long to read the answer is given up, at some time.
            async with asyncio.timeout(2 * self._options.timeout_seconds):
                try:
                    self._let_in(scope)
                    await self._inner(scope, receive, watch)
                except (HTTPException, StrataxError) as error:
                    refused = _refuse(error)
                    if refused.status_code in _CLOSING:
                        await _discard(receive)
                    await refused(scope, receive, watch)
        except ClientDisconnect:
            code = _DISCONNECTED
        except TimeoutError:
            if has_begun:
                raise
            await _refuse(HTTPException(504, "It took too long."))(scope, receive, watch)
        except Exception:
            _logger.exception("serving: %s %s failed", scope["method"], shown(scope["path"]))
            if has_begun:
                raise
            await _refuse(HTTPException(500, "The request failed within the server, whose log says why."))(
                scope, receive, watch
            )
        finally:
            self._load.pending -= 1
            self._metrics.pending.set(self._load.pending)
            self._metrics.count_answer(scope["model"], code, time.monotonic() - begin)

    def _let_in(self, scope: Scope) -> None:
        headers = scope["headers"]
        if len(headers) > _MOST_HEADERS or sum(map(len, itertools.chain(*headers))) > _MOST_HEAD_BYTES:
            raise HTTPException(
                431, f"Expected: at most {_MOST_HEADERS} headers of {_MOST_HEAD_BYTES} bytes together."
            )
        if scope["path"] == "/healthz":
            return
        if self._expected is not None:
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            # Both are compared as a whole, however early they differ.
            if len(given) != 1 or not hmac.compare_digest(given[0], self._expected):
                raise HTTPException(
                    401,
                    "A bearer token is needed, and the right one.",
                    headers={"www-authenticate": "Bearer"},
                )
        _check_load(self._load, self._options)


def _check_load(load: _Load, options: ServingOptions) -> None:
    """Turn a request away where as many are worked on as may be; it is counted itself."""
    if load.working > options.max_requests:
        raise HTTPException(
            503,
            f"The server works on {options.max_requests} requests already.",
            headers={"retry-after": "1"},
        )


async def _discard(receive: Receive) -> None:
    """Take what comes of a body for a moment: a client that is still sending would not see the answer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                pass


def _refuse(error: Exception) -> Response:
    """Return the answer to a request that can't be answered."""
    if isinstance(error, HTTPException):
        return _json({"error": error.detail}, error.status_code, error.headers)
    code = 500
    if isinstance(error, StrataxError):
        # Data that is damaged, or no image, came with the request.
        code = 400 if isinstance(error, DataError) else _STATUS_CODES.get(error.error_code, 500)
    return _json({"error": str(error)}, code)


def _json(values: object, code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(values, indent=1), code, headers, _JSON)


def _number(asked: re.Match[str]) -> int | None:
    text = asked["number"]
    if text is None:
        return None
    if len(text) > 18:
        raise HTTPException(400, f"Failed to convert version: {text[:40]} to numeric.")
    return int(text)


def _check_head(request: Request, most: int) -> None:
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise HTTPException(415, f"Bodies are taken as they are. Received: content-encoding {encoding[:40]}.")
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or len(length) > 18 or int(length) > most:
        raise _too_large(most)


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"The body is too large. Expected: at most {most} bytes.")


def _status(model: ServedModel, number: int | None, label: str | None) -> dict[str, Any]:
    if label is not None:
        number = model.version(None, label).number
    numbers = sorted(model.statuses, reverse=True) if number is None else [number]
    if not numbers or numbers[0] not in model.statuses:
        which = "" if number is None else f"version {number} of "
        raise HTTPException(404, f"Could not find any versions of {which}model {model.name}")
    return {"model_version_status": [model.statuses[each].as_json(each) for each in numbers]}


def _metadata(version: Version) -> dict[str, Any]:
    signatures = {
        name: {
            "inputs": {key: _describe(key, info) for key, info in signature.inputs.items()},
            "outputs": {key: _describe(key, info) for key, info in signature.outputs.items()},
            "method_name": f"tensorflow/serving/{signature.method}",
        }
        for name, signature in version.export.signatures.items()
    }
    return {
        "model_spec": {"name": version.model, "signature_name": "", "version": str(version.number)},
        "metadata": {"signature_def": {"signature_def": signatures}},
    }


def _describe(name: str, info: TensorInfo) -> dict[str, Any]:
    dims = [{"size": str(-1 if size is None else size), "name": ""} for size in info.shape]
    return {
        "dtype": _CONSTANTS.get(info.dtype, "DT_INVALID"),
        "tensor_shape": {"dim": dims, "unknown_rank": False},
        "name": name,
    }
