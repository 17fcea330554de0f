"""Who does the host's part of exports: text, files, images whose sizes differ (export layer)."""

from typing import Any

from stratax import _providers


def host_part() -> Any:
    """Return the module of what records the host's part of a function, and of its plans: `stratax.tensorflow.exports.host`.

    It is imported when it is first needed: exports without a plan need none of the functions that plans call.
    """
    (module,) = _providers.providers("the host's part of exports")
    return module
