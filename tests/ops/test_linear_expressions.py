"""Regular expressions give what RE2 gives, and take no longer than a text is long."""

import random
import re
import threading
import time

import pytest

from stratax.errors import BadArgumentError
from stratax.ops import _linear_expressions as linear
from stratax.ops import regular_expressions


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
        "a{99999999999}",
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


def random_pattern(rng, depth):
    kind = rng.random()
    if not depth or kind < 0.3:
        return rng.choice(
            ["a", "b", "[ab]", "[^a]", ".", r"\w", r"\s", r"\S", r"\b", r"\B", "^", "(?i:A)", "(?m:^)"]
        )
    inner = random_pattern(rng, depth - 1)
    if kind < 0.55:
        return inner + random_pattern(rng, depth - 1)
    if kind < 0.7:
        return f"({inner})"
    if kind < 0.8:
        return f"(?:{inner}|{random_pattern(rng, depth - 1)})"
    return f"({inner})" + rng.choice(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}?", "{1,}"])


def test_random_patterns_find_what_python_finds():
    rng = random.Random(0)
    compared = 0
    for _ in range(600):
        pattern = random_pattern(rng, rng.randrange(1, 5))
        text = "".join(rng.choices("abA \n", k=rng.randrange(9)))
        tree = linear.parsed(pattern)
        if linear.differs(tree):
            continue
        compared += 1
        ours, theirs = linear.LinearExpression(tree), re.compile(pattern, re.ASCII)
        for found, expected in (
            (ours.search(text, 0), theirs.search(text)),
            (ours.search(text, 1), theirs.search(text, 1)) if text else (None, None),
            (ours.fullmatch(text), theirs.fullmatch(text)),
        ):
            assert (found is None) == (expected is None), (pattern, text)
            if found and expected:
                made = [found.group(each) for each in range(theirs.groups + 1)]
                assert made == [expected.group(), *expected.groups()], (pattern, text)
                assert (found.start(), found.end()) == expected.span()
    assert compared > 300


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
