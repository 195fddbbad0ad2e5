"""The executable that `--binary` names, and how it is run: here, or in a root of its own."""

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

from owned_process import OwnedProcess

NOBODY = "65532:65532"
CHROOT = "/usr/sbin/chroot"  # in full: the program's environment has no PATH
_MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine in an ELF header: the name that uname has


@dataclass(frozen=True)
class Executable:
    """The built file, and what runs it when it is for another CPU."""

    path: Path

    @property
    def machine(self) -> str:
        with self.path.open("rb") as file:
            return _MACHINES[int.from_bytes(file.read(20)[18:], "little")]

    @property
    def emulator(self) -> Path | None:
        """qemu's user mode emulation (Debian's qemu-user-static), where the CPU needs it."""
        if self.machine == platform.machine():
            return None
        found = shutil.which(f"qemu-{self.machine}-static")
        assert found, "to test this executable here, install qemu-user-static"
        return Path(found)

    @property
    def command(self) -> list[str]:
        """The words that run it here, from any directory, before its arguments."""
        return [*([str(self.emulator)] if self.emulator else []), str(self.path.resolve())]

    def install(self, root: Path) -> list[str]:
        """Copy it into a root; the words that run it there, before its arguments."""
        (root / "usr/bin").mkdir(parents=True, exist_ok=True)
        shutil.copy(self.path, root / "usr/bin/dlf")
        if self.emulator is None:
            return ["/usr/bin/dlf"]
        shutil.copy(self.emulator, root / "usr/bin/qemu")
        return ["/usr/bin/qemu", "/usr/bin/dlf"]

    def start(self, root: Path, *arguments: str, **env: str) -> OwnedProcess[str]:
        """Start it in a root that it cannot write to."""
        return OwnedProcess(
            [CHROOT, f"--userspec={NOBODY}", root, *self.install(root), *arguments],
            env=env,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            text=True,
        )

    def run(self, root: Path, *arguments: str, **env: str) -> tuple[int, str, str]:
        """Run it in a root; exit code, standard output, standard error."""
        with self.start(root, *arguments, **env) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err
