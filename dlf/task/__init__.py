"""What the platform asks for: flags and environment variables, parsed purely into structs."""
