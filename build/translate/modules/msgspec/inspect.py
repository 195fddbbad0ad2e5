"""In place of msgspec.inspect, which msgspec imports: dlf does not describe its types."""
