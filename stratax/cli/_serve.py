"""`stratax serve`: exports behind TensorFlow Serving's REST interface (cli layer)."""

import logging
import os
import pathlib
import resource

import click

from stratax.base.shown import shown
from stratax.errors import BadArgumentError

_BYTES = click.IntRange(min=1)


@click.command()
@click.argument("base", type=click.Path(path_type=pathlib.Path), required=False, metavar="[EXPORT_BASE]")
@click.option("--name", metavar="NAME", help="Of the model in EXPORT_BASE.  [default: the folder's]")
@click.option(
    "--model", "models", multiple=True, metavar="NAME=BASE", help="A further model; may be given again."
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="MODEL:LABEL=VERSION",
    help="A label of a version, which is kept loaded; may be given again.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8501, show_default=True, help="0 takes a free one."
)
@click.option(
    "--batch-ms",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="How long a request waits for others to be computed with; 0 joins those that come while the device is busy.",
)
@click.option(
    "--max-batch",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    help="The most rows that are computed together; 1 joins no requests.",
)
@click.option("--max-rows", type=click.IntRange(min=1), default=4096, show_default=True, help="Of a request.")
@click.option("--max-body-mb", type=_BYTES, default=16, show_default=True, help="Of a request, in MiB.")
@click.option(
    "--max-requests",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="At a time; more get a 503.",
)
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Of a request, in seconds.")
@click.option(
    "--poll", type=float, default=1.0, show_default=True, help="Seconds between looks for new versions."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=pathlib.Path),
    help="A file with the token that clients have to send: Authorization: Bearer TOKEN.",
)
@click.option("--tls-cert", type=click.Path(path_type=pathlib.Path), help="A PEM file with the certificates.")
@click.option("--tls-key", type=click.Path(path_type=pathlib.Path), help="A PEM file with their key.")
def serve(
    base: pathlib.Path | None,
    name: str | None,
    models: tuple[str, ...],
    labels: tuple[str, ...],
    host: str,
    port: int,
    batch_ms: float,
    max_batch: int,
    max_rows: int,
    max_body_mb: int,
    max_requests: int,
    timeout: float,
    poll: float,
    token_file: pathlib.Path | None,
    tls_cert: pathlib.Path | None,
    tls_key: pathlib.Path | None,
) -> None:
    """Answer requests over HTTP with exported models, as TensorFlow Serving's REST interface does.

    EXPORT_BASE is a folder in which each version of a model is a folder with a number for a name, as
    `stratax.export.save` writes it. The newest version answers. When a newer one appears, it is loaded and answers from
    then on, without a request being lost. SIGTERM ends the server once what has begun is answered.
    """
    from stratax.command.serving import ModelServer, ServingOptions

    options = ServingOptions(
        models=_models(base, name, models),
        labels=_labels(labels),
        host=host,
        port=port,
        batch_milliseconds=batch_ms,
        max_batch=max_batch,
        max_rows=max_rows,
        max_body_bytes=max_body_mb << 20,
        max_pending_bytes=max(256, 2 * max_body_mb) << 20,
        max_requests=max_requests,
        timeout_seconds=timeout,
        poll_seconds=poll,
        token=None if token_file is None else _token(token_file),
        tls_cert=None if tls_cert is None else _readable(tls_cert),
        tls_key=None if tls_key is None else _readable(tls_key),
    )
    _raise_limit_of_files(2 * options.max_connections)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    ModelServer(options).run()


def _raise_limit_of_files(wanted: int) -> None:
    """Let the process have a file for each connection, as far as it may: the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _models(base: pathlib.Path | None, name: str | None, others: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    if base is not None:
        found[name or base.resolve().name] = os.fspath(base)
    for each in others:
        key, equals, path = each.partition("=")
        if not equals or key in found:
            raise BadArgumentError(f"--model must be NAME=BASE, each name once. Received: {shown(each)}.")
        found[key] = path
    if not found:
        raise BadArgumentError("There is nothing to serve. Give an EXPORT_BASE, or --model NAME=BASE.")
    return found


def _labels(labels: tuple[str, ...]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for each in labels:
        model, _, rest = each.partition(":")
        label, _, number = rest.partition("=")
        if not (model and label and number.isascii() and number.isdigit()):
            raise BadArgumentError(
                f"--label must be MODEL:LABEL=VERSION, such as digits:stable=3. Received: {shown(each)}."
            )
        found.setdefault(model, {})[label] = int(number)
    return found


def _token(path: pathlib.Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgumentError(f"The token's file can't be read. Received: {error}.") from error


def _readable(path: pathlib.Path) -> str:
    if not path.is_file():
        raise BadArgumentError(f"There is no such file. Received: {shown(os.fspath(path))}.")
    return os.fspath(path)
