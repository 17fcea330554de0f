"""Operations of text, serialized examples and encoded images, which the host computes (saved_models layer)."""

from typing import Any

import numpy as np

from stratax import data, image
from stratax.data import FixedLenFeature, FixedLenSequenceFeature, RaggedTensor, VarLenFeature
from stratax.tensorflow.ops.text import encodings, string_parts, strings, unicode
from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import OperationContext, Value, as_number, as_numbers, define


def _text(names: str, function: Value, **options: Any) -> None:
    define(names, function, host=True, **options)


_text("StringLower", lambda run, node, x: strings.lower(x, encoding=node.text("encoding")))
_text("StringUpper", lambda run, node, x: strings.upper(x, encoding=node.text("encoding")))
_text("StringStrip", lambda run, node, x: strings.strip(x))
_text("StringLength", lambda run, node, x: strings.length(x, unit=node.text("unit", "BYTE")))
_text("StringJoin", lambda run, node, *parts: strings.join(list(parts), node.text("separator")))
_text(
    "Substr",
    lambda run, node, x, place, length: strings.substr(x, place, length, unit=node.text("unit", "BYTE")),
)
_text(
    "StaticRegexReplace",
    lambda run, node, x: strings.regex_replace(
        x, node["pattern"], node["rewrite"], replace_global=node.get("replace_global", True)
    ),
)
_text(
    "RegexReplace",
    lambda run, node, x, pattern, rewrite: strings.regex_replace(
        x, _word(pattern), _word(rewrite), node.get("replace_global", True)
    ),
)
_text("StaticRegexFullMatch", lambda run, node, x: strings.regex_full_match(x, node["pattern"]))
_text("RegexFullMatch", lambda run, node, x, pattern: strings.regex_full_match(x, _word(pattern)))
_text("StringToHashBucketFast", lambda run, node, x: strings.to_hash_bucket_fast(x, node["num_buckets"]))
_text(
    "StringToHashBucketStrong",
    lambda run, node, x: strings.to_hash_bucket_strong(x, node["num_buckets"], node["key"]),
)
_text("StringToHashBucket", lambda run, node, x: strings.to_hash_bucket(x, node["num_buckets"]))
_text("StringToNumber", lambda run, node, x: strings.to_number(x, node.get("out_type", np.dtype(np.float32))))
_text(
    "AsString",
    lambda run, node, x: strings.as_string(
        x,
        precision=node.get("precision", -1),
        scientific=node.get("scientific", False),
        shortest=node.get("shortest", False),
        width=node.get("width", -1),
        fill=node.text("fill"),
    ),
)
_text("EncodeBase64", lambda run, node, x: encodings.encode_base64(x, pad=node.get("pad", False)))
_text("DecodeBase64", lambda run, node, x: encodings.decode_base64(x))
_text("DecodeCompressed", lambda run, node, x: encodings.decode_compressed(x, node.text("compression_type")))
_text(
    "ReduceJoin",
    lambda run, node, x, axis: string_parts.reduce_join(
        x,
        axis=tuple(as_numbers(axis)) if np.ndim(axis) else as_number(axis),
        keepdims=node.get("keep_dims", False),
        separator=node.text("separator"),
    ),
)
_text(
    "UnicodeTranscode",
    lambda run, node, x: unicode.unicode_transcode(
        x,
        node.text("input_encoding"),
        node.text("output_encoding"),
        errors=node.text("errors", "replace"),
        replacement_char=node.get("replacement_char", 65533),
        replace_control_characters=node.get("replace_control_characters", False),
    ),
)


def _word(value: Value) -> Any:
    return np.asarray(value, object).item()


def _parts_of_sparse(value: Value) -> tuple[Any, Any, Any]:
    return value.indices, value.values, value.dense_shape


def _split(run: OperationContext, node: FileNode, x: Value, separator: Value) -> tuple[Any, Any, Any]:
    made = string_parts.split(np.asarray(x, object), _word(separator), node.get("maxsplit", -1))
    return _parts_of_sparse(made.to_sparse())


_text("StringSplitV2", _split, outputs="indices values shape")
_text(
    "StringSplit",
    lambda run, node, x, delimiter: _parts_of_sparse(
        string_parts.string_split(x, delimiter=_word(delimiter), skip_empty=node.get("skip_empty", True))
    ),
    outputs="indices values shape",
)


def _ngrams(run: OperationContext, node: FileNode, words: Value, splits: Value) -> tuple[Any, Any]:
    pads = node.text("left_pad"), node.text("right_pad")
    widths = node["ngram_widths"]
    made = string_parts.ngrams(
        RaggedTensor(words, splits),
        tuple(widths),
        node.text("separator"),
        pads if any(pads) else None,
        node.get("pad_width", 0) if any(pads) and node.get("pad_width", 0) >= 0 else None,
        node.get("preserve_short_sequences", False),
    )
    return made.values, np.asarray(made.row_splits, splits.dtype)


_text("StringNGrams", _ngrams, outputs="ngrams ngrams_splits")


def _decode_unicode(run: OperationContext, node: FileNode, x: Value) -> tuple[Any, Any]:
    made = unicode.unicode_decode(
        np.reshape(x, -1),
        node.text("input_encoding"),
        errors=node.text("errors", "replace"),
        replacement_char=node.get("replacement_char", 65533),
        replace_control_characters=node.get("replace_control_characters", False),
    )
    return np.asarray(made.row_splits, node.get("Tsplits", np.int64)), made.values


_text("UnicodeDecode", _decode_unicode, outputs="row_splits char_values")


def _decode_with_offsets(run: OperationContext, node: FileNode, x: Value) -> tuple[Any, Any, Any]:
    codes, offsets = unicode.unicode_decode_with_offsets(
        np.reshape(x, -1),
        node.text("input_encoding"),
        errors=node.text("errors", "replace"),
        replacement_char=node.get("replacement_char", 65533),
        replace_control_characters=node.get("replace_control_characters", False),
    )
    return np.asarray(codes.row_splits, node.get("Tsplits", np.int64)), codes.values, offsets.values


_text("UnicodeDecodeWithOffsets", _decode_with_offsets, outputs="row_splits char_values char_to_byte_starts")
_text(
    "UnicodeEncode",
    lambda run, node, codes, splits: unicode.unicode_encode(
        RaggedTensor(codes, splits),
        node.text("output_encoding"),
        errors=node.text("errors", "replace"),
        replacement_char=node.get("replacement_char", 65533),
    ),
)

# Serialized examples.


def _dense_feature(dtype: Value, shape: Value, default: Value) -> Any:
    sizes = list(shape or ())
    # An empty default is none.
    default = default if np.size(default) or 0 in sizes else None
    if sizes and sizes[0] is None:
        pad = None if default is None else np.reshape(default, -1)[0]
        return FixedLenSequenceFeature(sizes[1:], dtype, allow_missing=True, default_value=pad)
    return FixedLenFeature(sizes, dtype, default)


def _parse(
    serialized: Value,
    sparse: list[tuple[str, Any]],
    dense: list[tuple[str, Any, Any, Any]],
    ragged: list[Any],
) -> tuple[Any, ...]:
    features: dict[str, Any] = {name: VarLenFeature(dtype) for name, dtype in [*sparse, *ragged]}
    features.update({name: _dense_feature(*rest) for name, *rest in dense})
    if np.ndim(serialized):
        found = data.parse_example(serialized, features)
    else:
        found = data.parse_single_example(_word(serialized), features)
    of_sparse = [found[name] for name, _ in sparse]
    rows = [RaggedTensor.from_sparse(found[name]) for name, _ in ragged]
    return (
        *(each.indices for each in of_sparse),
        *(each.values for each in of_sparse),
        *(each.dense_shape for each in of_sparse),
        *(found[name] for name, *_ in dense),
        *(each.values for each in rows),
        *(each.row_splits for each in rows),
    )


def _names(values: Value) -> list[str]:
    return [_word(each).decode() for each in np.reshape(np.asarray(values, object), -1)]


def _parse_v2(
    run: OperationContext,
    node: FileNode,
    serialized: Value,
    names: Value,
    sparse: Value,
    dense: Value,
    ragged: Value,
    *defaults: Value,
) -> Any:
    found = _parse(
        serialized,
        list(zip(_names(sparse), node.get("sparse_types", []), strict=True)),
        list(zip(_names(dense), node.get("Tdense", []), node.get("dense_shapes", []), defaults, strict=True)),
        list(zip(_names(ragged), node.get("ragged_value_types", []), strict=True)),
    )
    return found


_text(
    "ParseExampleV2",
    _parse_v2,
    outputs="sparse_indices*num_sparse sparse_values*sparse_types sparse_shapes*num_sparse dense_values*Tdense "
    "ragged_values*ragged_value_types ragged_row_splits*ragged_split_types",
)


def _parse_v1(run: OperationContext, node: FileNode, serialized: Value, names: Value, *rest: Value) -> Any:
    num_sparse, num_dense = node["Nsparse"], node["Ndense"]
    sparse, dense, defaults = (
        rest[:num_sparse],
        rest[num_sparse : num_sparse + num_dense],
        rest[num_sparse + num_dense :],
    )
    return _parse(
        serialized,
        list(zip(map(_only_name, sparse), node.get("sparse_types", []), strict=True)),
        list(
            zip(
                map(_only_name, dense),
                node.get("Tdense", []),
                node.get("dense_shapes", []),
                defaults,
                strict=True,
            )
        ),
        [],
    )


def _only_name(value: Value) -> str:
    return str(_word(value).decode())


_text(
    "ParseExample",
    _parse_v1,
    outputs="sparse_indices*Nsparse sparse_values*sparse_types sparse_shapes*Nsparse dense_values*Tdense",
)


def _parse_single(run: OperationContext, node: FileNode, serialized: Value, *defaults: Value) -> Any:
    return _parse(
        np.asarray(serialized, object)[()],
        list(zip(_texts(node, "sparse_keys"), node.get("sparse_types", []), strict=True)),
        list(
            zip(
                _texts(node, "dense_keys"),
                node.get("Tdense", []),
                node.get("dense_shapes", []),
                defaults,
                strict=True,
            )
        ),
        [],
    )


def _texts(node: FileNode, name: str) -> list[str]:
    return [each.decode() for each in node.get(name, [])]


_text(
    "ParseSingleExample",
    _parse_single,
    outputs="sparse_indices*num_sparse sparse_values*sparse_types sparse_shapes*num_sparse dense_values*Tdense",
)
_text("ParseTensor", lambda run, node, x: data.parse_tensor(_word(x), node["out_type"]))
_text(
    "DecodeRaw",
    lambda run, node, x: data.decode_raw(x, node["out_type"], node.get("little_endian", True)),
)

# Encoded images.
_text(
    "DecodeJpeg",
    lambda run, node, x: image.decode_jpeg(
        _word(x),
        node.get("channels", 0),
        node.get("ratio", 1),
        node.get("fancy_upscaling", True),
        node.get("try_recover_truncated", False),
        node.get("acceptable_fraction", 1.0),
        node.text("dct_method"),
    ),
)
_text(
    "DecodePng",
    lambda run, node, x: image.decode_png(
        _word(x), node.get("channels", 0), node.get("dtype", np.dtype(np.uint8))
    ),
)
_text("DecodeBmp", lambda run, node, x: image.decode_bmp(_word(x), node.get("channels", 0)))
_text("DecodeGif", lambda run, node, x: image.decode_gif(_word(x)))
_text(
    "DecodeImage",
    lambda run, node, x: image.decode_image(
        _word(x),
        node.get("channels", 0),
        node.get("dtype", np.dtype(np.uint8)),
        expand_animations=node.get("expand_animations", True),
    ),
)
