"""`tf.io`: encodings, and features of Examples that are made of several."""

from tests.golden.surface import Case

_RECORDS = """
def feature(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
def record(**features):
    held = tf.train.Features(feature={name: feature(values) for name, values in features.items()})
    return tf.train.Example(features=held).SerializeToString()
records = [record(ids=[5, 1], values=[7, 8]), record(), record(ids=[3], values=[9])]
"""
_SPARSE = "'a': tf.io.SparseFeature('ids', 'values', tf.int64, 6)"

CASES = [
    Case(code, modes=("host",))
    for code in (
        "tf.io.encode_base64(['hello', '', 'a?>'])",
        "tf.io.encode_base64('hello', pad=True)",
        "tf.io.decode_base64(['aGVsbG8', 'aGVsbG8=', ''])",
        "tf.io.decode_base64('!!')",
        "import zlib; tf.io.decode_compressed([zlib.compress(b'some text')], 'ZLIB')",
        "tf.io.decode_compressed(['as it is'])",
        "tf.io.decode_compressed(['broken'], 'GZIP')",
        "tf.io.decode_compressed(['a'], 'BZIP')",
        _RECORDS + "tf.io.parse_example(records, {'ids': tf.io.RaggedFeature(tf.int64)})",
        _RECORDS + "tf.io.parse_single_example(records[0], {'ids': tf.io.RaggedFeature(tf.int64)})",
        _RECORDS + "tf.io.parse_example(records, {'a': tf.io.RaggedFeature(tf.int64, value_key='values')})",
        _RECORDS + "tf.io.parse_example(records, {" + _SPARSE + ", 'ids': tf.io.VarLenFeature(tf.int64)})",
        _RECORDS + "tf.io.parse_single_example(records[0], {" + _SPARSE + "})",
        _RECORDS + "tf.io.parse_example([record(ids=[1], values=[1, 2])], {" + _SPARSE + "})",
    )
]
