"""How one setting is declared: beside its type, for the parser, the help and the docs."""

from collections.abc import Callable
from typing import Any, Literal, get_type_hints

import msgspec

from dlf.task.scalars import text as any_text


class Flag(msgspec.Struct, frozen=True):
    """Metadata of a struct field, given as `Annotated[type, Flag(...)]`.

    Attributes:
        help: one sentence, lower case, no full stop.
        parse: makes the field's value of the text; raises ValueError saying what to write.
        variable: environment variable of the platform that sets it too. Every setting with a flag
            is also set by `DLF_<NAME>`, which wins over `variable`.
        metavar: what the value is called in the help.
        form: `value` takes one value; `switch` none; `repeat` may be given several times;
            `optional` takes one only as `--flag=value`; `variable` has no flag at all.
    """

    help: str
    parse: Callable[[str], Any] = any_text
    variable: str = ""
    metavar: str = "TEXT"
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
        return "--dry-run" if self.name == "dry_run" else f"--{self.name}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that set it, the strongest first."""
        own = (f"DLF_{self.name.upper()}",) if self.option else ()
        return own + ((self.flag.variable,) if self.flag.variable else ())


def settings_of(cls: type[msgspec.Struct]) -> list[Setting]:
    """The settings that a struct declares, inherited ones first, in the order of declaration."""
    hints = get_type_hints(cls, include_extras=True)
    return [
        Setting(field.name, flag, field.default)
        for field in msgspec.structs.fields(cls)
        for flag in getattr(hints[field.name], "__metadata__", ())
        if isinstance(flag, Flag)
    ]
