// A stub that replaces itself by another program in the same process, as Homebrew's python3 does.
//
//   reexec [setexec] PROGRAM [ARGS..]
//
// By execve; with `setexec` by posix_spawn with POSIX_SPAWN_SETEXEC, which only a Mac has, and what
// shim/loader makes of it.

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#ifndef POSIX_SPAWN_SETEXEC
// The same bit. By itself glibc gives it no meaning.
#define POSIX_SPAWN_SETEXEC POSIX_SPAWN_USEVFORK
#endif

static int set_exec(char **arguments)
{
	posix_spawnattr_t attributes;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETEXEC);
	return posix_spawn(NULL, arguments[0], NULL, &attributes, arguments, environ);
}

int main(int argc, char **argv)
{
	int set = argc > 1 && !strcmp(argv[1], "setexec");
	if (argc < 2 + set) {
		fprintf(stderr, "usage: reexec [setexec] PROGRAM [ARGS..]\n");
		return 2;
	}
	printf("stub_pid=%ld\n", (long)getpid());
	fflush(stdout);
	char **arguments = argv + 1 + set;
	int error;
	if (set) {
		error = set_exec(arguments);
	} else {
		execve(arguments[0], arguments, environ);
		error = errno;
	}
	fprintf(stderr, "reexec: %s: %s\n", arguments[0], strerror(error));
	return error == ENOENT ? 127 : 126;
}
