"""`"text" % shape`, where a shape is one value as in TensorFlow (ops layer).

A tensor's shape is a tuple here, which `%` takes for several values.
"""

import ast

from stratax.core import autograph

# By what name rewritten code has the function; a module that has it is rewritten once.
FUNCTION = "__stratax_format__"


def format_text(text: str, value: object) -> str:
    """Return `text % value`, where a shape is one value unless the text has several places.

    Args:
        text: A text with places for values.
        value: What stands behind the `%`.
    """
    # A `TensorShape`: Python's own tuples are several values.
    is_shape = isinstance(value, tuple) and hasattr(value, "as_list")
    return text % ((value,) if is_shape and text.replace("%%", "").count("%") == 1 else value)


class Formats(ast.NodeTransformer):
    """Writes `"text" % value` as a call of :func:`format_text`.

    Args:
        function: An expression by which the code finds that function.
    """

    def __init__(self, function: str) -> None:
        self._function = function

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Rewrite an expression if what is behind its text may be a shape."""
        self.generic_visit(node)
        match node:
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
                if not isinstance(right, ast.Tuple | ast.Dict | ast.Constant):
                    function = ast.parse(self._function, mode="eval").body
                    return ast.copy_location(ast.Call(function, [node.left, right], []), node)
        return node


def install() -> None:
    """Have functions that AutoGraph rewrites take shapes so; safe to call again."""
    if not any(isinstance(rewriting, Formats) for rewriting in autograph.REWRITINGS):
        module = f"__import__({__name__!r}, fromlist=[''])"
        autograph.REWRITINGS.append(Formats(f"{module}.format_text"))
