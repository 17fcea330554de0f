"""`tf.contrib.training.HParams`: a program's settings, each with a type, read from text."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from stratax import errors
from stratax.base.shown import shown

# `name=1`, `name=[1,2]` and `name[3]=1`, with a comma behind.
_ASSIGNMENT = re.compile(
    r"\s*(?P<name>[a-zA-Z][\w.]*)\s*(\[\s*(?P<index>\d+)\s*\])?\s*=\s*((?P<one>[^,\[]*)|\[(?P<many>[^\]]*)\])\s*(,|$)"
)
_TRUTHS = {"true": True, "True": True, "false": False, "False": False}


class HParams:
    """Settings by name, each of which keeps its type, as `tf.contrib.training.HParams`.

    Args:
        hparam_def: Refused: a protocol buffer of TensorFlow's.
        model_structure: Anything; kept.
        **kwargs: The settings: numbers, strings, booleans and lists of one of them.

    Example:
        >>> settings = HParams(rate=0.1, sizes=[1, 2])
        >>> settings.parse("rate=0.5,sizes=[3,4]").values()
        {'rate': 0.5, 'sizes': [3, 4]}
    """

    def __init__(self, hparam_def: object = None, model_structure: object = None, **kwargs: object) -> None:
        if hparam_def is not None:
            raise errors.BadArgumentError("HParams takes settings by name. Received: hparam_def.")
        self._types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: object) -> None:
        """Add a setting.

        Raises:
            BadArgumentError: If there is one of that name, or its list is empty.
        """
        if getattr(self, name, None) is not None:
            raise errors.BadArgumentError(f"Hyperparameter name is reserved: {name}.")
        if isinstance(value, list | tuple):
            if not value:
                raise errors.BadArgumentError(
                    f"Multi-valued hyperparameters cannot be empty: {name}. Its first value tells its type."
                )
            self._types[name] = (type(value[0]), True)
        else:
            self._types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Give a setting another value of its type.

        Raises:
            BadArgumentError: If there is no such setting, or the value has another type.
        """
        kind, is_list = self._type_of(name)
        if isinstance(value, list) != is_list:
            wanted = "a list" if is_list else "one value"
            raise errors.BadArgumentError(f"Hyperparameter {name} takes {wanted}. Received: {shown(value)}.")
        converted = [_cast(name, kind, each) for each in value] if is_list else _cast(name, kind, value)
        setattr(self, name, converted)

    def del_hparam(self, name: str) -> None:
        """Remove a setting, if it is there."""
        if name in self._types:
            delattr(self, name)
            del self._types[name]

    def _type_of(self, name: str) -> tuple[type, bool]:
        if name not in self._types:
            raise errors.BadArgumentError(
                f"Unknown hyperparameter {shown(name)}. There are {shown(sorted(self._types))}."
            )
        return self._types[name]

    def parse(self, values: str) -> "HParams":
        """Set what text says, such as `"rate=0.5,sizes=[3,4]"`, and return these settings.

        Raises:
            BadArgumentError: If the text can't be read, or names no setting.
        """
        for name, value in parse_values(
            values, {each: kind for each, (kind, _) in self._types.items()}
        ).items():
            self.set_hparam(name, value)
        return self

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> "HParams":
        """Set settings by name, and return these."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> "HParams":
        """Set what a JSON object says, and return these settings."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(
        self,
        indent: Any = None,
        separators: Any = None,
        sort_keys: bool = False,
    ) -> str:
        """Return the settings as JSON; functions are left out."""
        values = {name: each for name, each in self.values().items() if not callable(each)}
        return json.dumps(values, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {name: getattr(self, name) for name in self._types}

    def get(self, key: str, default: object = None) -> Any:
        """Return a setting, or a default where there is none.

        Raises:
            BadArgumentError: If the default has another type than the setting.
        """
        if key not in self._types:
            return default
        kind, is_list = self._types[key]
        if default is not None:
            each = default[0] if is_list and isinstance(default, list) and default else default
            if isinstance(default, list) != is_list:
                raise errors.BadArgumentError(
                    f"Hyperparameter {key} and its default must both be lists, or neither. Received: {shown(default)}."
                )
            _cast(key, kind, each)
        return getattr(self, key)

    def get_model_structure(self) -> object:
        """Return what was given as `model_structure`."""
        return self._model_structure

    def set_model_structure(self, model_structure: object) -> None:
        """Keep something else."""
        self._model_structure = model_structure

    def __contains__(self, key: object) -> bool:
        return key in self._types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"


def parse_values(values: str, type_map: Mapping[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """Return what text such as `"rate=0.5,sizes=[3,4],others[0]=2"` says.

    Args:
        values: The text.
        type_map: The type of each name.
        ignore_unknown: Whether to pass over other names.

    Returns:
        Values by name: one, a list, or, where places in a list are named, a dict of them.

    Raises:
        BadArgumentError: If the text can't be read, or has an unknown name or one twice.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if match is None:
            raise errors.BadArgumentError(f"Malformed hyperparameter value: {values[position:]}.")
        position = match.end()
        name, index = match["name"], match["index"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise errors.BadArgumentError(f"Unknown hyperparameter type for {name}.")
        read = _reader(name, type_map[name])
        if index is not None:
            places = found.setdefault(name, {})
            if not isinstance(places, dict) or int(index) in places or match["many"] is not None:
                raise errors.BadArgumentError(f"Multiple assignments to variable {shown(name)} in {values}.")
            places[int(index)] = read(match["one"].strip())
            continue
        if name in found:
            raise errors.BadArgumentError(f"Multiple assignments to variable {shown(name)} in {values}.")
        if match["many"] is not None:
            found[name] = [read(each.strip()) for each in match["many"].split(",") if each.strip()]
        else:
            found[name] = read(match["one"].strip())
    return found


def _reader(name: str, kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            if kind is not bool:
                return kind(text)
            return _TRUTHS[text] if text in _TRUTHS else bool(int(text))
        except ValueError:
            raise errors.BadArgumentError(
                f"Could not parse hparam {shown(name)} of type {shown(kind.__name__)} with value {shown(text)}."
            ) from None

    return read


def _cast(name: str, kind: type, value: Any) -> Any:
    """Return a value in the type of a setting, where that loses nothing."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))
        or (kind is float and is_number)
        or (kind is str and isinstance(value, bytes))
        or kind is type(None)
    )
    if not fits:
        raise errors.BadArgumentError(
            f"Could not cast hparam {shown(name)} of type {shown(kind.__name__)} from value {shown(value)}."
        )
    if kind is type(None):
        return value
    return (
        value.decode()
        if isinstance(value, bytes)
        else kind(value)
        if kind in (int, float, str, bool)
        else value
    )
