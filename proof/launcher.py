"""Run one command and write what it cost: python launcher.py FILE COMMAND...

The peak memory that the kernel reports for a process includes that of the process which started
it, up to the start. So measured commands are started from here, which imports next to nothing.
"""

import os
import sys
import time

began = time.perf_counter()
process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(process, 0)
wall = time.perf_counter() - began
with open(sys.argv[1], "w") as file:  # noqa: PTH123 - pathlib would double the memory
    file.write(f"{wall} {used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}")
sys.exit(os.waitstatus_to_exitcode(status) % 256)
