"""In place of msgspec._json_schema, which msgspec.json imports: dlf makes no JSON Schema."""


def schema(*_: object, **__: object) -> None:
    """Refuse."""
    raise NotImplementedError


schema_components = schema
