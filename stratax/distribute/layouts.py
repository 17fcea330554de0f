"""Ready rules for `ShardedStrategy(layout=)`: how the variables of known models are divided (distribute layer)."""

from stratax import errors
from stratax.base.shown import shown
from stratax.distribute.strategies import ReadyPattern

Rules = list[tuple[str, tuple[str | None, ...] | None]]

# What follows the names of layers that widen features, or narrow them again.
_UP = (r"feedforward_(intermediate|gate)_dense", r"ffw_gating")
_DOWN = (r"feedforward_output_dense", r"ffw_linear")


def transformer(*, up: str | None = None, down: str | None = None) -> Rules:
    """Return rules for transformers: attention by heads, feedforward layers by features, embeddings by words.

    What the first of two layers computes in parts the second one takes in parts (Shoeybi et al. 2019), so that along
    ``"model"`` a block sums its result twice, and no weight is gathered. By ``"shard"`` the other large dimension is
    divided. The rules are for Keras' `MultiHeadAttention` and `GroupQueryAttention`, and for the blocks of keras-hub's
    GPT-2, BERT, Llama and Gemma. A dimension that an axis does not divide, such as few heads of keys, stays whole along
    it, and rules that no variable matches are no error. Variables that no rule matches are divided as without rules.

    Args:
        up: A regular expression that is found in the names of further layers that widen features, `Dense` ones; None
            for none.
        down: Likewise of those that narrow them again.

    Returns:
        Pairs of a regular expression and axes. Rules of your own come before: ``[("head/kernel", None), *rules]``.

    Raises:
        BadTypeError: If `up` or `down` is no text.

    Example:
        >>> import stratax as sx
        >>> rules = sx.distribute.layouts.transformer(up="mlp_up", down="mlp_down")
        >>> strategy = sx.distribute.ShardedStrategy(["/cpu:0"], layout=rules)
    """
    for name, value in (("up", up), ("down", down)):
        if value is not None and not isinstance(value, str):
            raise errors.BadTypeError(
                f"{name} must be a regular expression or None. Received: {name}={shown(value)}."
            )
    ups = "|".join([*_UP, *([up] if up else [])])
    downs = "|".join([*_DOWN, *([down] if down else [])])
    rules: Rules = [
        # keras-hub's Gemma has heads first.
        (r"decoder_block_\d+/attention/(query|key|value)/kernel$", ("model", "shard", None)),
        (r"/(query|key|value)/kernel$", ("shard", "model", None)),
        (r"/(query|key|value)/bias$", ("model", None)),
        (r"/attention_output/kernel$", ("model", None, "shard")),
        (rf"({ups})[^/]*/kernel$", ("shard", "model")),
        (rf"({ups})[^/]*/bias$", ("model",)),
        (rf"({downs})[^/]*/kernel$", ("model", "shard")),
        (r"token_embedding/embeddings$", ("model", "shard")),
        (r"/reverse_embeddings$", ("shard", "model")),
    ]
    return [(ReadyPattern(pattern), axes) for pattern, axes in rules]
