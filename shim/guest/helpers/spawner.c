// Starts a program in every way there is, to see what the child gets.
//
//   spawner [-n TIMES] [-t THREADS] METHOD PROGRAM [ARGS..]
//
// METHOD: posix_spawn, posix_spawnp, system, popen; execve, execv, execvp (in this process);
// fork-execve, fork-execv, fork-execvp, vfork-execve (in a child). THREADS threads allocate and
// free all the while, so that a fork happens while one of them holds the allocator's lock.
//
// Prints `spawner_pid`, then what the child prints, then `status=<exit code>` or
// `signal=<number>` of the last one, or `error=<errno>` when it could not be started.

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static atomic_bool stop;

static void *allocate(void *context)
{
	(void)context;
	while (!atomic_load(&stop)) {
		void *memory[64];
		for (size_t i = 0; i < 64; i++)
			memory[i] = malloc(16 + 61 * i);
		for (size_t i = 0; i < 64; i++)
			free(memory[i]);
	}
	return NULL;
}

static int exec_by(const char *how, char **arguments)
{
	if (!strcmp(how, "execve"))
		return execve(arguments[0], arguments, environ);
	if (!strcmp(how, "execv"))
		return execv(arguments[0], arguments);
	return execvp(arguments[0], arguments);
}

// A shell's command line of these arguments, each in single quotes.
static char *command_line(char **arguments)
{
	size_t size = 1;
	for (char **a = arguments; *a; a++)
		size += 4 * strlen(*a) + 3;
	char *line = malloc(size), *to = line;
	if (!line)
		exit(70);
	for (char **a = arguments; *a; a++) {
		*to++ = '\'';
		for (const char *c = *a; *c; c++)
			if (*c == '\'')
				to += sprintf(to, "'\\''");
			else
				*to++ = *c;
		*to++ = '\'';
		*to++ = ' ';
	}
	*to = '\0';
	return line;
}

static int copy_output(const char *line)
{
	FILE *output = popen(line, "r");
	if (!output)
		return -1;
	char part[4096];
	size_t length;
	while ((length = fread(part, 1, sizeof part, output)) > 0)
		fwrite(part, 1, length, stdout);
	return pclose(output);
}

// Starts one child and waits for it. Its wait status, or -1 with errno set.
static int run(const char *method, char **arguments, const char *line)
{
	pid_t child;
	int status = -1;
	if (!strcmp(method, "system"))
		return system(line);
	if (!strcmp(method, "popen"))
		return copy_output(line);
	if (!strncmp(method, "posix_spawn", 11)) {
		errno = method[11] == 'p' ? posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ)
		                          : posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ);
		if (errno)
			return -1;
	} else if (!strcmp(method, "vfork-execve")) {
		child = vfork();
		if (child == 0) {
			execve(arguments[0], arguments, environ);
			_exit(127);
		}
	} else {
		child = fork();
		if (child == 0) {
			exec_by(method + 5, arguments);
			_exit(127);
		}
	}
	return child < 0 || waitpid(child, &status, 0) < 0 ? -1 : status;
}

static const char *const methods[] = {
    "posix_spawn", "posix_spawnp", "system",       "popen",        "execve", "execv", "execvp",
    "fork-execve", "fork-execv",   "fork-execvp",  "vfork-execve",
};

static int usage(void)
{
	fprintf(stderr, "usage: spawner [-n TIMES] [-t THREADS] METHOD PROGRAM [ARGS..]\n");
	return 2;
}

int main(int argc, char **argv)
{
	long times = 1, threads = 0;
	// "+": what belongs to the program stays the program's.
	for (int option; (option = getopt(argc, argv, "+n:t:")) != -1;) {
		if (option == 'n')
			times = strtol(optarg, NULL, 10);
		else if (option == 't')
			threads = strtol(optarg, NULL, 10);
		else
			return usage();
	}
	if (argc - optind < 2 || times < 1 || threads < 0)
		return usage();
	const char *method = argv[optind];
	char **arguments = argv + optind + 1;
	bool known = false;
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
		known |= !strcmp(methods[i], method);
	if (!known)
		return usage();

	printf("spawner_pid=%ld\n", (long)getpid());
	fflush(stdout);
	for (long i = 0; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, allocate, NULL))
			return 70;
	}
	if (!strncmp(method, "exec", 4)) {
		exec_by(method, arguments);
		printf("error=%d\n", errno);
		return 1;
	}
	char *line = command_line(arguments);
	int status = 0;
	for (long i = 0; i < times && status == 0; i++)
		status = run(method, arguments, line);
	int error = errno;
	atomic_store(&stop, true);
	free(line);
	if (status == -1)
		printf("error=%d\n", error);
	else if (WIFSIGNALED(status))
		printf("signal=%d\n", WTERMSIG(status));
	else
		printf("status=%d\n", WEXITSTATUS(status));
	return 0;
}
