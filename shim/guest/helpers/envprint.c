// What a child finds: its arguments, its whole environment in order, its open descriptors.

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

extern char **environ;

static void print_text(const char *text)
{
	// One line each, whatever is in it.
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\n", stdout);
		else
			putchar(*text);
	putchar('\n');
}

int main(int argc, char **argv)
{
	printf("pid=%ld\nppid=%ld\nfds=", (long)getpid(), (long)getppid());
	const char *comma = "";
	for (int fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) >= 0) {
			printf("%s%d", comma, fd);
			comma = ",";
		}
	}
	printf("\n");
	for (int i = 0; i < argc; i++) {
		printf("arg.%d=", i);
		print_text(argv[i]);
	}
	for (char **entry = environ; *entry; entry++) {
		printf("env.");
		print_text(*entry);
	}
	return 0;
}
