"""Regular expressions are those of TensorFlow, and take no longer than a text is long."""

import threading
import time

import pytest

from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.text import regular_expressions


@pytest.mark.parametrize(
    ("pattern", "rewrite", "text", "expected"),
    [
        # What tf.strings.regex_replace of TensorFlow 2.21 gives.
        ("a*", "x", "baac", "xbxcx"),
        ("b*", "x", "abbc", "xaxcx"),
        ("", "-", "abc", "-a-b-c-"),
        ("x*", "-", "é", "-é-"),
        (r"\B", "-", "", "-"),
        ("(a*)", r"<\1>", "baa", "<>b<aa>"),
        ("(a*)*", r"<\1>", "aab", "<aa>b<>"),
        ("(a*)+", r"<\1>", "aab", "<aa>b<>"),
        ("(a?)*?b", r"<\1>", "aab", "<a>"),
        ("(a|b)*?c", r"<\1>", "abac", "<a>"),
        ("(a|ab)(c|bcd)(d*)", r"[\1|\2|\3]", "abcd", "[a|bcd|]"),
    ],
)
def test_replacing_gives_what_tensorflow_gives(pattern, rewrite, text, expected):
    assert regular_expressions.replacing(pattern, rewrite, True)(text.encode()).decode() == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1001}",
        "(a{1000}){2}",
        "a++",
        "a*+",
        "(?=a)",
        "(?!a)",
        "(a)\\1",
        "(?>a)",
        "(" * 3000,
    ],
)
def test_what_re2_refuses_is_refused(pattern):
    with pytest.raises(BadArgumentError, match="Invalid regular expression.*RE2's syntax"):
        regular_expressions.matching(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)*$", r"\s*a*a*a*a*b", "(a?){30}a{30}!", "(.*)(.*)(.*)(.*)(.*)x", "(a*)*b"]
)
def test_no_text_stops_other_threads(pattern):
    text = b"a" * 2000 + b"!"
    matches = regular_expressions.matching(pattern)
    worker = threading.Thread(target=matches, args=(text,), daemon=True)
    worker.start()
    worst = 0.0
    while worker.is_alive():
        before = time.monotonic()
        worker.join(0.01)
        worst = max(worst, time.monotonic() - before)
        assert worst < 5
    assert not matches(text)
