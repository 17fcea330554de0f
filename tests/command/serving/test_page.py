"""The page shows what is served, and nothing of it is markup."""

import html
import json
import re

import pytest

from stratax.command.serving import _page
from tests.command.serving.serving import ask, predict, serving, write


def test_each_signature_has_a_form_with_a_request_that_works(tmp_path):
    write(tmp_path / "3", 2, ("scaled", "both", "fixed"))
    (tmp_path / "4").mkdir()
    with serving(tmp_path) as server:
        code, text = ask(server, "GET", "/")
        shown = text.decode()
        assert code == 200
        assert "<td>3<td>AVAILABLE" in shown
        assert "<td>4<td>END<td>There is no export at" in shown
        found = re.findall(r'<form action="(.*?)".*?><label>Request<textarea .*?>(.*?)</textarea>', shown)
        assert len(found) == 4
        for path, body in found:
            code, answer = predict(server, json.loads(html.unescape(body)), path)
            assert code == 200, answer


class Named:
    def __init__(self, name):
        self.name, self.inputs, self.outputs = name, {name: _page.TensorInfo("string", ())}, {}
        self.method = "predict"


def test_names_are_text():
    shown = _page._signature("m", Named('</textarea><script>alert(1)</script>" onload="alert(1)'))
    assert "<script" not in shown
    assert '" onload' not in shown
    assert shown.count("</textarea>") == 1


@pytest.mark.parametrize(
    ("dtype", "shape", "expected"),
    [
        ("string", (None,), {"isBatch": True}),
        ("string", (), {"isBatch": False}),
        ("string", (None, None), None),
        ("float32", (None, 28, 28, 1), {"isBatch": True, "sizes": (28, 28, 1)}),
        ("uint8", (None, None, None, 3), {"isBatch": True, "sizes": (None, None, 3)}),
        ("float32", (None, 28, 28), {"isBatch": True, "sizes": (28, 28)}),
        ("float32", (64, 64, 3), {"isBatch": False, "sizes": (64, 64, 3)}),
        ("float32", (1, 64, 64, 3), {"isBatch": True, "sizes": (64, 64, 3)}),
        ("float32", (None, None, 8), None),
        ("float32", (None, 14, 14, 64), None),
        ("float32", (None, 784), None),
        ("bool", (None, 28, 28, 1), None),
    ],
)
def test_an_image_goes_where_one_is_taken(dtype, shape, expected):
    found = _page._image_of({"n": _page.TensorInfo("int32", ()), "x": _page.TensorInfo(dtype, shape)})
    assert found == (None if expected is None else {"name": "x", "dtype": dtype, **expected})


def test_classifications_are_asked_with_examples():
    plain = Named("plain")
    plain.method, plain.inputs = "classify", {"x": _page.TensorInfo("float32", (None, 2))}
    assert _page._request(plain) == {"signature_name": "plain", "examples": [{"x": [0, 0]}]}
    plain.inputs = {"examples": _page.TensorInfo("string", (None,))}
    assert _page._request(plain) == {"signature_name": "plain", "examples": [{}]}
