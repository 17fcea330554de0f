"""Exports behind HTTP: TensorFlow Serving's REST interface (serving layer).

From below: `_options` is what a server was told, `_requests` makes arrays of a request's JSON, `_responses` JSON of
arrays, `_batches` joins what comes at the same time, `_versions` is a loaded version, `_models` watches folders and
changes versions, `_application` answers, `_page` shows it to people, `_metrics` to Prometheus, `_server` listens. Needs
Starlette and Uvicorn (`stratax-train[serve]`), and no Keras.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
