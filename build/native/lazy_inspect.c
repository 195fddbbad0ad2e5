/*
 * In place of Nuitka's patchInspectModule(), which MainProgram.c calls under this name (see link.py).
 *
 * The original imports `inspect` and `typing` at every start, almost half of the time of `dlf version`, to make
 * inspect.getgeneratorstate(), inspect.getcoroutinestate() and @types.coroutine know compiled functions. Nothing in the
 * program uses those on a compiled function: asyncio asks collections.abc, which knows them without help.
 */
void dlf_forget_start_after_fork(void); /* see forget_start.c; this is the first call after the start of Python */

void dlf_leave_inspect_alone(void *thread_state)
{
    (void)thread_state;
    dlf_forget_start_after_fork();
}
