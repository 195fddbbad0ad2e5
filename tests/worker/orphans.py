"""A program that leaves orphans to process 1 of its container, and counts those that it reaps."""

COUNT = 500

ORPHANS = f"""
import os, time

source, sink = os.pipe()
for _ in range({COUNT}):
    parent = os.fork()
    if not parent:
        if not os.fork():
            while os.getppid() != 1:
                time.sleep(0.001)
            os.write(sink, b"%d " % os.getpid())
        os._exit(0)
    os.waitpid(parent, 0)
os.close(sink)
orphans = set(os.fdopen(source).read().split())
deadline = time.monotonic() + 30
left = orphans
while left and time.monotonic() < deadline:
    left = left.intersection(os.listdir("/proc"))
    time.sleep(0.01)
print(len(orphans), "orphans,", len(left), "left")
"""
"""Each is orphaned before it ends, so nobody but process 1 can reap it; a zombie is in /proc."""
