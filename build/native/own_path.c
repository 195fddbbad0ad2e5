/*
 * readlink() that can name the running program without /proc.
 *
 * Nuitka's start-up asks for "/proc/self/exe" and aborts without a word when there is no answer, as in an empty root. The
 * kernel has also told each program the path it was started by (AT_EXECFN). This definition comes before libc's in the
 * static link and falls back on it.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t readlink(const char *restrict path, char *restrict target, size_t size)
{
    char unused[1]; /* the kernel refuses size 0, POSIX allows it */
    long length = size == 0 ? syscall(SYS_readlinkat, AT_FDCWD, path, unused, sizeof unused)
                            : syscall(SYS_readlinkat, AT_FDCWD, path, target, size);
    if (length >= 0)
        return size == 0 ? 0 : length;
    const char *started = (const char *)getauxval(AT_EXECFN);
    if (started == NULL || strcmp(path, "/proc/self/exe") != 0)
        return length;
    size_t known = strlen(started);
    if (known > size)
        known = size;
    memcpy(target, started, known);
    return (ssize_t)known;
}
