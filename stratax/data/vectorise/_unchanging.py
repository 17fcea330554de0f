"""Values that a pure function may read, because they never change (data layer)."""


class Unchanging:
    """Base of values that never change once they are made.

    Only classes of this library are taken at their word.
    """

    __slots__ = ()
