// What it costs to start a program: nanoseconds of each of many starts, for benchmarks.
//
//   spawncost TIMES METHOD PROGRAM ENVIRONMENT..
//
// METHOD is posix_spawn or fork-execve. Each ENVIRONMENT is a list of NAME=VALUE, one a line, which
// is all that the program gets. The environments take turns, in another order each round, so that
// none has always the same one before it. Prints a line for each start: the number of its
// environment, the time from before the start until the program has ended, and the processor time
// that the program used.

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VARIABLES = 16 };

static long long now(void) // nanoseconds
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long nanoseconds(struct timeval time)
{
	return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL;
}

static pid_t start(int by_fork, char **arguments, char **environment)
{
	pid_t child;
	if (!by_fork)
		return posix_spawn(&child, arguments[0], NULL, NULL, arguments, environment) ? -1 : child;
	child = fork();
	if (child == 0) {
		execve(arguments[0], arguments, environment);
		_exit(127);
	}
	return child;
}

// The same orders at every run: the generator is not seeded.
static void shuffle(int *order, int count)
{
	for (int i = count - 1; i > 0; i--) {
		int other = rand() % (i + 1), kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
}

int main(int argc, char **argv)
{
	long times = argc > 4 ? strtol(argv[1], NULL, 10) : 0;
	int by_fork = argc > 4 && !strcmp(argv[2], "fork-execve");
	if (times < 1 || (!by_fork && strcmp(argv[2], "posix_spawn"))) {
		fprintf(stderr, "usage: spawncost TIMES posix_spawn|fork-execve PROGRAM ENVIRONMENT..\n");
		return 2;
	}
	char *arguments[] = {argv[3], NULL};
	int ways = argc - 4;
	char *(*environments)[VARIABLES + 1] = calloc((size_t)ways, sizeof *environments);
	long long(*results)[2] = calloc((size_t)(times * ways), sizeof *results);
	int *order = calloc((size_t)ways, sizeof *order);
	if (!environments || !results || !order)
		return 70;
	for (int way = 0; way < ways; way++) {
		int used = 0;
		for (char *entry = strtok(argv[4 + way], "\n"); entry && used < VARIABLES; entry = strtok(NULL, "\n"))
			environments[way][used++] = entry;
	}
	for (int way = 0; way < ways; way++)
		order[way] = way;
	for (long round = 0; round < times; round++) {
		shuffle(order, ways);
		for (int turn = 0; turn < ways; turn++) {
			int way = order[turn], status;
			struct rusage usage;
			long long before = now();
			pid_t child = start(by_fork, arguments, environments[way]);
			if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
				fprintf(stderr, "spawncost: %s does not start, or does not end with 0\n", argv[3]);
				return 1;
			}
			long long *result = results[round * ways + way];
			result[0] = now() - before;
			result[1] = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
		}
	}
	// Printed at the end, so that no start waits for a reader.
	for (long i = 0; i < times * ways; i++)
		printf("%ld %lld %lld\n", i % ways, results[i][0], results[i][1]);
	return 0;
}
