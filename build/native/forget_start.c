/*
 * After a fork, give back in the parent what only its start has read of the program's file.
 *
 * Nuitka checks and unpacks its constants at every start: eight megabytes that stay mapped, most of them of modules that
 * this run never imports. `dlf worker` lives beside a training as long as it lasts, and is to be small; it forks a child that
 * reads its flags. The pages are clean copies of the file: what is needed again is mapped again, from the page cache.
 */
#include <elf.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static void forget_start(void)
{
    const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM), page = getauxval(AT_PAGESZ), base = 0;
    if (headers == 0 || page == 0)
        return;
    for (unsigned long i = 0; i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            base = (unsigned long)headers - headers[i].p_vaddr;
    for (unsigned long i = 0; i < count; i++) {
        if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & PF_W))
            continue;
        unsigned long first = (base + headers[i].p_vaddr) & ~(page - 1);
        unsigned long end = base + headers[i].p_vaddr + headers[i].p_memsz;
        madvise((void *)first, end - first, MADV_DONTNEED);
    }
}

void dlf_forget_start_after_fork(void)
{
    pthread_atfork(0, forget_start, 0);
}
