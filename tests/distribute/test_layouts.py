"""Ready rules divide every large variable of the models that they are for, and a model of their kind trains."""

import jax
import keras
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from stratax import errors
from stratax.distribute import MirroredStrategy, ShardedStrategy, layouts

CPUS = [f"/cpu:{index}" for index in range(8)]
MHA = {"query/kernel": (64, 4, 16), "attention_output/kernel": (4, 16, 64)}
FFN = {"feedforward_intermediate_dense/kernel": (64, 128), "feedforward_output_dense/kernel": (128, 64)}

# Paths and shapes of variables in models of keras-hub 0.32, with 4 heads of 16 and 64 features.
MODELS = {
    "GPT2Backbone": {
        "token_embedding/embeddings": (512, 64),
        **{f"transformer_layer_0/self_attention/{name}": shape for name, shape in MHA.items()},
        "transformer_layer_0/self_attention/query/bias": (4, 16),
        **{f"transformer_layer_0/{name}": shape for name, shape in FFN.items()},
        "transformer_layer_0/feedforward_intermediate_dense/bias": (128,),
    },
    "BertBackbone": {
        **{f"transformer_layer_0/self_attention_layer/{name}": shape for name, shape in MHA.items()},
        **{f"transformer_layer_0/{name}": shape for name, shape in FFN.items()},
    },
    "LlamaBackbone": {
        "token_embedding/reverse_embeddings": (64, 512),
        # Two heads of keys.
        "transformer_layer_0/self_attention/key/kernel": (64, 2, 16),
        "transformer_layer_0/feedforward_gate_dense/kernel": (64, 128),
        **{f"transformer_layer_0/{name}": shape for name, shape in FFN.items()},
    },
    "GemmaBackbone": {
        "decoder_block_0/attention/query/kernel": (4, 64, 16),
        "decoder_block_0/attention/key/kernel": (1, 64, 16),
        "decoder_block_0/attention/attention_output/kernel": (4, 16, 64),
        "decoder_block_0/ffw_gating/kernel": (64, 128),
        "decoder_block_0/ffw_gating_2/kernel": (64, 128),
        "decoder_block_0/ffw_linear/kernel": (128, 64),
    },
}


def layout_of(rules):
    return ShardedStrategy(jax.devices()[:4], model=2, layout=rules).extended.placement.layout


@pytest.mark.parametrize("name", MODELS)
def test_every_variable_of_a_known_model_is_divided(name):
    layout = layout_of(layouts.transformer())
    for path, shape in MODELS[name].items():
        place = layout.place_of(path, shape)
        whole = np.prod(shape) / np.prod(place.sharding.shard_shape(shape))
        # One head of keys stays whole along "model".
        expected = 2 if len(shape) == 1 or "bias" in path or 1 in shape else 4
        assert whole == expected, (path, place)
    assert layout.find_idle() == []


def test_own_rules_come_before_and_are_still_checked():
    rules = [("query/kernel", None), ("typo", None), *layouts.transformer(up="wide", down="narrow")]
    layout = layout_of(rules)
    specs = [
        layout.place_of(path, shape).sharding.spec
        for path, shape in (
            ("a/query/kernel", (64, 4, 16)),
            ("a/key/kernel", (64, 4, 16)),
            ("block_wide_2/kernel", (64, 128)),
            ("narrow/kernel", (128, 64)),
            # Of other dimensions than the rule is for.
            ("a/key/kernel", (64, 64)),
        )
    ]
    assert specs == [
        PartitionSpec(),
        PartitionSpec("shard", "model"),
        PartitionSpec("shard", "model"),
        PartitionSpec("model", "shard"),
        PartitionSpec(),
    ]
    assert layout.find_idle() == ["'typo': None matches no variable"]


def trained(strategy):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        tokens = keras.layers.Input((16,), dtype="int32")
        x = keras.layers.Embedding(128, 64, name="token_embedding")(tokens)
        attended = keras.layers.MultiHeadAttention(4, 16)(x, x, use_causal_mask=True)
        x = keras.layers.LayerNormalization()(x + attended)
        y = keras.layers.Dense(256, "gelu", name="mlp_up")(x)
        x = keras.layers.LayerNormalization()(x + keras.layers.Dense(64, name="mlp_down")(y))
        model = keras.Model(tokens, keras.layers.Dense(128, name="head")(x))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss)
    rng = np.random.default_rng(0)
    text = rng.integers(0, 128, (24, 17))
    history = model.fit(text[:, :-1], text[:, 1:], batch_size=8, epochs=2, shuffle=False, verbose=0)
    return model, [history.history["loss"], *(variable.numpy() for variable in model.variables)]


@pytest.mark.exact
def test_a_block_of_keras_own_layers_trains_as_on_whole_replicas():
    _, expected = trained(MirroredStrategy(CPUS[:2]))
    strategy = ShardedStrategy(
        CPUS[:4], model=2, layout=layouts.transformer(up="mlp_up", down="mlp_down"), remat="layer"
    )
    model, found = trained(strategy)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)
    printed = []
    strategy.layout_table(model, printed.append)
    whole = [line for line in printed[0].splitlines()[1:-1] if "whole" not in line and "model" not in line]
    # The head, which no rule is for.
    assert [line.split()[0] for line in whole if "shard" not in line] == []


def test_names_that_are_no_text_are_refused():
    with pytest.raises(errors.BadTypeError, match="up must be a regular expression or None. Received: up=3"):
        layouts.transformer(up=3)
