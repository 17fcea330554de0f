"""Who does the host's part of exports: text, files, images whose sizes differ (export layer)."""

from typing import Any

from stratax.base import providers


def host_part() -> Any:
    """Return the module of what records the host's part of a function, and of its plans: `tensorflow.exports.host`.

    It is imported when it is first needed: exports without a plan need none of the functions that plans call.
    """
    (module,) = providers.providers("the host's part of exports")
    return module
