"""The declarations of settings."""

from typing import Annotated

import msgspec

from dlf.task.flag import Flag, settings_of


class Base(msgspec.Struct, frozen=True, kw_only=True):
    plain: int = 0
    first_flag: Annotated[str, Flag("first", variable="FIRST")] = "a"
    hidden: Annotated[str, Flag("hidden", variable="HIDDEN", form="variable")] = ""
    made: Annotated[dict[str, str], Flag("made")] = msgspec.field(
        default_factory=lambda: {"a": "b"}
    )


class Derived(Base, frozen=True, kw_only=True):
    first_flag: str = "b"
    last: Annotated[str, Flag("last", name="very-last")] = ""


def test_settings_of_lists_declared_fields_base_first() -> None:
    """Fields without a flag are no settings; a subclass may change a default alone."""
    assert [("first_flag", "b"), ("hidden", ""), ("made", {"a": "b"}), ("last", "")] == [
        (setting.name, setting.default) for setting in settings_of(Derived)
    ]


def test_setting_knows_its_option_and_variables() -> None:
    """The own variable stands before the platform's; what has no flag has no own variable."""
    assert [
        ("--first_flag", "first_flag", ("DLF_FIRST_FLAG", "FIRST")),
        ("", "", ("HIDDEN",)),
        ("--made", "made", ("DLF_MADE",)),
        ("--very-last", "very_last", ("DLF_VERY_LAST",)),
    ] == [(s.option, s.key, s.variables) for s in settings_of(Derived)]
