"""Run a rendered job on this machine, from its first process to its outcome."""

import asyncio
import re
import secrets
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from dlf.errors import UsageError
from dlf.footer import Footer
from dlf.frameworks import kind_of
from dlf.local import accelerators, remote_shell
from dlf.local.addresses import LocalAddresses, is_offline
from dlf.local.attempt import Attempt
from dlf.local.console import Console
from dlf.local.job import TOKEN, TOKEN_VARIABLE, LocalJob, local_job
from dlf.local.process import PodProcess
from dlf.local.reaper import MARK_VARIABLE, Reaper
from dlf.local.recording import header_of, recording
from dlf.local.result import conclude, end_of
from dlf.logs.log_options import LogOptions
from dlf.manifest.jobs.mpijob import REMOTE_SHELL
from dlf.manifest.manifest import Manifest
from dlf.outcome.outcome import Outcome
from dlf.outcome.status_line import INTERVAL_SECONDS, status_line

_TMP = "/tmp"  # noqa: S108 - the directory in it has an unguessable name, and must be new

_MSRUN = re.compile(r"(?:^|[\s;&|(/])msrun(?=\s|$)")
_INSTALL = {
    "bash": "every command is run by `bash -c`: install bash",
    "mpirun": "install Open MPI; on Debian: apt-get install openmpi-bin",
}


async def run(
    manifest: Manifest,
    *,
    env: Mapping[str, str],
    working_dir: str,
    log_options: LogOptions,
    check_ranks: Callable[[int], None],
    timeout: float,
    leader: str,
    strict: bool,
    notify: Callable[[str], None],
    stdout: int = 1,
    footer: Footer | None = None,
    show_status: Callable[[str], None] | None = None,
) -> Outcome:
    """Run the job that would be submitted, a process for each pod, until its operator would end it.

    Call it before the program has threads: it forks. However it ends, also by SIGKILL of this
    process, no process of the job is left. To stop a job, cancel the task: SIGTERM goes to all
    processes, SIGKILL seconds later (`attempt.KILL_GRACE_SECONDS`), then CancelledError comes out.
    A second cancel kills at once; so does leaving this process in whatever way.

    Args:
        manifest: the rendered resource.
        env: the environment that the processes inherit.
        working_dir: where they run; "" for the current directory.
        log_options: how to print lines.
        check_ranks: called with the number of ranks.
        timeout: seconds for the whole job; 0 for no limit.
        leader: the role whose pod 0 completes the job, or "" for the operator's own rule.
        strict: a pod that failed in a job that succeeded makes the exit code 1.
        notify: prints a line of dlf's own.
        stdout: descriptor that the pods' lines go to.
        footer: what stands below these lines, if that is a terminal.
        show_status: shows a line at the bottom of the terminal; None where there is none.

    Raises:
        UsageError: bash, mpirun or a directory is not there, or cannot be written.
    """
    mark = secrets.token_hex(16)
    scratch = f"{env.get('TMPDIR') or _TMP}/dlf-{mark}"
    with LocalAddresses(secrets.randbits(32)) as addresses:
        job = local_job(
            manifest,
            leader=leader,
            new_host=addresses.host,
            new_port=addresses.port,
            scratch=scratch,
            is_offline=is_offline(),
        )
        environments = _environments(job, env, mark, notify)
        _check_machine(job, environments, working_dir, scratch)
        # A parent may leave it ignored, and then the kernel keeps no exit codes.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        reaper = Reaper(mark, scratch)
        try:
            _write(_files(job, env), scratch)
            check_ranks(sum(process.rank is not None for process in job.processes))
            with recording(env, header_of(manifest, job, mark, scratch), notify) as recorder:
                console = Console(stdout, log_options, notify, footer, recorder.write_log)
                try:
                    start = partial(
                        Attempt, job, environments, working_dir, reaper, console, recorder, notify
                    )
                    outcome = await _follow(
                        manifest, job, start, console, timeout, notify, show_status, strict=strict
                    )
                finally:
                    console.close()
                recorder.add(end_of(outcome))
                return outcome
        finally:
            reaper.close()


async def _follow(
    manifest: Manifest,
    job: LocalJob,
    start: Callable[[int], Attempt],
    console: Console,
    timeout: float,
    notify: Callable[[str], None],
    show_status: Callable[[str], None] | None,
    *,
    strict: bool,
) -> Outcome:
    name = f"{kind_of(manifest).title} {manifest.metadata.name}"
    number = len(job.processes)
    notify(f"{name}: {number} {'process' if number == 1 else 'processes'} on this machine")
    if job.note:
        notify(job.note)
    attempt = start(0)
    started_at = asyncio.get_running_loop().time()

    async def keep_status() -> None:
        while show_status:
            await asyncio.sleep(INTERVAL_SECONDS)
            seconds = asyncio.get_running_loop().time() - started_at
            show_status(status_line(seconds, attempt.count_states(), ""))

    ticking = [asyncio.create_task(each) for each in (console.tick(), keep_status())]
    try:
        async with asyncio.timeout(timeout or None):
            await attempt.run()
            for number in range(1, job.rules.attempts):
                if attempt.succeeded:
                    break
                notify(f"{name} starts anew: attempt {number + 1} of {job.rules.attempts}")
                attempt = start(number)
                await attempt.run()
            await console.finish()
    except TimeoutError:
        pass  # the outcome says it, unless it was known before
    finally:
        for task in ticking:
            task.cancel()
    return conclude(name, attempt, timeout=timeout, strict=strict)


def _files(job: LocalJob, env: Mapping[str, str]) -> dict[str, str]:
    """The job's files: with its secret when any process reads one, and mpirun's remote shell."""
    files = dict(job.files)
    if any(TOKEN_VARIABLE in process.env for process in job.processes):
        files[TOKEN] = secrets.token_hex(32)
    if job.workers:
        visible = _accelerators([worker for _, worker in job.workers], env)
        files[REMOTE_SHELL] = remote_shell.script(
            (address, worker.pod, worker.env | own)
            for (address, worker), own in zip(job.workers, visible, strict=True)
        )
    return files


def _write(files: Mapping[str, str], directory: str) -> None:
    if not files:
        return
    try:
        Path(directory).mkdir(mode=0o700)
        for name, content in files.items():
            Path(directory, name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write to {directory}: {error.strerror}", "set TMPDIR") from error


def _environments(
    job: LocalJob, env: Mapping[str, str], mark: str, notify: Callable[[str], None]
) -> dict[str, dict[str, str]]:
    """The whole environment of each pod's process."""
    own = _accelerators(job.processes, env, notify)
    return {
        process.pod: {
            **env,
            **process.env,
            **visible,
            # A job inside a job's pod belongs to both.
            MARK_VARIABLE: f"{env.get(MARK_VARIABLE, '')} {mark}/{process.pod}/".strip(),
        }
        for process, visible in zip(job.processes, own, strict=True)
    }


def _accelerators(
    pods: Sequence[PodProcess],
    env: Mapping[str, str],
    notify: Callable[[str], None] = lambda _: None,
) -> list[dict[str, str]]:
    """The variables that select each pod's accelerators; says so when there are too few."""
    wanted = [pod.accelerators for pod in pods]
    devices = (path.name for path in Path("/dev").iterdir())
    machine = accelerators.present(devices, env) if any(wanted) else None
    total = sum(count for count in wanted if count > 0)
    if not machine:
        if any(wanted):
            notify("the job asks for accelerators, and this machine has none: it runs without")
        return [{} for _ in wanted]
    if total > len(machine.names):
        here = len(machine.names)
        notify(f"the job asks for {total} accelerators, and {here} are here: pods share them")
    return accelerators.assign(machine, wanted)


def _check_machine(
    job: LocalJob,
    environments: Mapping[str, Mapping[str, str]],
    working_dir: str,
    scratch: str,
) -> None:
    """What the processes need is better known before the first of them runs."""
    pods = len(job.processes)
    if pods > 1 and any(_MSRUN.search(process.argv[-1]) for process in job.processes):
        raise UsageError(
            f"msrun cannot run in {pods} pods on one machine: it takes the master's address for its"
            " own in each of them",
            "give --num_worker 1 and start all processes by one msrun, or start python3 without it",
        )
    if job.workers and re.search(r"[\s:]", scratch):
        raise UsageError(
            f"TMPDIR={str(Path(scratch).parent)!r} contains a blank or a colon, at which mpirun"
            " splits the command of its remote shell",
            "set TMPDIR to another directory",
        )
    if working_dir and not Path(working_dir).is_dir():
        raise UsageError(f"--working_dir={working_dir!r} does not exist on this machine")
    for process in job.processes:
        for program in process.programs:
            if not shutil.which(program, path=environments[process.pod].get("PATH")):
                hint = _INSTALL.get(program, "")
                raise UsageError(f"{program!r} is not installed here (it is not in PATH)", hint)
