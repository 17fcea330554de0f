"""A page that shows what is served, with a form to try it (serving layer). It loads nothing from elsewhere."""

import base64
import hashlib
import html
import json
import math
from collections.abc import Iterable
from typing import Any

from stratax.export import LoadedSignature, TensorInfo
from stratax.serving._models import Model

# Numbers of an input that is written down as an example.
_MOST = 10_000
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
td, th { text-align: left; padding: 0 1rem 0 0; vertical-align: top; }
textarea { width: 100%; height: 8rem; font: 14px monospace; box-sizing: border-box; }
pre { background: #8882; padding: 0.5rem; overflow: auto; max-height: 20rem; }
"""
_SCRIPT = """
for (const form of document.forms) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const shown = form.querySelector("pre");
    shown.textContent = "...";
    try {
      const answer = await fetch(form.action, {method: "POST", body: form.elements.body.value});
      shown.textContent = answer.status + "\\n" + await answer.text();
    } catch (error) {
      shown.textContent = error;
    }
  });
}
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def page(models: Iterable[Model]) -> str:
    """Return the page as HTML.

    Args:
        models: What is served.
    """
    content = "".join(map(_model, models))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Models</title><style>{_STYLE}</style>'
        f"<h1>Models</h1>{content}<script>{_SCRIPT}</script></html>"
    )


def _model(model: Model) -> str:
    rows = "".join(
        f"<tr><td>{number}<td>{status.state}<td>{html.escape(status.error_message)}"
        for number, status in sorted(model.statuses.items(), reverse=True)
    )
    told = f"<h2>{html.escape(model.name)}</h2><table><tr><th>version<th>state<th>{rows}</table>"
    if not model.versions:
        return told
    signatures = model.version(None, None).export.signatures
    return told + "".join(_signature(model.name, each) for each in signatures.values())


def _signature(model: str, signature: LoadedSignature) -> str:
    body = json.dumps({"signature_name": signature.name, "inputs": _examples(signature)})
    return (
        f"<h3>{html.escape(signature.name)}</h3><table>{_rows('takes', signature.inputs)}"
        f"{_rows('gives', signature.outputs)}</table>"
        f'<form action="/v1/models/{html.escape(model)}:predict"><textarea name="body" aria-label="Request">'
        f"{html.escape(body)}</textarea><button>Predict</button><pre></pre></form>"
    )


def _rows(verb: str, infos: dict[str, TensorInfo]) -> str:
    return "".join(
        f"<tr><td>{verb}<td>{html.escape(name)}<td>{html.escape(str(info))}" for name, info in infos.items()
    )


def _examples(signature: LoadedSignature) -> dict[str, Any]:
    return {
        name: _example(info.dtype, info.shape) if math.prod(size or 1 for size in info.shape) <= _MOST else []
        for name, info in signature.inputs.items()
    }


def _example(dtype: str, shape: tuple[int | None, ...]) -> Any:
    if shape:
        return [_example(dtype, shape[1:])] * (shape[0] or 1)
    return {"string": "", "bool": False}.get(dtype, 0)
