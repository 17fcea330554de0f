"""Options of a server that can not be are refused."""

import pytest

from stratax.command.serving import ServingOptions
from stratax.errors import BadArgumentError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": {}}, "at least one model"),
        ({"models": {"a/b": "."}}, "stands in URLs"),
        ({"models": {"m": "nowhere"}}, "is not there"),
        ({"labels": {"n": {"new": 1}}}, "not served"),
        ({"max_batch": 0}, "max_batch must be at least 1"),
        ({"timeout_seconds": 0}, "timeout_seconds must be more than 0"),
        ({"batch_milliseconds": -1}, "batch_milliseconds must be between"),
        ({"max_pending_bytes": 1}, "max_pending_bytes must be at least"),
        ({"token": ""}, "printable ASCII"),
        ({"tls_cert": "x"}, "both a certificate and its key"),
    ],
)
def test_options_that_can_not_be_are_refused(tmp_path, options, said):
    with pytest.raises(BadArgumentError, match=said):
        ServingOptions(**({"models": {"m": str(tmp_path)}} | options))
