"""`tf.logging`: messages of Stratax' own logger, under TensorFlow 1's names (v1 layer)."""

import logging
from typing import Any

DEBUG, INFO, WARN, ERROR, FATAL = (
    logging.DEBUG,
    logging.INFO,
    logging.WARNING,
    logging.ERROR,
    logging.CRITICAL,
)

_logger = logging.getLogger("stratax")


class _WhereNobodyElseDoes(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to standard error as long as the program has set up no logging of its own."""

    # A library may set it up later, on its first message, and each line would be there twice.
    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)


def set_verbosity(v: int | str) -> None:
    """Set the least level of messages that are shown, of Estimators' own as well.

    They go to stderr if the program has set up nothing else.

    Args:
        v: `DEBUG`, `INFO`, `WARN`, `ERROR` or `FATAL`.
    """
    get_logger().setLevel(v)


def get_logger() -> logging.Logger:
    """Return Stratax' own logger, as `tf.get_logger`.

    What is logged goes to stderr if the program has set up nothing else.
    """
    # Once: a second handler would write each line again.
    if not any(isinstance(handler, _WhereNobodyElseDoes) for handler in _logger.handlers):
        handler = _WhereNobodyElseDoes()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        _logger.addHandler(handler)
    return _logger


def get_verbosity() -> int:
    """Return the least level of messages that are shown."""
    return _logger.getEffectiveLevel()


def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Log a message of a level; `args` are put into it as `%` does."""
    _logger.log(level, msg, *args, **kwargs)


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log what helps to find errors."""
    _logger.debug(msg, *args, **kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log a message of level INFO."""
    _logger.info(msg, *args, **kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log what may be wrong."""
    _logger.warning(msg, *args, **kwargs)


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log a message of level ERROR."""
    _logger.error(msg, *args, **kwargs)


def fatal(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log an error after which the program can't go on; it does not end it."""
    _logger.critical(msg, *args, **kwargs)


def log_if(level: int, msg: str, condition: object, *args: object) -> None:
    """Log a message if a condition holds."""
    if condition:
        _logger.log(level, msg, *args)
