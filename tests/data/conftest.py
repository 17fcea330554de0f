"""What the tests of files share."""

import os

import pytest


@pytest.fixture
def unprivileged():
    """A user that file permissions hold for; made one by the call, with what came before done by whoever runs tests."""
    user = os.geteuid()

    def become():
        if user == 0:
            os.seteuid(65534)

    yield become
    os.seteuid(user)
