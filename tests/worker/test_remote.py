"""`dlf worker --remote` on three loopback addresses: what launchers do over it, and who may not."""

import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest
from owned_process import OwnedProcess
from waiting import PATIENCE
from worker.test_worker import PROJECT

from dlf.worker import remote_protocol as protocol

_HANG_UP = b""


class Job:
    """Three pods of a Volcano Job, as processes with an address each."""

    def __init__(self, dlf_command: list[str], directory: Path) -> None:
        self.command = dlf_command
        self.secret = secrets.token_hex(32).encode()
        token = directory / "token"
        token.write_bytes(self.secret)
        net = f"127.{secrets.randbelow(200) + 20}.{secrets.randbelow(250)}"
        self.hosts = [f"{net}.{number}" for number in (11, 12, 13)]
        self.port = 20022
        self.env = {
            **os.environ,
            "VC_WORKER_HOSTS": ",".join(self.hosts),
            "DLF_TOKEN_FILE": str(token),
            "TMPDIR": str(directory),
        }
        self.pods: list[OwnedProcess[str]] = []

    def pod(self, index: int, *words: str) -> OwnedProcess[str]:
        pod = OwnedProcess(
            [*self.command, "worker", "--remote", *words],
            env={**self.env, "VC_TASK_INDEX": str(index)},
            cwd=PROJECT,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            text=True,
        )
        self.pods.append(pod)
        return pod

    def run(self, script: str, *flags: str) -> tuple[int, list[str], list[str]]:
        """Run a script in the first pod; its code and lines, when all pods have ended."""
        others = [self.pod(1), self.pod(2)]
        first = self.pod(0, *flags, "--", "bash", "-c", script)
        out, err = first.communicate(timeout=60)
        for other in others:
            other.wait(timeout=60)
        self.codes = [other.returncode for other in others]
        return first.returncode, out.splitlines(), err.splitlines()

    def connect(self, index: int) -> socket.socket:
        """A connection to a pod that listens, however long it takes to start."""
        while True:
            try:
                return socket.create_connection((self.hosts[index], self.port), timeout=PATIENCE)
            except ConnectionRefusedError:
                assert self.pods[-1].poll() is None


@pytest.fixture
def job(dlf_command: list[str], tmp_path: Path) -> Iterator[Job]:
    job = Job(dlf_command, tmp_path)
    yield job
    for pod in job.pods:
        pod.end()


def test_ssh_runs_a_command_in_another_pod(job: Job) -> None:
    """With the pod's own environment, both streams apart, and its exit code; then all pods end."""
    script = (
        f"ssh -o PasswordAuthentication=no -p 22 {job.hosts[1]} "
        "'echo pod $VC_TASK_INDEX in $PWD; echo err >&2; exit 9'; echo code $?"
    )
    code, out, err = job.run(script)
    assert (0, [f"pod 1 in {PROJECT}", "code 9"], ["err"], [0, 0]) == (code, out, err, job.codes)


def test_streams_are_carried_whole(job: Job) -> None:
    """More than any buffer on the way, in both directions."""
    script = (
        f"head -c 5000000 /dev/zero | ssh {job.hosts[1]} 'cat | wc -c';"
        f"ssh -n {job.hosts[2]} 'head -c 5000000 /dev/zero' | wc -c;"
        f"head -c 5000000 /dev/zero | ssh {job.hosts[2]} 'true'; echo $?"
    )
    assert (0, ["5000000", "5000000", "0"], []) == job.run(script)


def test_pdsh_runs_in_all_with_rank_and_host(job: Job) -> None:
    script = f"pdsh -S -f 1024 -w {','.join(job.hosts)} 'A=1; echo n=%n h=%h; exit %n'; echo $?"
    code, out, _ = job.run(script)
    expected = [f"{host}: n={number} h={host}" for number, host in enumerate(job.hosts)]
    assert (0, [*expected, "2"]) == (code, [*sorted(out[:-1]), out[-1]])


def test_signals_reach_the_command(job: Job) -> None:
    trainer = 'trap "echo saved; exit 5" TERM; echo ready; sleep 1000 & wait'
    script = (
        f"mkfifo $TMPDIR/out; ssh -n {job.hosts[1]} '{trainer}' >$TMPDIR/out & exec 3<$TMPDIR/out;"
        " read -r line <&3; echo $line; kill -TERM $!; cat <&3; wait $!; echo $?"
    )
    assert (0, ["ready", "saved", "5"], []) == job.run(script)


def test_a_command_ends_with_its_connection(job: Job) -> None:
    """Whoever called ssh was killed: the remote side gets SIGTERM, and nothing is left there."""
    script = (
        f'coproc ssh -n {job.hosts[1]} \'trap "echo > $TMPDIR/ended; exit" TERM; echo ready;'
        " sleep 1000 & wait'; read -r line <&${COPROC[0]}; kill -KILL $COPROC_PID;"
        " until [ -e $TMPDIR/ended ]; do :; done; echo ended"
    )
    code, out, _ = job.run(script)
    assert (0, ["ended"]) == (code, out)


@pytest.mark.parametrize("call", ["ssh -n {}", "pdsh -S -w {}"])
def test_connection_that_breaks_is_told(job: Job, call: str) -> None:
    """The pod was killed in the middle: 255 alone would be the command's as well."""
    code, out, err = job.run(call.format(job.hosts[1]) + " 'kill -KILL $PPID'; echo code $?")
    assert (0, ["code 255"], [-9, 0]) == (code, out, job.codes)
    assert err[0] == (
        f"dlf: {call.split()[0]}: lost the connection to {job.hosts[1]} before its command ended:"
        " the pod was stopped, or its machine or network failed; see dlf status JOB"
    )
    assert err[1].startswith(f"dlf: cannot reach {job.hosts[1]} on port 20022: Connection refused;")
    assert err[1].endswith(
        "; so that pod does not know that the command has ended, and runs until the job ends"
    )


def test_connection_of_a_program_that_has_ended_is_not_called_lost(
    job: Job, tmp_path: Path
) -> None:
    """mpirun leaves its ssh behind, whose connections end with the job."""
    mark = tmp_path / "connected"
    command = (
        f"setsid ssh -n {job.hosts[1]} 'touch {mark}; sleep 1000' & until [ -e {mark} ]; do :; done"
    )
    code, out, err = job.run(command)
    assert (0, [], []) == (code, out, err)


def test_the_exit_code_is_that_of_the_first_pod(job: Job) -> None:
    code, _, _ = job.run("exit 7")
    assert (7, [0, 0]) == (code, job.codes)


def test_a_pod_that_serves_ends_with_sigterm(job: Job) -> None:
    pod = job.pod(1)
    job.connect(1).close()
    pod.terminate()
    out, err = pod.communicate(timeout=60)
    assert (143, "", "") == (pod.returncode, out, err)


def _proved(job: Job, connection: socket.socket, secret: bytes) -> tuple[bytes, bytes, bytes]:
    """Do the client's part; what the server answered, and both random numbers."""
    ours = secrets.token_bytes(protocol.NONCE_BYTES)
    connection.sendall(protocol.MAGIC + ours)
    theirs = connection.recv(protocol.NONCE_BYTES, socket.MSG_WAITALL)
    connection.sendall(protocol.proof(protocol.derive_key(secret), "client", ours, theirs))
    try:
        return connection.recv(protocol.PROOF_BYTES, socket.MSG_WAITALL), ours, theirs
    except ConnectionResetError:
        return _HANG_UP, ours, theirs


def test_who_does_not_know_the_secret_is_refused_and_told_once(job: Job) -> None:
    """Garbage, HTTP, a wrong secret: hung up on without an answer; one line for all of them."""
    pod = job.pod(1)
    for sent in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"SSH-2.0-OpenSSH_9\r\n"):
        with job.connect(1) as connection:
            connection.sendall(sent)
            assert _hung_up(connection)
    with job.connect(1) as connection:
        assert _HANG_UP == _proved(job, connection, b"another secret of enough bytes")[0]
    pod.terminate()
    _, err = pod.communicate(timeout=60)
    told = (
        "dlf: refused a connection from 127.0.0.1 without the job's secret: a port scan, or a pod"
        " of another job"
    )
    assert [told] == [line.partition(";")[0] for line in err.splitlines()]


def test_what_was_recorded_cannot_be_sent_again(job: Job, tmp_path: Path) -> None:
    """All that a client said, proof and command, is of no use in another connection."""
    job.pod(1)
    mark = tmp_path / "ran"
    with job.connect(1) as connection:
        answer, ours, theirs = _proved(job, connection, job.secret)
        key = protocol.derive_key(job.secret)
        assert protocol.proof(key, "server", ours, theirs) == answer
        sender = protocol.Sender(key, "client", ours, theirs)
        command = sender.frame(protocol.COMMAND, f"echo >> {mark}".encode())
        connection.sendall(command)
        receiver = protocol.Receiver(key, "server", ours, theirs)
        assert [(protocol.EXIT, b"\0")] == list(receiver.feed(connection.recv(64)))
    with job.connect(1) as connection:
        recorded = protocol.MAGIC + ours + protocol.proof(key, "client", ours, theirs) + command
        connection.sendall(recorded)
        fresh = connection.recv(protocol.NONCE_BYTES, socket.MSG_WAITALL)
        assert fresh != theirs
        assert _hung_up(connection)
    assert "\n" == mark.read_text()


def test_ten_thousand_strangers_do_no_harm(job: Job) -> None:
    """The job goes on, the places are bounded, and so are memory, descriptors and what is said."""
    pod = job.pod(1)
    job.connect(1).close()
    before = _resident(pod.pid)
    silent = []
    for number in range(10_000):
        connection = job.connect(1)
        if number % 2:
            connection.sendall(b"garbage" * 20)
            connection.close()
        else:  # holds on to its place
            silent.append(connection)
            if len(silent) > 200:
                silent.pop(0).close()
    for connection in silent:
        connection.close()
    assert len(os.listdir(f"/proc/{pod.pid}/fd")) < 100
    assert _resident(pod.pid) - before < 2048  # KiB
    with job.connect(1) as connection:
        answer, ours, theirs = _proved(job, connection, job.secret)
        assert protocol.proof(protocol.derive_key(job.secret), "server", ours, theirs) == answer
    pod.terminate()
    _, err = pod.communicate(timeout=60)
    assert (143, 1) == (pod.returncode, len(err.splitlines()))


def test_without_a_secret_nothing_listens(job: Job, tmp_path: Path) -> None:
    job.env["DLF_TOKEN_FILE"] = str(tmp_path / "absent")
    pod = job.pod(1)
    _, err = pod.communicate(timeout=60)
    assert (2, 1) == (pod.returncode, len(err.splitlines()))
    assert f"--token_file='{tmp_path}/absent' cannot be read: No such file or directory" in err


def _hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == _HANG_UP
    except ConnectionResetError:
        return True


def _resident(pid: int) -> int:
    """Private memory in KiB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if "Pss_Anon" in line)
