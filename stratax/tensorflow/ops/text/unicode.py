"""Functions of `tf.strings` that know characters: from and to code points, and other encodings (ops layer)."""

import codecs
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data import RaggedTensor
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.on_host import as_result, each, on_host
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.text.string_parts import each_apart

# U+FFFD, which stands for what is no character.
_REPLACEMENT = 65533
# Those that TensorFlow writes, and Python's names of them.
_OUTPUTS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
# Stands for bytes that are no character until they are replaced. Half of a pair of UTF-16, which no text has: a U+FFFD
# may be a character of the text.
_MARK, _MARKED = "\udfff", "stratax.marked"


def _mark(error: Any) -> tuple[str, int]:
    return _MARK, error.end


codecs.register_error(_MARKED, _mark)


@op(is_told=False, is_raw=True)
def unicode_decode(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
) -> Any:
    """Return the code points of strings, as `tf.strings.unicode_decode`.

    Args:
        input: Strings.
        input_encoding: Their encoding.
        errors: What is done with bytes that are no character: ``"strict"``, ``"replace"`` or ``"ignore"``.
        replacement_char: The code point that stands for them.
        replace_control_characters: Whether it stands for control characters, too.

    Returns:
        A RaggedTensor of int32; of a single string an array.

    Raises:
        BadArgumentError: The encoding is not known, or bytes are no characters and `errors` is ``"strict"``.

    Example:
        >>> import stratax.tf as tf
        >>> tf.strings.unicode_decode(["hé", "a"], "UTF-8")
        <tf.RaggedTensor [[104, 233], [97]]>
    """
    decode = _decoder(input_encoding, errors, replacement_char, replace_control_characters)
    return each_apart(lambda text: [ord(char) for char in decode(text)], input, "unicode_decode", np.int32)


@op(is_told=False, is_raw=True)
def unicode_decode_with_offsets(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
) -> tuple[Any, Any]:
    """Return code points, and the byte at which each begins, as `tf.strings.unicode_decode_with_offsets`."""
    decoded = unicode_decode(input, input_encoding, errors, replacement_char, replace_control_characters)
    return decoded, _offsets(input, input_encoding, errors)


@op(is_told=False, is_raw=True)
def unicode_split(
    input: TensorLike, input_encoding: str, errors: str = "replace", replacement_char: int = _REPLACEMENT
) -> Any:
    """Return the characters of strings, in their encoding, as `tf.strings.unicode_split`.

    Args:
        input: Strings.
        input_encoding: Their encoding: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
        errors: As of :func:`unicode_decode`.
        replacement_char: As of :func:`unicode_decode`.
    """
    decode = _decoder(input_encoding, errors, replacement_char, False)
    codec = _output(input_encoding)
    return each_apart(lambda text: [char.encode(codec) for char in decode(text)], input, "unicode_split")


@op(is_told=False, is_raw=True)
def unicode_split_with_offsets(
    input: TensorLike, input_encoding: str, errors: str = "replace", replacement_char: int = _REPLACEMENT
) -> tuple[Any, Any]:
    """Return characters, and the byte at which each begins, as `tf.strings.unicode_split_with_offsets`."""
    parts = unicode_split(input, input_encoding, errors, replacement_char)
    return parts, _offsets(input, input_encoding, errors)


@op(is_told=False, is_raw=True)
def unicode_encode(
    input: TensorLike, output_encoding: str, errors: str = "replace", replacement_char: int = _REPLACEMENT
) -> Any:
    """Return the strings of rows of code points, as `tf.strings.unicode_encode`.

    Args:
        input: Rows of code points: an array or a RaggedTensor.
        output_encoding: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
        errors: What is done with numbers that are no characters, as of :func:`unicode_decode`.
        replacement_char: The code point that stands for them.
    """
    codec = _output(output_encoding)

    def encode(row: Sequence[int]) -> bytes:
        return "".join(_character(number, errors, replacement_char) for number in row).encode(codec)

    if isinstance(input, RaggedTensor):
        values = input.values
        # Characters are in the innermost rows; those further out stay.
        if isinstance(values, RaggedTensor) or values.ndim > 1:
            return input.with_values(unicode_encode(values, output_encoding, errors, replacement_char))
        rows = input.to_list()
        shape: tuple[int, ...] = (len(rows),)
    else:
        array = np.asarray(input)
        rows, shape = array.reshape(-1, array.shape[-1]).tolist(), array.shape[:-1]
    made = np.empty(len(rows), object)
    made[:] = [encode(row) for row in rows]
    return as_result(made.reshape(shape))


@op(is_told=False, is_raw=True)
def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
) -> Any:
    """Return strings in another encoding, as `tf.strings.unicode_transcode`.

    Args:
        input: Strings.
        input_encoding: Their encoding.
        output_encoding: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
        errors: As of :func:`unicode_decode`.
        replacement_char: As of :func:`unicode_decode`.
        replace_control_characters: As of :func:`unicode_decode`.
    """
    decode = _decoder(input_encoding, errors, replacement_char, replace_control_characters)
    codec = _output(output_encoding)
    return on_host(
        lambda texts: each(lambda text: "".join(decode(text)).encode(codec), texts),
        input,
        name="unicode_transcode",
    )


def _decoder(
    encoding: str, handling: str, replacement: int, replaces_control: bool
) -> Callable[[bytes], list[str]]:
    """Return a function from a string to its characters."""
    _check_errors(handling)
    codec = _codec(encoding)

    def decode(text: bytes) -> list[str]:
        try:
            made = text.decode(codec)
        except UnicodeDecodeError as e:
            if handling == "strict":
                raise _not_in_encoding(text, encoding) from e
            made = text.decode(codec, "ignore" if handling == "ignore" else _MARKED)
            made = made.replace(_MARK, chr(replacement))
        if replaces_control:
            # The first 32 characters alone, also where errors raise: so TensorFlow's kernel has it.
            filler = "" if handling == "ignore" else chr(replacement)
            made = "".join(filler if char < " " else char for char in made)
        return list(made)

    return decode


def _offsets(input: TensorLike, encoding: str, handling: str) -> Any:
    codec = _codec(encoding)

    def find(text: bytes) -> list[int]:
        made, at = [], 0
        while at < len(text):
            # As many bytes as no character exceeds.
            size = _size(text[at : at + 8], codec)
            if size > 0 or handling != "ignore":
                made.append(at)
            at += abs(size)
        return made

    return each_apart(find, input, "offsets", np.int64)


def _size(text: bytes, codec: str) -> int:
    """Return how many bytes the first character has; below 0 where it is none."""
    try:
        return len(text.decode(codec)[:1].encode(codec)) if codec != "utf-16" else 2
    except UnicodeDecodeError as e:
        return len(text[: e.start].decode(codec)[:1].encode(codec)) if e.start else -(e.end - e.start)


def _codec(encoding: str) -> str:
    name = encoding.upper().replace("_", "-")
    if name in _OUTPUTS:
        return _OUTPUTS[name]
    try:
        # Python's codecs know more encodings, under more names, than there are here.
        b"".decode(encoding)
    except LookupError as e:
        raise BadArgumentError(
            f"Could not create converter for input encoding. Expected: a name such as 'UTF-8'. Received: "
            f"{shown(encoding)}."
        ) from e
    return encoding


def _output(encoding: str) -> str:
    if encoding not in _OUTPUTS:
        raise BadArgumentError(
            f"Strings are written as {', '.join(_OUTPUTS)}. Received: encoding={shown(encoding)}."
        )
    return _OUTPUTS[encoding]


def _check_errors(handling: str) -> None:
    if handling not in ("strict", "replace", "ignore"):
        raise BadArgumentError(
            f"errors must be 'strict', 'replace' or 'ignore'. Received: errors={shown(handling)}."
        )


def _not_in_encoding(text: bytes, encoding: str) -> BadArgumentError:
    return BadArgumentError(
        f"Invalid formatting on input string. Expected: text of {encoding}. Received: {shown(text)}. Pass "
        "errors='replace' or errors='ignore'."
    )


def _character(number: int, handling: str, replacement: int) -> str:
    _check_errors(handling)
    # Halves of UTF-16's pairs are no characters.
    if 0 <= number < 0x110000 and not 0xD800 <= number < 0xE000:
        return chr(number)
    if handling == "strict":
        raise BadArgumentError(f"Code point is out of range for Unicode. Received: {number}.")
    return "" if handling == "ignore" else chr(replacement)
