"""Ends of logs as the frameworks print them, shortened where nothing is lost."""

# ruff: noqa: E501  the frameworks do not keep to 100 columns

TORCHRUN = """\
E1203 05:12:00.100000 139 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) \
local_rank: 1 (pid: 143) of binary: /usr/bin/python3
Traceback (most recent call last):
  File "/usr/local/bin/torchrun", line 8, in <module>
    sys.exit(main())
             ^^^^^^
  File "/usr/lib/python3/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 355, in wrapper
    return f(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3/torch/distributed/run.py", line 918, in main
    run(args)
  File "/usr/lib/python3/torch/distributed/run.py", line 909, in run
    elastic_launch(
  File "/usr/lib/python3/torch/distributed/launcher/api.py", line 138, in __call__
    return launch_agent(self._config, self._entrypoint, list(args))
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3/torch/distributed/launcher/api.py", line 269, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\x20
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[0]:
  time      : 2026-12-03_05:12:00
  host      : job-worker-0
  rank      : 4 (local_rank: 0)
  exitcode  : 1 (pid: 142)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
------------------------------------------------------------
Root Cause (first observed failure):
[1]:
  time      : 2026-12-03_05:12:00
  host      : job-worker-0
  rank      : 5 (local_rank: 1)
  exitcode  : {exitcode} (pid: 143)
  error_file: {error_file}
  traceback : {traceback}
============================================================"""
NO_TRACEBACK = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"


def torchrun(exitcode: int = 1, error_file: str = "<N/A>", traceback: str = NO_TRACEBACK) -> str:
    """What torchrun writes when a process of its failed: 39 lines."""
    return TORCHRUN.format(exitcode=exitcode, error_file=error_file, traceback=traceback)


MPIRUN = """\
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[27609,1],{rank}]
  Exit code:    1
--------------------------------------------------------------------------"""

MPIRUN_SIGNAL = """\
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun noticed that process rank 1 with PID 0 on node job-worker-1 exited on signal 9 (Killed).
--------------------------------------------------------------------------"""

PRTERUN = """\
--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-job-launcher-257891@1,3]
   Exit code:    127
--------------------------------------------------------------------------"""

MPI_ABORT = """\
--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD
with errorcode 6.

NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.
You may or may not see output from other processes, depending on
exactly when Open MPI kills them.
--------------------------------------------------------------------------"""

MPICH = """\
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 2 PID 5490 RUNNING AT job-worker-1
=   KILLED BY SIGNAL: 9 (Killed)
===================================================================================

===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 1 PID 5491 RUNNING AT job-worker-0
=   KILLED BY SIGNAL: 9 (Killed)
==================================================================================="""

HOROVODRUN = """\
Process 1 exit with status code 1.
Terminating remaining workers after failure of Process 1.
Traceback (most recent call last):
  File "/usr/local/bin/horovodrun", line 8, in <module>
    sys.exit(run_commandline())
  File "/usr/lib/python3/horovod/runner/gloo_run.py", line 285, in launch_gloo
    .format(name=name, code=exit_code))
RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing \
the job to be terminated. The first process to do so was:
Process name: 1
Exit code: 1
"""

HOROVOD_VICTIM = """\
Traceback (most recent call last):
  File "train.py", line 40, in <module>
    model.fit(data)
  File "/usr/lib/python3/horovod/torch/mpi_ops.py", line 1288, in synchronize
    raise HorovodInternalError(e)
horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an \
exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one \
of the ranks finished execution."""

PADDLE = """\
LAUNCH INFO 2026-12-03 05:12:31,869 Pod failed
LAUNCH ERROR 2026-12-03 05:12:31,869 Container failed !!!
Container rank 0 status failed cmd ['/usr/bin/python', '-u', 'train.py'] code {code} log log/workerlog.0
LAUNCH INFO 2026-12-03 05:12:31,869 ------------------------- ERROR LOG DETAIL -------------------------
{detail}
LAUNCH INFO 2026-12-03 05:12:33,900 Exit code {code}"""

NO_DATA = """\
Traceback (most recent call last):
  File "/job/train.py", line 4, in <module>
    main()
  File "/job/train.py", line 2, in main
    raise ValueError("no data")
ValueError: no data"""

GLOO_VICTIM = """\
Traceback (most recent call last):
  File "/job/train.py", line 9, in <module>
    dist.all_reduce(loss)
RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer \
[10.0.0.42]:58054"""

NCCL_VICTIM = """\
Traceback (most recent call last):
  File "/job/train.py", line 9, in <module>
    dist.barrier()
torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/\
ProcessGroupNCCL.cpp:2251, remote process exited or there was a network error, NCCL version 2.21.5
ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."""

CUDA_OUT_OF_MEMORY = """\
Traceback (most recent call last):
  File "/job/train.py", line 12, in step
    return F.linear(input, self.weight, self.bias)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 2 has a total capacity \
of 23.56 GiB of which 15.88 MiB is free."""

FAULTHANDLER = """\
Fatal Python error: Segmentation fault

Current thread 0x00007f62f61bbb80 (most recent call first):
  File "/job/train.py", line 7 in <module>"""

PADDLE_SIGNAL = """\
--------------------------------------
C++ Traceback (most recent call last):
--------------------------------------
No stack trace in paddle, may be caused by external reasons.

----------------------
Error Message Summary:
----------------------
FatalError: `{what}` is detected by the operating system.
  [TimeInfo: *** Aborted at 1764738751 (unix time) try "date -d @1764738751" ***]
  [SignalInfo: *** SIGTERM (@0x1) received by PID 91 (TID 0x7f62f61bbb80) from PID 1 ***]"""


def prefixed(prefix: str, text: str) -> str:
    """Each line as a launcher marks those of a process."""
    return "\n".join(f"{prefix}{line}" for line in text.split("\n"))


def woven(*texts: str) -> str:
    """Lines of several processes, one of each in turn."""
    rows = [text.split("\n") for text in texts]
    longest = max(len(row) for row in rows)
    return "\n".join(row[i] for i in range(longest) for row in rows if i < len(row))
