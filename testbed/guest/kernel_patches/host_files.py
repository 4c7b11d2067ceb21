"""Makes a guest's kernel follow no symlink of the host's: it resolves those that a program meets itself.

hostfs names a file of the host by the path that the file had when a program found it. A program that may write into a
folder can remove the file meanwhile, and put a symlink in its place, which the host's kernel would follow out of the
folder: for a file that is open by another name, or if another guest does so in the same folder. So each file is opened,
made, removed and changed at a path without symlinks (openat2(2); part by part on a host that does not have it), and
what is opened must be a regular file or a folder. Paths that are mounted must have no symlinks themselves.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, compiled

_FILE = "fs/hostfs/hostfs_user.c"
_INCLUDES = '#include "hostfs.h"\n'
_RENAMES = "err = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);"

CHANGES = (
    Change(
        name="no symlink of the host's is followed",
        effect=Effect.SAFETY,
        wordings=(
            (
                compiled("host_files.c", "fs/hostfs"),
                Edit(_FILE, _INCLUDES, f'{_INCLUDES}#include "priolab_host_files.c"\n'),
                Edit(_FILE, _RENAMES, "err = priolab_rename(from, to, flags);"),
            ),
        ),
    ),
)
