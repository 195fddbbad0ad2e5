"""zlib and OpenSSL as static libraries."""

import shutil
from pathlib import Path

from sources import TRIM
from stage import Bench, Workshop
from toolchain import Toolchain, script

CA_FOLDER = "/etc/ssl"  # system certificates: /etc/ssl/cert.pem and /etc/ssl/certs

# Nearly half of the time of compiling OpenSSL goes into its headers: most of them are compiled
# first, once. Left out are those without a guard, such as prov/providercommon.h.
_HEADERS = [
    *("<stdio.h>", "<stdlib.h>", "<string.h>", "<openssl/asn1t.h>", "<openssl/core_dispatch.h>"),
    *("<openssl/core_names.h>", "<openssl/err.h>", "<openssl/evp.h>", "<openssl/params.h>"),
    *("<openssl/pem.h>", "<openssl/proverr.h>", "<openssl/rand.h>", "<openssl/ssl.h>"),
    *("<openssl/x509v3.h>", '"crypto/evp.h"', '"crypto/x509.h"', '"internal/cryptlib.h"'),
    *('"internal/provider.h"', '"prov/implementations.h"'),
]
_INCLUDE = "-I. -Iinclude -Iproviders/common/include -Iproviders/implementations/include"
_RULE = f"""headers.pch: headers.h
\t$(CC) {_INCLUDE} $(LIB_CPPFLAGS) $(LIB_CFLAGS) -x c-header -c headers.h -o headers.pch
"""


def build(workshop: Workshop, toolchain: Toolchain, zlib: Path, openssl: Path) -> Path:
    """Return a directory with include/ and lib/ of both libraries for the toolchain's CPU."""
    cpu = toolchain.cpu
    left_out = TRIM["libraries"]

    def work(bench: Bench) -> None:
        env = toolchain.environment() | {"CC": f"cc-{cpu}"}
        # Both are built inside a copy of their tree, where __FILE__ is a relative path.
        tree = bench.scratch / "zlib"
        bench.run("cp", "-a", zlib, tree)
        own = {"CFLAGS": "-O2", "CHOST": f"{cpu}-linux"}
        bench.run("./configure", "--static", "--prefix=", cwd=tree, env=env | own)
        bench.run("make", f"-j{bench.jobs}", "libz.a", cwd=tree, env=env)
        bench.run("make", "install", f"DESTDIR={bench.out}", cwd=tree, env=env)

        tree = bench.scratch / "openssl"
        bench.run("cp", "-a", openssl, tree)
        options = [
            *(option for group in left_out.values() for option in group),
            "--prefix=/",
            "--libdir=lib",
            f"--openssldir={CA_FOLDER}",
            "-Os",  # what takes time in TLS is assembly
        ]
        bench.run("./Configure", f"linux-{cpu}", *options, cwd=tree, env=env)
        bench.run("make", "build_generated", cwd=tree, env=env)
        env = _precompile_headers(bench, tree, env, cpu)
        bench.run("make", f"-j{bench.jobs}", "build_libs", cwd=tree, env=env)
        bench.run("make", "install_dev", f"DESTDIR={bench.out}", cwd=tree, env=env)

    made_of = [toolchain.id, zlib.name, openssl.name, cpu, repr(left_out)]
    return workshop.make(f"libraries-{cpu}", [*made_of, Path(__file__)], work)


def _precompile_headers(bench: Bench, tree: Path, env: dict[str, str], cpu: str) -> dict[str, str]:
    """Return the environment whose compiler begins with the headers.

    With the flags of the library's own files, so that these compile to the same bytes.
    """
    (tree / "headers.h").write_text("".join(f"#include {name}\n" for name in _HEADERS))
    bench.run("make", f"--eval={_RULE}", "headers.pch", cwd=tree, env=env)
    plain = f'{shutil.which(f"cc-{cpu}", path=env["PATH"])} "$@"'
    fast = bench.scratch / "fast"
    fast.mkdir()
    # Some files must come before certain headers, and fail.
    script(fast / f"cc-{cpu}", f"{plain} -include-pch {tree}/headers.pch 2>/dev/null || {plain}")
    return env | {"PATH": f"{fast}:{env['PATH']}"}
