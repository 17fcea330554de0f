"""The page shows what is served, and nothing of it is markup."""

import html
import json
import re

from stratax.serving import _page
from tests.serving.serving import ask, predict, serving, write


def test_each_signature_has_a_form_with_a_request_that_works(tmp_path):
    write(tmp_path / "3", 2, ("scaled", "both", "fixed"))
    (tmp_path / "4").mkdir()
    with serving(tmp_path) as server:
        code, text = ask(server, "GET", "/")
        shown = text.decode()
        assert code == 200
        assert "<td>3<td>AVAILABLE" in shown
        assert "<td>4<td>END<td>There is no export at" in shown
        found = re.findall(r'<form action="(.*?)"><textarea .*?>(.*?)</textarea>', shown)
        assert len(found) == 4
        for path, body in found:
            code, answer = predict(server, json.loads(html.unescape(body)), path)
            assert code == 200, answer


class Named:
    def __init__(self, name):
        self.name, self.inputs, self.outputs = name, {name: _page.TensorInfo("bool", ())}, {}


def test_names_are_text():
    shown = _page._signature("m", Named("</textarea><script>alert(1)</script>"))
    assert "<script" not in shown
    assert shown.count("</textarea>") == 1
