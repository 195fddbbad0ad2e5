"""How one setting is declared: beside its type, for the parser, the help and the docs."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from dlf.task.scalars import text as any_text


class Tolerated(msgspec.Struct, frozen=True):
    """What a parser returns for a text that is wrong but has always been accepted.

    Attributes:
        value: what the text is taken for.
        warning: what is wrong and what dlf makes of it, for the user.
    """

    value: Any
    warning: str


class Flag(msgspec.Struct, frozen=True):
    """Metadata of a struct field, given as `Annotated[type, Flag(...)]`.

    Attributes:
        help: one sentence, lower case, no full stop.
        parse: makes the field's value of the text. Its ValueError says what to write (`write a
            whole number`), or goes on with the sentence that begins with the value (`is not a valid
            quantity; write ...`); it does not repeat the value.
        variable: environment variable of the platform that sets it too. Every setting with a flag
            is also set by `DLF_<NAME>`, which wins over `variable`.
        metavar: what the value is called in the help.
        name: the flag without its dashes, where it differs from the field.
        short: the flag in one letter, such as `-n`, or "".
        join: what the texts are joined by before they are parsed, when the flag is repeated.
        verbatim: blanks around the text of the flag belong to the value; else they are dropped.
        form: `value` takes one value; `switch` none; `repeat` may be given several times;
            `optional` takes one only as `--flag=value`; `variable` has no flag at all.
    """

    help: str
    parse: Callable[[str], Any] = any_text
    variable: str = ""
    metavar: str = "TEXT"
    name: str = ""
    short: str = ""
    join: str = ""
    verbatim: bool = False
    form: Literal["value", "switch", "repeat", "optional", "variable"] = "value"


class Setting(msgspec.Struct, frozen=True):
    """One field of a settings struct together with its declaration."""

    name: str
    flag: Flag
    default: Any

    @property
    def option(self) -> str:
        """The flag as documented, such as `--num_worker`; "" for a variable without a flag."""
        if self.flag.form == "variable":
            return ""
        return f"--{self.flag.name or self.name}"

    @property
    def key(self) -> str:
        """The flag without dashes, `-` written as `_`: what a flag is looked up by."""
        return self.option[2:].replace("-", "_")

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that set it, the strongest first."""
        own = (f"DLF_{self.key.upper()}",) if self.option else ()
        return own + ((self.flag.variable,) if self.flag.variable else ())


def settings_of(cls: type[msgspec.Struct]) -> list[Setting]:
    """The settings that a struct declares, inherited ones first, in the order of declaration.

    A subclass that only changes a default repeats the field with its plain type.
    """
    flags = {
        name: flag
        for base in reversed(cls.__mro__)
        for name, annotation in getattr(base, "__annotations__", {}).items()
        for flag in getattr(annotation, "__metadata__", ())
        if isinstance(flag, Flag)
    }
    return [
        Setting(field.name, flags[field.name], _default(field))
        for field in msgspec.structs.fields(cls)
        if field.name in flags
    ]


def _default(field: msgspec.structs.FieldInfo) -> Any:
    made = field.default_factory
    return field.default if made is msgspec.NODEFAULT else made()
