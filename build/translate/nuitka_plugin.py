"""What Nuitka includes, and in which form.

Loaded into Nuitka, so this file has Nuitka's licence, AGPL-3.0, whatever the project's is.
"""

from nuitka.freezer import ImportDetection  # type: ignore[import-untyped]
from nuitka.plugins.PluginBase import NuitkaPluginBase  # type: ignore[import-untyped]

# Nuitka adds the whole standard library, for imports it cannot see. We name those few ourselves
# (IMPORTED_UNSEEN in translate.py); the rest is what the program's import statements reach.
ImportDetection._stdlib_modules_names = ()  # noqa: SLF001

# Every start runs through the first line; through the others goes every line of every pod.
COMPILED = [
    *("__main__", "dlf.__main__", "dlf.cli", "dlf.edge", "dlf.errors"),
    *(
        "dlf.logs",
        "dlf.kube.body_framing",
        "dlf.kube.http1",
        "dlf.kube.poller",
        "dlf.kube.sockets",
        "dlf.kube.tls_layer",
    ),
]


class HotCompiledRestBytecode(NuitkaPluginBase):  # type: ignore[misc]
    """Compile what is hot to C and keep the rest as bytecode.

    All of dlf in C is 3.5 MB more, all dependencies 11 MB, and neither starts faster.
    """

    plugin_name = "hot-compiled-rest-bytecode"
    plugin_desc = "compile what is hot, keep the rest as bytecode"

    def decideCompilation(self, module_name: object) -> str:  # noqa: N802
        """Return the form of one module."""
        hot = module_name.hasOneOfNamespaces(*COMPILED)  # type: ignore[attr-defined]
        return "compiled" if hot else "bytecode"
