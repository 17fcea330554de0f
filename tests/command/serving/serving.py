"""Servers and clients for tests: real ones, on a loopback address."""

import contextlib
import http.client
import json

import stratax.tf as tf
from stratax.command.serving import ModelServer, ServingOptions
from stratax.export import save


def spec(shape, dtype=tf.float32, name=None):
    return tf.TensorSpec(shape, dtype, name=name)


class Several(tf.Module):
    """A model with a variable and several signatures, each quick to compile."""

    def __init__(self, factor):
        super().__init__()
        self.factor = tf.Variable(float(factor))

    @tf.function(input_signature=[spec([None, 2], name="x")])
    def scaled(self, x):
        return {"y": x * self.factor}

    @tf.function(input_signature=[spec([None, 2], name="x"), spec([None], tf.int32, name="n")])
    def both(self, x, n):
        return {"total": tf.reduce_sum(x, 1), "more": n + 1}

    @tf.function(input_signature=[spec([None, 2], name="x")])
    def centered(self, x):
        return {"y": x - tf.reduce_mean(x, 0)}

    @tf.function(input_signature=[spec([None, None], name="x")])
    def lengths(self, x):
        return {"sum": tf.reduce_sum(x, 1)}

    @tf.function(input_signature=[spec([2], tf.bool, name="flag")])
    def fixed(self, flag):
        return {"not": tf.logical_not(flag)}


def write(folder, factor, names=("scaled",)):
    """Export a model whose first signature is the default one."""
    module = Several(factor)
    signatures = {name: getattr(module, name) for name in names}
    save(module, folder, {"serving_default": signatures[names[0]], **signatures}, platforms=["cpu"])


@contextlib.contextmanager
def serving(base, **options):
    options = {"poll_seconds": 0.05, "max_batch": 4} | options
    with ModelServer(ServingOptions(models={"m": str(base)}, port=0, **options)) as server:
        yield server


def ask(server, method, path, body=None, headers=None, *, raw=False):
    """Return the status and the answer's values of one request over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        content = body if raw or body is None else json.dumps(body)
        connection.request(method, path, content, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if answer.headers[
            "content-type"
        ] == "application/json" else text
    finally:
        connection.close()


def predict(server, body, path="/v1/models/m:predict", **options):
    return ask(server, "POST", path, body, **options)
