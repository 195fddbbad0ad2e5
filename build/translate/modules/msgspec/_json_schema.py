"""In place of msgspec._json_schema, which msgspec.json imports: dlf makes no JSON Schema."""


def schema(*_: object, **__: object) -> None:
    """Refuse: nothing of dlf asks for one."""
    raise RuntimeError("dlf makes no JSON Schema")


schema_components = schema
