/*
 * The files of the host, for fs/hostfs/hostfs_user.c, whose calls of the C library these functions replace: no symlink
 * of the host's is followed. See host_files.py.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#ifndef O_PATH
#define O_PATH 010000000
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#define PRIOLAB_OPENAT2 437
#define PRIOLAB_NO_SYMLINKS (0x02 | 0x04) /* RESOLVE_NO_MAGICLINKS and RESOLVE_NO_SYMLINKS, <linux/openat2.h> */
#define PRIOLAB_WALKED (O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC)

/* Opens a path part by part, on a host whose kernel has no openat2(2), or does not allow it. */
static int priolab_walk(const char *path, int flags, int mode)
{
	char part[NAME_MAX + 1];
	int at = open("/", PRIOLAB_WALKED), next;
	size_t length;

	while (at >= 0) {
		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length > NAME_MAX) {
			errno = ENAMETOOLONG;
			next = -1;
		} else if (path[length + strspn(path + length, "/")]) {
			memcpy(part, path, length);
			part[length] = '\0';
			next = openat(at, part, PRIOLAB_WALKED);
		} else {
			memcpy(part, length ? path : ".", length + !length);
			part[length + !length] = '\0';
			next = openat(at, part, flags | O_NOFOLLOW, mode);
		}
		close(at);
		if (next < 0 || !path[length])
			return next;
		path += length;
		at = next;
	}
	return at;
}

static int priolab_resolve(const char *path, int flags, int mode)
{
	struct { unsigned long long flags, mode, resolve; } how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.mode = mode,
		.resolve = PRIOLAB_NO_SYMLINKS,
	};
	int fd = syscall(PRIOLAB_OPENAT2, AT_FDCWD, path, &how, sizeof(how));

	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd;
	return priolab_walk(path, flags | O_CLOEXEC, mode);
}

/* Opens a regular file or a folder: in its place there may be a device or a named pipe by now. */
static int priolab_open(const char *path, int flags, ...)
{
	struct stat64 st;
	int mode = 0, fd;
	va_list more;

	va_start(more, flags);
	if (flags & O_CREAT)
		mode = va_arg(more, int);
	va_end(more);
	fd = priolab_resolve(path, flags | O_NONBLOCK | O_NOCTTY, mode);
	if (fd >= 0 && (fstat64(fd, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))) {
		close(fd);
		errno = ENXIO;
		return -1;
	}
	return fd;
}

static DIR *priolab_open_dir(const char *path)
{
	int fd = priolab_resolve(path, O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/*
 * Opens the folder of a file; name: gets the file's name in it. The path is in the caller's memory, and is changed for a
 * moment.
 */
static int priolab_folder(const char *path, const char **name)
{
	char *end = strrchr(path, '/');
	int fd;

	if (!end || !end[1]) {
		errno = EBUSY;
		return -1;
	}
	*name = end + 1;
	*end = '\0';
	fd = priolab_resolve(*path ? path : "/", O_PATH | O_DIRECTORY, 0);
	*end = '/';
	return fd;
}

/* Returns the result of a call that names a file, after its descriptor is closed. */
static int priolab_closed(int fd, int result)
{
	int error = errno;

	close(fd);
	errno = error;
	return result;
}

#define PRIOLAB_IN_FOLDER(path, call) ({ \
	const char *name; \
	int at = priolab_folder(path, &name); \
	at < 0 ? -1 : priolab_closed(at, call); \
})

static int priolab_rename(const char *from, const char *to, unsigned int flags)
{
	const char *old, *new;
	int from_at = priolab_folder(from, &old), to_at, result = -1;

	if (from_at < 0)
		return -1;
	to_at = priolab_folder(to, &new);
	if (to_at >= 0)
		result = priolab_closed(to_at, syscall(SYS_renameat2, from_at, old, to_at, new, flags));
	return priolab_closed(from_at, result);
}

static int priolab_link(const char *from, const char *to)
{
	const char *old, *new;
	int from_at = priolab_folder(from, &old), to_at, result = -1;

	if (from_at < 0)
		return -1;
	to_at = priolab_folder(to, &new);
	if (to_at >= 0)
		result = priolab_closed(to_at, linkat(from_at, old, to_at, new, 0));
	return priolab_closed(from_at, result);
}

/* A call that takes a path, on a file of which there is a descriptor with O_PATH. */
#define PRIOLAB_BY_DESCRIPTOR(path, call) ({ \
	char named[sizeof("/proc/self/fd/-2147483648")]; \
	int fd = priolab_resolve(path, O_PATH, 0); \
	if (fd >= 0) \
		snprintf(named, sizeof(named), "/proc/self/fd/%d", fd); \
	fd < 0 ? -1 : priolab_closed(fd, call); \
})

static int priolab_chmod(const char *path, int mode)
{
	return PRIOLAB_BY_DESCRIPTOR(path, chmod(named, mode));
}

static int priolab_chown(const char *path, int user, int group)
{
	return PRIOLAB_BY_DESCRIPTOR(path, fchownat(fd, "", user, group, AT_EMPTY_PATH));
}

static int priolab_utimes(const char *path, const struct timeval *times)
{
	return PRIOLAB_BY_DESCRIPTOR(path, utimes(named, times));
}

static int priolab_truncate(const char *path, long long size)
{
	int fd = priolab_open(path, O_WRONLY);

	return fd < 0 ? -1 : priolab_closed(fd, ftruncate64(fd, size));
}

#undef open64
#undef truncate
#define open64(...) priolab_open(__VA_ARGS__)
#define opendir(path) priolab_open_dir(path)
#define chmod(path, mode) priolab_chmod(path, mode)
#define chown(path, user, group) priolab_chown(path, user, group)
#define utimes(path, times) priolab_utimes(path, times)
#define truncate(path, size) priolab_truncate(path, size)
#define symlink(to, path) PRIOLAB_IN_FOLDER(path, symlinkat(to, at, name))
#define unlink(path) PRIOLAB_IN_FOLDER(path, unlinkat(at, name, 0))
#define rmdir(path) PRIOLAB_IN_FOLDER(path, unlinkat(at, name, AT_REMOVEDIR))
#define mkdir(path, mode) PRIOLAB_IN_FOLDER(path, mkdirat(at, name, mode))
#define mknod(path, mode, device) PRIOLAB_IN_FOLDER(path, mknodat(at, name, mode, device))
#define link(from, to) priolab_link(from, to)
#define rename(from, to) priolab_rename(from, to, 0)
