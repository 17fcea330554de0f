"""Functions of strings, as `tf.strings` (ops layer)."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.calls.on_host import each, on_host
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.text.fingerprints import Fingerprints, hash_buckets, murmur64, sip_hash64
from stratax.tensorflow.ops.text.regular_expressions import matching, replacing

_KEY_WORDS = 2
# What stands between a `%` of C and the width, one of them or none.
_FILLS = ("", " ", "+", "-", "0", "#")
# Bytes of UTF-8 that go on with a character, and begin none.
_CONTINUATION = bytes(range(0x80, 0xC0))


@op(is_told=False, is_raw=True)
def to_hash_bucket_fast(input: TensorLike, num_buckets: int) -> Any:
    """Return strings' hashes, as `tf.strings.to_hash_bucket_fast`.

    Args:
        input: Strings.
        num_buckets: How many hashes there are.

    Returns:
        Whole numbers from 0 to `num_buckets`, of the strings' shape: int64 on the host, int32 in a `model_fn`.

    Raises:
        BadArgumentError: The number is not positive.

    Example:
        >>> import stratax.tf as tf
        >>> tf.strings.to_hash_bucket_fast(["a", "hello"], 100).tolist()
        [39, 96]
    """
    _check_buckets(num_buckets)
    # One for each function that is made: a model_fn, or a plan, calls it for every batch.
    fingerprints = Fingerprints()

    def compute(texts: np.ndarray) -> np.ndarray:
        words = fingerprints.of(texts.reshape(-1).tolist()).reshape(texts.shape)
        return hash_buckets(words, num_buckets)

    return on_host(compute, input, name="to_hash_bucket_fast", gives=np.int64)


@op(is_told=False, is_raw=True)
def to_hash_bucket_strong(input: TensorLike, num_buckets: int, key: Sequence[int]) -> Any:
    """Return strings' keyed hashes, as `tf.strings.to_hash_bucket_strong`.

    Args:
        input: Strings.
        num_buckets: How many hashes there are.
        key: Two whole numbers.

    Returns:
        As :func:`to_hash_bucket_fast`.

    Raises:
        BadArgumentError: The number is not positive, or the key is no pair.
    """
    _check_buckets(num_buckets)
    # Signed numbers stand for words, too.
    words = [int(word) % 2**64 for word in key]
    if len(words) != _KEY_WORDS:
        raise errors.BadArgumentError(f"key must have two whole numbers. Received: key={shown(key)}.")
    return _hash(lambda text: sip_hash64(text, words) % num_buckets, input, "to_hash_bucket_strong")


@op(is_told=False, is_raw=True)
def to_hash_bucket(input: TensorLike, num_buckets: int) -> Any:
    """Return strings' hashes, as `tf.strings.to_hash_bucket`.

    Args:
        input: Strings.
        num_buckets: How many hashes there are.

    Returns:
        As :func:`to_hash_bucket_fast`.

    Raises:
        BadArgumentError: The number is not positive.
    """
    _check_buckets(num_buckets)
    return _hash(lambda text: murmur64(text) % num_buckets, input, "to_hash_bucket")


def string_to_hash_bucket(string_tensor: TensorLike, num_buckets: int, name: str | None = None) -> Any:
    """Return strings' hashes, as TensorFlow 1's `tf.string_to_hash_bucket`.

    Args:
        string_tensor: Strings.
        num_buckets: How many hashes there are.
        name: Ignored.
    """
    return to_hash_bucket(string_tensor, num_buckets, name=name)


@op(is_told=False, is_raw=True)
def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
) -> Any:
    """Return numbers as text, as `tf.strings.as_string`.

    Args:
        input: Numbers, booleans or strings.
        precision: How many digits are behind the point of a fraction; -1 for 6, and for other dtypes.
        scientific: Whether fractions are written with an exponent.
        shortest: Whether fractions are written as short as possible.
        width: How many characters there are at least.
        fill: What fills up shorter ones: ``"0"``, ``" "``, ``"-"``, ``"+"`` or ``"#"``, as in `printf`.

    Returns:
        Strings. Of what a `model_fn` computes they are there after the step, as predictions.

    Raises:
        BadArgumentError: Options do not go together, or not with the dtype.

    Example:
        >>> import stratax.tf as tf
        >>> tf.strings.as_string([1.5, 2.0], precision=1).tolist()
        [b'1.5', b'2.0']
    """
    if scientific and shortest:
        raise errors.BadArgumentError(
            "Cannot select both scientific and shortest notation. Received: scientific=True, shortest=True."
        )
    if fill not in _FILLS:
        raise errors.BadArgumentError(
            f"Fill must be one character. Expected: one of {shown(_FILLS)}. Received: fill={shown(fill)}."
        )
    # A format of C's, as TensorFlow's kernel makes one.
    head = f"%{fill}{width if width > 0 else ''}"
    digits = "" if precision < 0 else f".{precision}"
    notation = "e" if scientific else "g" if shortest else "f"

    def fraction(value: float) -> str:
        # C fills infinities and NaN up with spaces only.
        start = head if math.isfinite(value) else head.replace("%0", "%")
        return f"{start}{digits}{notation}" % value

    def text(value: bytes) -> bytes:
        # Without a width TensorFlow does not format text; with one C's text ends at its first zero.
        return f"{head}{digits}s".encode() % value.partition(b"\0")[0] if width > 0 else value

    def compute(values: np.ndarray) -> np.ndarray:
        kind = values.dtype.kind
        if kind == "O":
            return each(text, values)
        if kind in "biu" and (scientific or shortest or precision >= 0):
            raise errors.BadArgumentError(
                "Only fractions have a precision and a notation. Expected: neither precision nor scientific nor "
                f"shortest. Received: input of {values.dtype}, precision={shown(precision)}, "
                f"scientific={scientific}, shortest={shortest}."
            )
        # C has no format for truth values: TensorFlow writes words, of whatever width.
        if kind == "b":
            return each(lambda value: str(value).lower().encode(), values)
        if kind in "iu":
            return each(lambda value: (f"{head}d" % value).encode(), values)
        # 0 and -0 are equal and written differently: `each` calls once for what is equal in all columns.
        if kind == "c":
            signs = np.signbit(values.real), np.signbit(values.imag)
            return each(
                lambda value, *_: f"({fraction(value.real)},{fraction(value.imag)})".encode(), values, *signs
            )
        return each(lambda value, _: fraction(value).encode(), values, np.signbit(values))

    return on_host(compute, input, name="as_string")


@op(is_told=False, is_raw=True)
def join(inputs: Sequence[Any], separator: str = "") -> Any:
    """Return strings put together element by element, as `tf.strings.join`.

    Args:
        inputs: Strings of one shape, or single ones.
        separator: What stands between them.

    Raises:
        BadArgumentError: If the shapes differ.

    Example:
        >>> import stratax.tf as tf
        >>> tf.strings.join([["a", "b"], "c"], "-").tolist()
        [b'a-c', b'b-c']
    """
    between = separator.encode()

    def join_texts(*parts: np.ndarray) -> np.ndarray:
        shapes = {part.shape for part in parts if part.ndim}
        if len(shapes) > 1:
            raise errors.BadArgumentError(
                f"Strings are joined that have one shape, or none. Received: {' and '.join(map(str, sorted(shapes)))}."
            )
        return each(lambda *texts: between.join(texts), *parts)

    return on_host(join_texts, *inputs, name="strings_join")


@op(is_told=False, is_raw=True)
def lower(input: TensorLike, encoding: str = "") -> Any:
    """Return strings in lower case, as `tf.strings.lower`.

    Args:
        input: Strings.
        encoding: ``"utf-8"``, or an empty string: only ASCII is changed.
    """
    return _map(_choose_case(str.lower, bytes.lower, encoding), input, "lower")


@op(is_told=False, is_raw=True)
def upper(input: TensorLike, encoding: str = "") -> Any:
    """Return strings in upper case, as `tf.strings.upper`.

    Args:
        input: Strings.
        encoding: ``"utf-8"``, or an empty string: only ASCII is changed.
    """
    return _map(_choose_case(str.upper, bytes.upper, encoding), input, "upper")


@op(is_told=False, is_raw=True)
def strip(input: TensorLike) -> Any:
    """Return strings without white space at their ends, as `tf.strings.strip`.

    Args:
        input: Strings.
    """
    # Bytes', not text's: white space is that of C's `isspace`, as in TensorFlow.
    return _map(bytes.strip, input, "strip")


@op(name_after="input", is_told=False, is_raw=True)
def length(input: TensorLike, unit: str = "BYTE") -> Any:
    """Return how long strings are, as `tf.strings.length`.

    Args:
        input: Strings.
        unit: ``"BYTE"`` or ``"UTF8_CHAR"``.

    Raises:
        BadArgumentError: The unit is another one.
    """
    _check_unit(unit)
    # As TensorFlow counts, also in what is no UTF-8.
    measure = len if unit == "BYTE" else lambda text: len(text.translate(None, _CONTINUATION))
    return on_host(lambda texts: each(measure, texts, dtype=np.int32), input, name="length", gives=np.int32)


@op(name_after="len", is_told=False, is_raw=True)
def substr(input: TensorLike, pos: TensorLike, len: TensorLike, unit: str = "BYTE") -> Any:
    """Return parts of strings, as `tf.strings.substr`.

    Args:
        input: Strings.
        pos: Where the part begins, for all or for each; below 0 counted from the end.
        len: How long it is at most, for all or for each; of bytes a number below 0 means all that is left.
        unit: ``"BYTE"`` or ``"UTF8_CHAR"``.

    Raises:
        BadArgumentError: The unit is another one, or a string has no such place.
    """
    _check_unit(unit)

    def part(given: bytes, pos: int, count: int) -> bytes:
        # Bytes that are no UTF-8 come out as they went in.
        text: Any = given if unit == "BYTE" else given.decode(errors="surrogateescape")
        # `len` is TensorFlow's parameter here.
        size = text.__len__()
        start = pos if pos >= 0 else pos + size
        if not 0 <= start <= size:
            raise errors.BadArgumentError(
                f"pos is out of range of a string. Expected: -{size} to {size}. Received: pos={pos} for {shown(text)}."
            )
        # TensorFlow takes a length of bytes for an unsigned number: -1 is a very large one.
        if unit == "BYTE":
            return given[start : start + count if count >= 0 else size]
        return text[start : start + max(count, 0)].encode(errors="surrogateescape")  # type: ignore[no-any-return]

    return on_host(lambda *arrays: each(part, *arrays), input, pos, len, name="substr")


def _check_unit(unit: str) -> None:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise errors.BadArgumentError(f"unit must be 'BYTE' or 'UTF8_CHAR'. Received: unit={shown(unit)}.")


@op(is_told=False, is_raw=True)
def regex_replace(input: TensorLike, pattern: Any, rewrite: Any, replace_global: bool = True) -> Any:
    r"""Return strings in which what a pattern matches is replaced, as `tf.strings.regex_replace`.

    Args:
        input: Strings.
        pattern: A regular expression of RE2: see `stratax.tensorflow.ops.text.regular_expressions`.
        rewrite: What stands there instead, with ``\1`` to ``\9`` for groups and ``\0`` for the whole.
        replace_global: Whether each match is replaced, or the first one only.

    Raises:
        BadArgumentError: The pattern or the rewrite is none.
    """
    replace = replacing(pattern, rewrite, replace_global)
    return _map(replace, input, "regex_replace")


@op(is_told=False, is_raw=True)
def regex_full_match(input: TensorLike, pattern: Any) -> Any:
    """Return whether a pattern matches the whole of strings, as `tf.strings.regex_full_match`.

    Args:
        input: Strings.
        pattern: A regular expression of RE2: see `stratax.tensorflow.ops.text.regular_expressions`.

    Raises:
        BadArgumentError: The pattern is none.
    """
    matches = matching(pattern)
    return on_host(
        lambda texts: each(matches, texts, dtype=bool), input, name="regex_full_match", gives=np.bool_
    )


@op(is_told=False, is_raw=True)
def to_number(input: TensorLike, out_type: DTypeLike = "float32") -> Any:
    """Return the numbers that strings are, as `tf.strings.to_number`.

    Args:
        input: Strings.
        out_type: The numbers' dtype.

    Raises:
        BadArgumentError: A string is no number.
    """
    dtype = as_dtype(out_type)
    convert: Callable[[bytes], Any] = int if dtype.kind in "iu" else float

    def number(text: bytes) -> Any:
        try:
            # Python's numbers may have underscores.
            if b"_" in text:
                raise ValueError
            made = convert(text)
            if dtype.kind in "iu" and not _fits(made, dtype):
                raise ValueError
            return made
        except ValueError as e:
            raise errors.BadArgumentError(
                f"StringToNumberOp could not correctly convert string: {shown(text)}. Expected: text of {dtype}."
            ) from e

    return on_host(lambda texts: each(number, texts, dtype=dtype), input, name="to_number", gives=dtype)


def _fits(number: int, dtype: np.dtype) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


def _map(function: Callable[[bytes], bytes], input: TensorLike, name: str) -> Any:
    return on_host(lambda texts: each(function, texts), input, name=name)


def _hash(function: Callable[[bytes], int], input: TensorLike, name: str) -> Any:
    return on_host(lambda texts: each(function, texts, dtype=np.int64), input, name=name, gives=np.int64)


def _choose_case(
    of_text: Callable[[str], str], of_bytes: Callable[[bytes], bytes], encoding: str
) -> Callable[[bytes], bytes]:
    if encoding not in ("", "utf-8"):
        raise errors.BadArgumentError(
            f"encoding must be '' or 'utf-8'. Received: encoding={shown(encoding)}."
        )
    # Without an encoding only letters of ASCII change, as in TensorFlow.
    # What is no UTF-8 becomes U+FFFD, likewise.
    return of_bytes if not encoding else lambda text: of_text(text.decode(errors="replace")).encode()


def _check_buckets(num_buckets: object) -> None:
    if not isinstance(num_buckets, int | np.integer) or num_buckets < 1:
        raise errors.BadArgumentError(
            f"num_buckets must be a whole number of at least 1. Received: num_buckets={shown(num_buckets)}."
        )
