"""What a thread has around it: values of blocks, all of which go to another thread at once."""

import contextlib
import threading

import pytest

from stratax.base.surroundings import Slot, hand_over, hand_too

NAME: Slot[str] = Slot("name", "nobody")
PLACES: Slot[tuple[str, ...]] = Slot("places", ())


def _in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def _both():
    return NAME.get(), PLACES.get()


def test_a_value_is_there_for_a_block_and_the_one_before_comes_back():
    assert NAME.get() == "nobody"
    with NAME.holding("Ada"):
        with NAME.holding("Bob"):
            assert NAME.get() == "Bob"
        assert NAME.get() == "Ada"
    assert NAME.get() == "nobody"


def test_a_value_comes_back_behind_an_error():
    with pytest.raises(ZeroDivisionError), NAME.holding("Ada"):
        raise ZeroDivisionError
    assert NAME.get() == "nobody"


def test_a_value_that_is_set_in_a_block_ends_with_the_block():
    with NAME.holding("Ada"):
        NAME.set("Bob")
        assert NAME.get() == "Bob"
    assert NAME.get() == "nobody"


def test_one_block_gives_several_values():
    with NAME.holding("Ada") | PLACES.holding(("here",)):
        assert _both() == ("Ada", ("here",))
        with PLACES.holding(("there",)) | PLACES.holding(("anywhere",)):
            assert _both() == ("Ada", ("anywhere",))
        assert _both() == ("Ada", ("here",))
    assert _both() == ("nobody", ())


def test_slots_of_one_name_are_two():
    other: Slot[str] = Slot("name", "somebody")
    with other.holding("Ada"):
        assert (NAME.get(), other.get()) == ("nobody", "Ada")


def test_another_thread_has_nothing_unless_it_is_handed_over():
    with NAME.holding("Ada") | PLACES.holding(("here",)):
        assert _in_thread(_both) == ("nobody", ())
        assert _in_thread(hand_over(_both)) == ("Ada", ("here",))


def test_what_is_handed_over_is_what_was_there_then_and_what_the_other_sets_stays_there():
    def moved() -> tuple[object, ...]:
        before = _both()
        NAME.set("Bob")
        return before

    with NAME.holding("Ada"):
        function = hand_over(moved)
        with PLACES.holding(("here",)):
            assert _in_thread(function) == ("Ada", ())
            assert _in_thread(function) == ("Ada", ())
            assert _both() == ("Ada", ("here",))


def test_what_the_other_thread_had_is_put_aside_and_comes_back():
    function = hand_over(_both)

    def other() -> tuple[object, ...]:
        with NAME.holding("Bob"):
            return function(), _both()

    with PLACES.holding(("here",)):
        assert _in_thread(other) == (("nobody", ()), ("Bob", ()))


def test_arguments_results_and_errors_pass():
    assert hand_over(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        hand_over(divmod)(1, 0)
    assert NAME.get() == "nobody"


def test_what_a_library_keeps_for_a_thread_goes_along(monkeypatch):
    monkeypatch.setattr("stratax.base.surroundings._captures", [])
    library = threading.local()

    def capture():
        value = getattr(library, "value", None)

        @contextlib.contextmanager
        def given():
            library.value = value
            yield
            del library.value

        return given

    hand_too(capture)
    library.value = 3
    assert _in_thread(hand_over(lambda: library.value)) == 3
    assert _in_thread(lambda: hasattr(library, "value")) is False
