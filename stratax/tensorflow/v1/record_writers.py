"""`tf.io.TFRecordWriter` and `tf.python_io.TFRecordWriter` (v1 layer)."""

from stratax import data


class TFRecordWriter(data.TFRecordWriter):
    """Writes a TFRecord file, as `tf.io.TFRecordWriter`: see :class:`stratax.data.TFRecordWriter`.

    One that a program forgets to close makes its file when it is collected: in CPython where the function ends that
    made it. If the process ends before, there is no file.

    Args:
        path: A path, or a URL that fsspec opens.
        options: A :class:`TFRecordOptions`, or just a compression type; default none.
    """

    _closes_when_collected = True
