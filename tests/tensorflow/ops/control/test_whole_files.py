"""Contents of files have the methods of tensors."""

import stratax.tf as tf


def test_contents_of_files_have_the_methods(tmp_path):
    path = str(tmp_path / "a")
    tf.io.write_file(path, "text")
    content = tf.io.read_file(path)
    assert (content, content.numpy(), type(content.numpy()), content.dtype) == (
        b"text",
        b"text",
        bytes,
        tf.string,
    )
