// Stands in front of the C library's `open` and writes down what each call asks for, to the file that
// OPEN_LOG names: `cloexec=0|1 PATH`. It makes system calls only, since it is called between fork and
// exec too. Calls that the C library makes itself do not come through here.

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char log_path[4096];

__attribute__((constructor)) static void remember(void)
{
	const char *path = getenv("OPEN_LOG");
	if (path && strlen(path) < sizeof log_path)
		strcpy(log_path, path);
}

static int system_open(const char *path, int flags, int mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	int mode = flags & O_CREAT ? va_arg(more, int) : 0;
	va_end(more);
	// The constructor of what is loaded later may run first.
	if (!log_path[0])
		remember();
	if (log_path[0]) {
		char line[4200];
		size_t length = strlen(path);
		if (length > sizeof line - 16)
			length = sizeof line - 16;
		memcpy(line, flags & O_CLOEXEC ? "cloexec=1 " : "cloexec=0 ", 10);
		memcpy(line + 10, path, length);
		line[10 + length] = '\n';
		int file = system_open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (write(file, line, length + 11) < 0)
			_exit(70);
		close(file);
	}
	return system_open(path, flags, mode);
}
