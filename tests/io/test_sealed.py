"""JSON with a checksum of itself."""

import json

import pytest

from stratax.io import seal_text, unseal_text

BODY = {"format": 1, "names": ["a", "é"], "nested": {"x": None}}


def test_what_was_sealed_comes_back():
    assert unseal_text(seal_text(BODY)) == unseal_text(seal_text(BODY), format=1) == BODY


def test_another_kind_is_reported_before_its_checksum_is_looked_at():
    for text in (seal_text(BODY), json.dumps(BODY).encode(), b"{}"):
        with pytest.raises(ValueError, match=r"format (1|None) instead of 2"):
            unseal_text(text, format=2)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"{}", json.dumps(BODY).encode(), seal_text(BODY)[:-2]]
)
def test_something_else_is_refused(content):
    with pytest.raises(ValueError, match=r"(Expecting|no JSON object|checksum is wrong)"):
        unseal_text(content)


def test_any_changed_bit_is_noticed_unless_it_changes_nothing():
    content = seal_text(BODY)
    for place in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            try:
                assert unseal_text(bytes(changed)) == BODY
            except ValueError:
                continue
