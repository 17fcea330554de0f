import numpy as np
import pytest

from stratax.cluster.launching import check_least, check_port
from stratax.errors import BadArgumentError, BadTypeError


def test_numbers_have_a_least_value():
    check_least("workers", 1, 1)
    check_least("workers", np.int64(1), 1)
    with pytest.raises(BadArgumentError, match=r"workers must be at least 1\. Received: workers=0"):
        check_least("workers", 0, 1)
    for value in ("2", True, None):
        with pytest.raises(BadTypeError, match=f"workers must be a number.*workers={value!r}"):
            check_least("workers", value, 1)


@pytest.mark.parametrize(("port", "count"), [(0, 1), (65536, 1), (65535, 2)])
def test_ports_are_in_their_range(port, count):
    check_port("port", 65536 - count, count)
    with pytest.raises(BadArgumentError, match=f"port must be between 1 and {65536 - count}.*port={port}"):
        check_port("port", port, count)


@pytest.mark.parametrize("port", ["8470", 8470.0, True])
def test_a_port_is_an_int(port):
    with pytest.raises(BadTypeError, match=f"port_base must be an int.*port_base={port!r}"):
        check_port("port_base", port)
