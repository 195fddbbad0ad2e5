"""Nuitka takes the module _ctypes as an example of a module, whatever is in it."""
