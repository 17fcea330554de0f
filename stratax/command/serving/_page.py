"""A page that shows what is served, with a form to try it (serving layer). It loads nothing from elsewhere."""

import base64
import hashlib
import html
import json
import math
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from stratax.command.serving._models import ServedModel
from stratax.export import LoadedSignature, TensorInfo

# Numbers of an input that is written down as an example.
_MOST = 10_000
_CHANNELS = (1, 3, 4, None)
_FOLDER = pathlib.Path(__file__).parent
_STYLE = (_FOLDER / "_page.css").read_text("utf-8")
_SCRIPT = (_FOLDER / "_page.js").read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; img-src data:; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def page(models: Iterable[ServedModel]) -> str:
    """Return the page as HTML.

    Args:
        models: What is served.
    """
    content = "".join(map(_model, models))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>Models</title><style>{_STYLE}</style><h1>Models</h1>{content}<script>{_SCRIPT}</script></html>"
    )


def _model(model: ServedModel) -> str:
    rows = "".join(
        f"<tr><td>{number}<td>{status.state}<td>{html.escape(status.error_message)}"
        for number, status in sorted(model.statuses.items(), reverse=True)
    )
    told = f"<h2>{html.escape(model.name)}</h2><table><tr><th>version<th>state<th>reason{rows}</table>"
    if not model.versions:
        return f"{told}<p>No version is loaded.</p>"
    signatures = model.version(None, None).export.signatures
    return told + "".join(_signature(model.name, each) for each in signatures.values())


def _signature(model: str, signature: LoadedSignature) -> str:
    image = None if signature.method != "predict" else _image_of(signature.inputs)
    data = "" if image is None else f' data-image="{html.escape(json.dumps(image))}"'
    name = html.escape(signature.name)
    return (
        f"<h3>{name} <small>{signature.method}</small></h3>"
        f"<table>{_rows('takes', signature.inputs)}{_rows('gives', signature.outputs)}</table>"
        f'<form action="/v1/models/{html.escape(model)}:{signature.method}"{data} aria-label="{name}">'
        f'<label>Request<textarea name="body" spellcheck="false">'
        f"{html.escape(json.dumps(_request(signature)))}</textarea></label>{_image_field(image)}"
        f'<button>Send</button> <span role="status"></span><pre tabindex="0" aria-label="Answer"></pre></form>'
    )


def _rows(verb: str, infos: Mapping[str, TensorInfo]) -> str:
    return "".join(
        f"<tr><td>{verb}<td>{html.escape(name)}<td>{html.escape(str(info))}" for name, info in infos.items()
    )


def _request(signature: LoadedSignature) -> dict[str, Any]:
    if signature.method == "predict":
        return {"signature_name": signature.name, "inputs": _examples(signature.inputs)}
    of_rows = {name: TensorInfo(info.dtype, info.shape[1:]) for name, info in signature.inputs.items()}
    # Of text: Examples, whose features are not known.
    features = {} if any(info.dtype == "string" for info in of_rows.values()) else _examples(of_rows)
    return {"signature_name": signature.name, "examples": [features]}


def _examples(inputs: Mapping[str, TensorInfo]) -> dict[str, Any]:
    return {
        name: _example(info.dtype, info.shape) if math.prod(size or 1 for size in info.shape) <= _MOST else []
        for name, info in inputs.items()
    }


def _example(dtype: str, shape: tuple[int | None, ...]) -> Any:
    if shape:
        return [_example(dtype, shape[1:])] * (shape[0] or 1)
    return {"string": "", "bool": False}.get(dtype, 0)


def _image_of(inputs: Mapping[str, TensorInfo]) -> dict[str, Any] | None:
    """Return which input takes an image: its name, dtype, sizes, and whether it takes a batch; None if none does.

    Text may be the bytes of a file; numbers have a height, a width and perhaps channels.
    """
    for name, info in inputs.items():
        if info.dtype == "string" and info.shape in ((), (None,), (1,)):
            return {"name": name, "dtype": "string", "isBatch": bool(info.shape)}
    for name, info in inputs.items():
        match info.shape:
            case (None | 1, height, width, channels) if channels in _CHANNELS:
                sizes: tuple[int | None, ...] = (height, width, channels)
            case (None | 1, int() as height, int() as width) if width not in _CHANNELS:
                sizes = (height, width)
            case (height, width, channels) if channels in _CHANNELS[:3]:
                sizes = (height, width, channels)
            case _:
                continue
        if info.dtype not in ("bool", "string"):
            is_batch = sizes != info.shape
            return {"name": name, "dtype": info.dtype, "isBatch": is_batch, "sizes": sizes}
    return None


def _image_field(image: dict[str, Any] | None) -> str:
    if image is None:
        return ""
    scale = ""
    if "float" in image["dtype"]:
        options = "".join(f"<option>{name}" for name in ("0 to 1", "-1 to 1", "0 to 255"))
        scale = f'<label>Pixels <select name="scale">{options}</select></label>'
    canvas = "" if image["dtype"] == "string" else '<canvas width="0" height="0" aria-hidden="true"></canvas>'
    return (
        f'<div class="image"><label>Image, chosen or dropped here <input type="file" name="image" accept="image/*">'
        f'</label>{scale}{canvas}<span class="used"></span></div>'
    )
