"""`K.set_session` and `K.get_session` leave what is computed as it is."""

import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.graph import find_default, leave_program_graph
from stratax.tensorflow.keras2 import sessions


@pytest.fixture(autouse=True)
def _leave_the_graph():
    yield
    sessions._SET.clear()
    leave_program_graph()


def test_the_session_that_was_set_is_the_one_that_is_got():
    with tf.Graph().as_default():
        session = tf.compat.v1.Session()
    tf.keras.backend.set_session(session)
    assert tf.keras.backend.get_session() is session
    with tf.Graph().as_default(), tf.compat.v1.Session() as entered:
        assert tf.keras.backend.get_session() is entered


def test_what_is_no_session_is_refused():
    with pytest.raises(
        errors.BadTypeError, match=r"session must be a tf.compat.v1.Session. Received: session=3"
    ):
        tf.keras.backend.set_session(3)


def test_a_session_that_is_made_for_its_settings_leaves_functions_computing():
    # This text has a session that runs something, so that of a program of its own is compiled.
    text = (
        "import stratax.tf as tf\nkept = tf.compat.v1.InteractiveSession(config=tf.compat.v1.ConfigProto())\n"
    )
    place = __file__.replace("test_sessions.py", "no_such_file.py")
    import linecache

    linecache.cache[place] = (len(text), None, text.splitlines(True), place)
    names: dict = {}
    exec(compile(text, place, "exec"), names)
    assert find_default() is None
    assert float(tf.constant(2.0) * 2.0) == 4.0
    assert names["kept"].run([None]) == [None]
    names["kept"].close()
