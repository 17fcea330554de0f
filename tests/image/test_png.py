"""PNG files are whole to their end mark, or damaged."""

import numpy as np
import pytest

from stratax import errors, image


def test_a_file_that_ends_early_or_has_another_bit_is_damaged():
    data = image.encode_png(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    assert image.decode_png(data).shape == (4, 4, 3)
    with pytest.raises(errors.DataLossError, match="PNG"):
        image.decode_png(data[:-4])
    # The last bytes of the pixels are followed by their checksum, and by the end mark of 12 bytes.
    at = len(data) - 14
    with pytest.raises(errors.DataLossError, match="PNG"):
        image.decode_png(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
