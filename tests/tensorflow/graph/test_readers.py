"""Readers give what is in files whose names come from a queue."""

import stratax.tf.compat.v1 as tf


def test_readers_give_keys_and_count(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"hh0123")
    with tf.Graph().as_default(), tf.Session() as session:
        files = tf.train.match_filenames_once(str(tmp_path / "*.bin"))
        queue = tf.train.string_input_producer(files, num_epochs=1)
        reader = tf.FixedLengthRecordReader(record_bytes=2, header_bytes=2)
        assert isinstance(reader, tf.ReaderBase)
        keys, values = reader.read_up_to(queue, 5)
        whole = tf.WholeFileReader().read(tf.train.string_input_producer(files))
        same = tf.IdentityReader().read(tf.train.string_input_producer(["a"]))
        tf.train.start_queue_runners(session)
        assert [each.tolist() for each in session.run([keys, values])] == [
            [f"{tmp_path / 'a.bin'}:{number}".encode() for number in (0, 1)],
            [b"01", b"23"],
        ]
        assert session.run(reader.num_records_produced()) == 2
        assert session.run(whole) == (str(tmp_path / "a.bin").encode(), b"hh0123")
        assert session.run(same) == (b"a", b"a")
