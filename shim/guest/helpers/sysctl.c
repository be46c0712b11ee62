// Prints what sysctlbyname answers to the names that the shim and the command line ask.

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stddef.h>

int sysctlbyname(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size);

static void print_error(const char *key)
{
	const char *name = errno == ENOENT ? "ENOENT" : errno == ENOMEM ? "ENOMEM" : NULL;
	if (name)
		printf("%s=error %s\n", key, name);
	else
		printf("%s=error %d\n", key, errno);
}

static void print_text(const char *name)
{
	char text[256];
	size_t size = sizeof text;
	if (sysctlbyname(name, text, &size, NULL, 0))
		print_error(name);
	else
		printf("%s=%.*s\n", name, size ? (int)size - 1 : 0, text);
}

int main(void)
{
	print_text("kern.osversion");
	print_text("kern.osproductversion");
	print_text("kern.bootsessionuuid");
	print_text("hw.model");
	print_text("machdep.cpu.brand_string");
	int32_t vm = -1;
	size_t size = sizeof vm;
	if (sysctlbyname("kern.hv_vmm_present", &vm, &size, NULL, 0))
		print_error("kern.hv_vmm_present");
	else
		printf("kern.hv_vmm_present=%d\n", vm);
	print_text("no.such.name");

	size = 0;
	sysctlbyname("kern.osversion", NULL, &size, NULL, 0);
	printf("kern.osversion.size=%zu\n", size);
	char small[256];
	size -= 1;
	if (sysctlbyname("kern.osversion", small, &size, NULL, 0))
		print_error("kern.osversion.short");
	return 0;
}
