"""The executable alone: in an empty root, in old and foreign ones, without anything to write to.

`--binary` names it. One for another CPU runs under qemu's user mode emulation. The tests change
root, so they run as root.
"""

import asyncio
import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from debian import unpack
from executable import CHROOT, NOBODY, Executable
from fake_api import FakeApi
from fake_api.thread import ApiThread
from job.scenario import ENV
from job.simulated_cluster import NAMESPACE, SimulatedCluster
from name_server import NameServer

from dlf import __version__
from dlf.frameworks import load_framework
from dlf.task.worker_flags import TOKEN_FILE

pytestmark = pytest.mark.binary

LARGEST = {"x86_64": 17_000_000, "aarch64": 16_000_000}
RENDER = ["pytorch", "--image=python:3", "--command=python train.py", "--num_worker=2"]


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> Executable:
    path = request.config.getoption("--binary")
    assert path, "build/binary.py makes the executable; name it with --binary"
    return Executable(path)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


def readelf(what: str, path: Path) -> dict[str, str]:
    """The `Name: value` lines of readelf."""
    text = subprocess.run(
        ["readelf", "--wide", what, path], capture_output=True, text=True, check=True
    ).stdout
    return dict(re.findall(r"^ *([^:\n]+): +(.*)$", text, re.MULTILINE))


def test_executable_is_static(program: Executable) -> None:
    """No interpreter, no dynamic section: no other file takes part in running it."""
    headers = subprocess.run(
        ["readelf", "--wide", "--program-headers", "--dynamic", program.path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "INTERP" not in headers
    assert "DYNAMIC" not in headers
    assert "There is no dynamic section in this file." in headers
    assert readelf("--file-header", program.path)["Type"] == "EXEC (Executable file)"


def test_executable_is_small(program: Executable) -> None:
    """It stays within the size that the design allows."""
    assert program.path.stat().st_size <= LARGEST[program.machine]


def test_executable_names_no_path_of_the_build(program: Executable) -> None:
    """Neither the checkout, nor the cache, nor a home directory is written in it.

    The one path of root's home that it names is where Volcano's ssh plugin mounts a job's key.
    """
    content = program.path.read_bytes().replace(TOKEN_FILE.encode(), b"")
    found = [
        word for word in (b"/.cache/dlf", b"/root/", b"/home/", b"/tmp/dlf") if word in content
    ]
    assert found == []


def test_version_runs_in_an_empty_root(program: Executable, empty: Path) -> None:
    """There is no /proc, /etc, /dev or /tmp, and no right to make one."""
    code, out, err = program.run(empty, "version")
    assert (code, err) == (0, "")
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[program.machine]
    assert out.startswith(f"dlf {__version__} (linux-{architecture}")


def test_version_names_the_parts(program: Executable, empty: Path) -> None:
    """`version --output json` tells what is inside, TLS and all."""
    code, out, _ = program.run(empty, "version", "--output=json")
    parts = json.loads(out)
    assert code == 0
    assert parts["python"].startswith("3.13.")
    assert parts["openssl"].startswith("OpenSSL 3.5.")
    assert parts.keys() >= {"dlf", "revision", "target", "msgspec", "httpx"}


def test_help_runs_in_an_empty_root(program: Executable, empty: Path) -> None:
    """Help of the whole and of a framework need nothing but the executable."""
    for arguments in (["--help"], ["pytorch", "--help"]):
        code, out, err = program.run(empty, *arguments)
        assert (code, err) == (0, "")
        assert "pytorch" in out


def test_usage_error_exits_2(program: Executable, empty: Path) -> None:
    """A wrong flag is told in a line, without a traceback."""
    code, out, err = program.run(empty, "pytorch", "--no-such-flag")
    assert (code, out) == (2, "")
    assert err.startswith("dlf: ")
    assert "Traceback" not in err


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_dry_run_prints_the_resource_in_an_empty_root(
    program: Executable, empty: Path, output: str
) -> None:
    """A resource is rendered without any file of an image, whatever its format."""
    code, out, err = program.run(empty, *RENDER, "--dry-run", f"--output={output}", **ENV)
    assert code == 0, err
    assert "PyTorchJob" in out


@pytest.mark.parametrize("name", ["python3", "python"])
def test_old_command_lines_work_under_the_name_python(
    program: Executable, empty: Path, name: str
) -> None:
    """`python3 launcher-pytorch.py ...` is `dlf pytorch ...` through the image's links."""
    *emulator, _ = program.install(empty)
    (empty / "usr/bin" / name).symlink_to("dlf")
    # An emulator passes its own argument as the program's name, as the kernel does.
    words = [*emulator, f"/usr/bin/{name}", "launcher-pytorch.py", *RENDER[1:], "--dry-run"]
    done = subprocess.run(
        [CHROOT, f"--userspec={NOBODY}", empty, *words],
        env=ENV,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "PyTorchJob" in done.stdout


WRITES = re.compile(
    r"\b(?:(?:open|openat|creat)\(.*O_(?:CREAT|WRONLY|RDWR|TMPFILE)"
    r"|(?:mkdir|mkdirat|rename|renameat2?|link|linkat|symlink|symlinkat|mknod|mknodat|memfd_create)\()"
)


@pytest.mark.parametrize(
    "arguments",
    [["version"], ["--help"], [*RENDER, "--dry-run"]],
    ids=["version", "help", "dry-run"],
)
def test_no_file_is_written(program: Executable, tmp_path: Path, arguments: list[str]) -> None:
    """No run unpacks, caches or leaves anything: no system call that makes a file succeeds."""
    calls = tmp_path / "calls"
    if program.emulator:
        words = [str(program.emulator), "-strace", "-D", str(calls), str(program.path)]
    else:
        words = ["strace", "-f", "-s", "200", "-o", str(calls), str(program.path)]
    done = subprocess.run([*words, *arguments], env=ENV, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = calls.read_text(errors="replace").splitlines()
    assert any("execve" in line or "brk" in line for line in lines)
    written = [line for line in lines if WRITES.search(line) and "= -1" not in line]
    assert written == []


ROOTS = {
    "old-glibc": ("bullseye", ["libc6", "dash", "coreutils", "base-files"]),
    "musl-busybox": ("bookworm", ["musl", "busybox-static"]),
    "no-shell": ("bookworm", ["libc6", "base-files", "ca-certificates", "tzdata", "netbase"]),
}


@pytest.fixture(scope="module", params=ROOTS)
def foreign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root like those of worker images."""
    suite, packages = ROOTS[request.param]
    root = tmp_path_factory.mktemp(request.param)
    unpack(root, suite, packages)
    return root


def test_dry_run_is_the_same_in_every_image(
    program: Executable, foreign: Path, empty: Path
) -> None:
    """What an image holds, and how old it is, changes nothing."""
    arguments = [*RENDER, "--dry-run", "--output=json"]
    code, expected, err = program.run(empty, *arguments, **ENV)
    assert (code, err) == (0, "")
    code, rendered, err = program.run(foreign, *arguments, **ENV)
    assert (code, err) == (0, "")
    assert without_token(expected) == without_token(rendered)


def without_token(resource: str) -> str:
    """A resource without the four random digits of its name."""
    name: str = json.loads(resource)["metadata"]["name"]
    return resource.replace(name, name[:-4])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiThread]:
    with ApiThread(tmp_path, namespace=NAMESPACE) as server:
        yield server


def pytorch(api: FakeApi) -> SimulatedCluster:
    """Where a PyTorchJob is result; what the executable says and prints is not known to it."""
    return SimulatedCluster(
        api, load_framework("pytorch").kinds[0], digest="", printed=Path(os.devnull)
    )


async def succeed(cluster: SimulatedCluster) -> None:
    """The operator's and the kubelet's part of a job of one pod that succeeds."""
    job = await cluster.job()
    cluster.condition(job, "Created", "Running")
    pod = cluster.pod(job, "master", 0)
    cluster.runs(pod, "step 1", "step 2")
    cluster.ends(pod, 0, "done")
    cluster.condition(job, "Created", "Succeeded", completionTime="2026-01-01T00:00:00Z")


def follow(
    program: Executable, root: Path, server: ApiThread, kubeconfig: str
) -> tuple[int, list[str], str]:
    """Run a whole job from a root; exit code, lines of standard output, standard error."""
    (root / "kubeconfig").write_text(kubeconfig)
    history = server.call(lambda api: asyncio.ensure_future(succeed(pytorch(api))))
    arguments = ["pytorch", "--image=python:3", "--command=python train.py", "--num_worker=1"]
    code, out, err = program.run(root, *arguments, "--kubeconfig=/kubeconfig", **ENV)
    server.call(lambda _: history.cancel())
    return code, out.splitlines(), err


def test_whole_job_over_tls_in_every_image(
    program: Executable, foreign: Path, server: ApiThread
) -> None:
    """Submit, follow and decide: every line once, over TLS with a private authority."""
    code, lines, err = follow(program, foreign, server, server.kubeconfig.read_text())
    assert code == 0, err
    assert [line.partition(" ")[2] for line in lines] == ["step 1", "step 2", "done"]


async def write_much(cluster: SimulatedCluster, lines: list[str]) -> None:
    """Ten pods print half of the lines before anybody listens, and half while they are followed."""
    job = await cluster.job()
    cluster.condition(job, "Created", "Running")
    pods = [cluster.pod(job, "master", 0), *(cluster.pod(job, "worker", i) for i in range(9))]
    for pod in pods:
        cluster.runs(pod, *lines[: len(lines) // 2])
    logs = [cluster.api.logs.of(NAMESPACE, pod, "pytorch") for pod in pods]
    await cluster.until(lambda: all(log.followers for log in logs))
    for log in logs:
        log.write(*lines[len(lines) // 2 :])


def end_all(cluster: SimulatedCluster) -> None:
    """All pods end well, and the job with them."""
    for pod in cluster.api.store.list(cluster.pods):
        cluster.ends(pod["metadata"]["name"])
    (job,) = cluster.api.store.list(cluster.jobs)
    now = cluster.api.store.stamp()
    cluster.condition(job["metadata"]["name"], "Created", "Succeeded", completionTime=now)


def test_ten_pods_are_followed_in_little_memory(
    program: Executable, empty: Path, server: ApiThread
) -> None:
    """40 MB hold a job of ten pods that print 60 000 lines, and none of them is lost."""
    (empty / "kubeconfig").write_text(server.kubeconfig.read_text())
    lines = [f"{number} {'x' * 100}" for number in range(6000)]
    cluster = server.call(pytorch)
    history = server.call(lambda _: asyncio.ensure_future(write_much(cluster, lines)))
    arguments = ["--num_worker=10", "--kubeconfig=/kubeconfig", "--image=python:3"]
    printed: dict[str, list[str]] = defaultdict(list)
    with program.start(empty, "pytorch", *arguments, **ENV) as process:
        assert process.stdout
        assert process.stderr
        for line in islice(process.stdout, 10 * len(lines)):
            pod, _, text = line.rstrip("\n").partition(" ")
            printed[pod].append(text)
        status = Path(f"/proc/{process.pid}/status").read_text()
        server.call(lambda _: end_all(cluster))
        rest, err = process.stdout.read(), process.stderr.read()
    server.call(lambda _: history.result())
    assert (process.returncode, rest) == (0, ""), err
    assert [lines] * 10 == list(printed.values())
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    assert peak
    if not program.emulator:  # whose own memory would count
        assert int(peak[1]) <= 40_000


def test_server_name_is_found_as_kubernetes_writes_it(
    program: Executable, empty: Path, server: ApiThread
) -> None:
    """A short name is completed by the search list of the resolv.conf of a pod."""
    with NameServer("127.0.0.53", {"kubernetes.default.svc.cluster.local": "127.0.0.1"}):
        (empty / "etc").mkdir()
        (empty / "etc/resolv.conf").write_text(
            "search pipeline.svc.cluster.local svc.cluster.local cluster.local\n"
            "nameserver 127.0.0.53\noptions ndots:5\n"
        )
        config = json.loads(server.kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        cluster["server"] = cluster["server"].replace("127.0.0.1", "kubernetes.default")
        cluster["tls-server-name"] = "127.0.0.1"
        code, lines, err = follow(program, empty, server, json.dumps(config))
    assert code == 0, err
    assert len(lines) == 3


def test_unknown_authority_is_told_in_words(
    program: Executable, empty: Path, server: ApiThread
) -> None:
    """A certificate that nobody vouches for is refused, and the reason can be read."""
    config = json.loads(server.kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    (empty / "kubeconfig").write_text(json.dumps(config))
    arguments = [*RENDER, "--kubeconfig=/kubeconfig", "--api_outage=1s"]
    code, out, err = program.run(empty, *arguments, **ENV)
    assert (code, out) != (0, "")
    assert "certificate" in err
    assert "Traceback" not in err


def test_install_copies_the_executable(program: Executable, empty: Path) -> None:
    """An init container installs it into a shared volume, ready to run and whole."""
    volume = empty / "volume"
    volume.mkdir()
    os.chown(volume, 65532, 65532)
    code, _, err = program.run(empty, "install", "/volume")
    assert code == 0, err
    copy = volume / "dlf"
    assert copy.read_bytes() == program.path.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o555
    assert [file.name for file in volume.iterdir()] == ["dlf"]
