"""MPIJobs: mpirun, its slots, who gets the accelerators and what is tried again."""

import os
import subprocess
from pathlib import Path

import pytest
from frameworks.cases import RENDERINGS, pod_templates, rendering_id
from frameworks.pods import manifest

from dlf.frameworks import load_framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mpijob import MPIJOB, MPIJOB_V2BETA1
from dlf.task.load import load, split

MPI = [(name, kind) for name, kind in RENDERINGS if kind.name == "MPIJob"]


@pytest.mark.parametrize(("name", "kind"), MPI, ids=rendering_id)
def test_mpi_launcher_runs_a_rank_on_each_slot(name: str, kind: JobKind) -> None:
    """np is workers times slots; the command is one word of bash on every rank."""
    argv = ["--num_worker", "4", "--slots_per_worker", "8", "--command", "python3 'a b.py' $X"]
    rendered = manifest(name, kind, [*argv, "--env", "A=1"])
    templates = {role: template for role, _, template in pod_templates(rendered)}
    launcher = templates["Launcher"]["spec"]["containers"][0]["command"]
    launcher = launcher[3:] if kind == MPIJOB_V2BETA1 else launcher
    flags = "--allow-run-as-root -bind-to none -map-by slot -x PATH -x A"
    start = 'exec "$0" ${LD_LIBRARY_PATH+-x LD_LIBRARY_PATH} "$@"'
    assert [
        *(
            "bash",
            "-c",
            start,
            "mpirun",
            "-np",
            "32",
            *flags.split(),
            "-mca",
            "pml",
            "ob1",
            "-mca",
            "btl",
            "^openib",
        ),
        *("bash", "-c", "python3 'a b.py' $X"),
    ] == launcher
    worker = templates["Worker"]["spec"]["containers"][0]["command"]
    assert (["/usr/sbin/sshd", "-De"] if kind == MPIJOB_V2BETA1 else ["sleep", "365d"]) == worker
    assert 8 == rendered["spec"]["slotsPerWorker"]


@pytest.mark.parametrize("missing", [0, 2], ids=["there", "late"])
@pytest.mark.parametrize("command", ["echo 'a  b' $0", "mpirun 'a  b' $0"])
def test_mpi_launcher_waits_until_the_workers_names_resolve(
    tmp_path: Path, command: str, missing: int
) -> None:
    """mpi-operator starts it when workers may still wait for their GPUs; mpirun would fail."""
    rendered = manifest("mpi", MPIJOB_V2BETA1, ["--command", command])
    launcher = next(t for role, _, t in pod_templates(rendered) if role == "Launcher")
    argv = launcher["spec"]["containers"][0]["command"]
    (tmp_path / "hostfile").write_text("job-worker-0.job slots=1\njob-worker-1.job slots=1\n")
    calls = tmp_path / "calls"
    for name, script in (
        ("getent", f'echo "$@" >>{calls}; [ $(wc -l <{calls}) -gt {missing} ]'),
        ("mpirun", 'printf "%s\\n" "${@: -1}"'),
        ("sleep", ":"),
    ):
        (tmp_path / name).write_text(f"#!/bin/bash\n{script}\n")
        (tmp_path / name).chmod(0o755)
    argv[2] = argv[2].replace("/etc/mpi", str(tmp_path))
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(argv, env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == ("bash\n" if command.startswith("mpirun") else f"{command}\n")
    hosts = ["hosts job-worker-0.job"] * (missing + 1) + ["hosts job-worker-1.job"]
    assert hosts == calls.read_text().splitlines()


def warnings_of(command: str) -> list[str]:
    settings = load_framework("mpi").settings
    arguments = split(["--command", command], settings)
    load(settings, arguments, {})
    return arguments.warnings


@pytest.mark.parametrize(
    "command",
    [
        "mpirun -np 2 a",
        " mpiexec a",
        "horovodrun -np 2 a",
        "/usr/bin/mpirun a",
        "mpirun\na",
        "cd /a && mpirun -np 4 x",
        "source e; horovodrun a",
        "VAR=x W=$(hostname) mpirun a",
        "time -p mpirun a",
        "exec mpirun a",
        "env -i A=1 mpirun a",
        "set -e\nexport A=1\nmpirun \\\n  -np 2 a",
        "pip install x && mpirun a",
        "mpirun a 2>&1 | tee log",
        "a > log; mpirun a",
    ],
)
def test_mpi_command_that_starts_ranks_itself_is_left_alone(command: str) -> None:
    """It would start mpirun inside of mpirun."""
    rendered = manifest("mpi", MPIJOB, ["--command", command])
    launcher = next(t for role, _, t in pod_templates(rendered) if role == "Launcher")
    assert ["bash", "-c", command] == launcher["spec"]["containers"][0]["command"]
    assert [] == warnings_of(command)


@pytest.mark.parametrize(
    ("command", "starter"),
    [
        ("echo mpirun", "mpirun"),
        ("for i in 1 2; do mpirun a; done", "mpirun"),
        ("bash -c 'cd a && horovodrun b'", "horovodrun"),
        ("(cd a; mpiexec b)", "mpiexec"),
        ("a || mpirun b", "mpirun"),
        ("a & mpirun b", "mpirun"),
        ("cat <<E\nmpirun b\nE", "mpirun"),
        ("mpirunner a", ""),
        ("python3 mpirun.py", ""),
        ("python3 train.py --log my-mpirun", ""),
    ],
)
def test_mpi_command_that_only_looks_like_it_is_run_by_mpirun(command: str, starter: str) -> None:
    """The first word of a simple command decides; another mention of mpirun is warned of."""
    rendered = manifest("mpi", MPIJOB, ["--command", command])
    launcher = next(t for role, _, t in pod_templates(rendered) if role == "Launcher")
    assert "mpirun" == launcher["spec"]["containers"][0]["command"][3]
    warnings = warnings_of(command)
    assert [True] * bool(starter) == [f" contains `{starter}` where" in each for each in warnings]


@pytest.mark.parametrize(
    ("given", "expected"), [({}, "-np"), ({"LD_LIBRARY_PATH": "/lib"}, "-x LD_LIBRARY_PATH -np")]
)
def test_mpi_passes_the_library_path_on_where_it_is_set(
    tmp_path: Path, given: dict[str, str], expected: str
) -> None:
    """mpirun warns of a variable that is not there, on every run."""
    rendered = manifest("mpi", MPIJOB, ["--command", "a"])
    launcher = next(t for role, _, t in pod_templates(rendered) if role == "Launcher")
    (tmp_path / "mpirun").write_text('#!/bin/bash\necho "$@"\n')
    (tmp_path / "mpirun").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **given}
    argv = launcher["spec"]["containers"][0]["command"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(expected)


@pytest.mark.parametrize(("name", "kind"), MPI, ids=rendering_id)
def test_mpi_accelerators_are_the_workers_alone(name: str, kind: JobKind) -> None:
    """The launcher trains nothing."""
    env = {
        "KFJ_TASK_RESOURCE_GPU": "2(V100)",
        "KFJ_TASK_RESOURCE_RDMA": "1",
        "RDMA_RESOURCE_NAME": "rdma/hca",
    }
    specs = {role: t["spec"] for role, _, t in pod_templates(manifest(name, kind, env=env))}
    launcher, worker = (specs[role]["containers"][0] for role in ("Launcher", "Worker"))
    assert {"resources", "securityContext"}.isdisjoint(launcher)
    assert "gpu-type" not in specs["Launcher"]["nodeSelector"]
    assert {"nvidia.com/gpu": "2", "rdma/hca": "1"} == worker["resources"]["limits"]
    assert "V100" == specs["Worker"]["nodeSelector"]["gpu-type"]


@pytest.mark.parametrize(
    ("kind", "retries", "expected"),
    [
        (MPIJOB, "0", (3, "Never")),
        (MPIJOB, "2", (3, "OnFailure")),
        (MPIJOB_V2BETA1, "0", (0, "Never")),
        (MPIJOB_V2BETA1, "2", (2, "Never")),
    ],
    ids=rendering_id,
)
def test_mpi_retries_the_launcher(kind: JobKind, retries: str, expected: tuple[int, str]) -> None:
    """In place in v1; in v2beta1 by the batch Job, which counts retries and not restarts."""
    spec = manifest("mpi", kind, ["--max_retry", retries])["spec"]
    roles = spec["mpiReplicaSpecs"]
    assert expected == (spec["runPolicy"]["backoffLimit"], roles["Launcher"]["restartPolicy"])
    assert "Never" == roles["Worker"]["restartPolicy"]
