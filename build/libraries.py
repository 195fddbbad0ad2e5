"""zlib and OpenSSL as static libraries."""

from pathlib import Path

from sources import TRIM
from stage import Bench, Workshop
from toolchain import Toolchain

CA_FOLDER = "/etc/ssl"  # system certificates: /etc/ssl/cert.pem and /etc/ssl/certs


def build(workshop: Workshop, toolchain: Toolchain, sources: dict[str, Path]) -> Path:
    """Return a directory with include/ and lib/ of both libraries for the toolchain's CPU."""
    cpu = toolchain.cpu
    left_out = TRIM["libraries"]

    def work(bench: Bench) -> None:
        env = toolchain.environment() | {"CC": f"cc-{cpu}"}
        # Both are built inside a copy of their tree, where __FILE__ is a relative path.
        zlib = bench.scratch / "zlib"
        bench.run("cp", "-a", sources["zlib"], zlib)
        own = {"CFLAGS": "-O2", "CHOST": f"{cpu}-linux"}
        bench.run("./configure", "--static", "--prefix=", cwd=zlib, env=env | own)
        bench.run("make", f"-j{bench.jobs}", "libz.a", cwd=zlib, env=env)
        bench.run("make", "install", f"DESTDIR={bench.out}", cwd=zlib, env=env)

        openssl = bench.scratch / "openssl"
        bench.run("cp", "-a", sources["openssl"], openssl)
        options = [
            *(option for group in left_out.values() for option in group),
            "--prefix=/",
            "--libdir=lib",
            f"--openssldir={CA_FOLDER}",
            "-Os",  # what takes time in TLS is assembly
        ]
        bench.run("./Configure", f"linux-{cpu}", *options, cwd=openssl, env=env)
        bench.run("make", f"-j{bench.jobs}", "build_libs", cwd=openssl, env=env)
        bench.run("make", "install_dev", f"DESTDIR={bench.out}", cwd=openssl, env=env)

    made_of = [toolchain.id, sources["zlib"].name, sources["openssl"].name, cpu, repr(left_out)]
    return workshop.make(f"libraries-{cpu}", [*made_of, Path(__file__)], work)
