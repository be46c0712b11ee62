// Reads a facts file: the `[section]`, `key = value` subset of TOML that facts files are.
//
// The command line reads the same file with a whole TOML library and refuses keys it does
// not know; this reader takes the keys it needs, skips others, and refuses what it cannot read.

#include "guest.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char sample[] =
#include "sample_facts.inc"
    ;

// Used where a facts file does not say: any fixed values do.
#define METAL_UUID "4D65746C-0000-4000-8000-000000000001"
#define DRIVER_UUID "44727672-0000-4000-8000-000000000002"
#define OTHER_UUID "FFFFFFFF-0000-4000-8000-00000000000F"

enum kind { TEXT, NUMBER, TRUTH };

struct key {
	const char *section, *name;
	enum kind kind;
	void *to;
	size_t size; // of TEXT
	bool required;
	bool seen;
};

static struct guest_facts facts;

static struct key keys[] = {
    {"guest", "build", TEXT, facts.build, sizeof facts.build, true, false},
    {"guest", "version", TEXT, facts.version, sizeof facts.version, true, false},
    {"guest", "model", TEXT, facts.model, sizeof facts.model, true, false},
    {"guest", "chip", TEXT, facts.chip, sizeof facts.chip, true, false},
    {"guest", "boot_session", TEXT, facts.boot_session, sizeof facts.boot_session, true, false},
    {"guest", "vm", TRUTH, &facts.vm, 0, true, false},
    {"host", "apple_family", NUMBER, &facts.host_apple_family, 0, false, false},
    {"device", "class", TEXT, facts.device_class, sizeof facts.device_class, false, false},
    {"device", "name", TEXT, facts.device_name, sizeof facts.device_name, false, false},
    {"device", "apple_family", NUMBER, &facts.apple_family, 0, false, false},
    {"device", "common_family", NUMBER, &facts.common_family, 0, false, false},
    {"device", "metal3", TRUTH, &facts.metal3, 0, false, false},
    {"device", "max_threadgroup_memory", NUMBER, &facts.max_threadgroup_memory, 0, false, false},
    {"device", "metal_uuid", TEXT, facts.metal_uuid, sizeof facts.metal_uuid, false, false},
    {"device", "driver_uuid", TEXT, facts.driver_uuid, sizeof facts.driver_uuid, false, false},
};

#define KEYS (sizeof keys / sizeof keys[0])

void guest_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("simulated guest: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(70);
}

static char *trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t length = strlen(text);
	while (length > 0 && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

// Cuts a comment off: a '#' outside a string.
static void strip_comment(char *line)
{
	bool quoted = false;
	for (char *c = line; *c; c++) {
		if (*c == '"')
			quoted = !quoted;
		else if (*c == '#' && !quoted)
			*c = '\0';
	}
}

static const char *take(struct key *key, char *value)
{
	size_t length = strlen(value);
	char *end;
	switch (key->kind) {
	case TEXT:
		if (length < 2 || value[0] != '"' || value[length - 1] != '"' || strchr(value, '\\'))
			return "is not a plain \"text\"";
		value[length - 1] = '\0';
		if (strchr(value + 1, '"') || length - 1 > key->size)
			return "is too long, or has a quote in it";
		strcpy(key->to, value + 1);
		return NULL;
	case NUMBER:
		errno = 0;
		*(long *)key->to = strtol(value, &end, 10);
		return errno || end == value || *end || !isdigit((unsigned char)value[0]) ? "is not a number" : NULL;
	case TRUTH:
		if (strcmp(value, "true") && strcmp(value, "false"))
			return "is neither true nor false";
		*(bool *)key->to = value[0] == 't';
		return NULL;
	}
	return "is of no known kind";
}

static void take_line(const char *file, int number, char *section, size_t section_size, char *line)
{
	strip_comment(line);
	line = trim(line);
	size_t length = strlen(line);
	if (length == 0)
		return;
	if (line[0] == '[') {
		if (length < 3 || line[length - 1] != ']' || length - 2 >= section_size)
			guest_fail("%s:%d: \"%s\" is not a [section]", file, number, line);
		line[length - 1] = '\0';
		strcpy(section, line + 1);
		if (!strcmp(section, "host"))
			facts.host_known = true;
		if (!strcmp(section, "device")) {
			// Optional there, and then not what the sample says.
			facts.common_family = 0;
			facts.metal3 = false;
		}
		return;
	}
	char *equals = strchr(line, '=');
	if (!equals)
		guest_fail("%s:%d: \"%s\" is not key = value", file, number, line);
	*equals = '\0';
	char *name = trim(line), *value = trim(equals + 1);
	for (size_t i = 0; i < KEYS; i++) {
		struct key *key = &keys[i];
		if (strcmp(key->section, section) || strcmp(key->name, name))
			continue;
		const char *problem = key->seen ? "is there twice" : take(key, value);
		if (problem)
			guest_fail("%s:%d: %s.%s %s", file, number, section, name, problem);
		key->seen = true;
	}
}

static void take_all(const char *file, char *text)
{
	char section[64] = "";
	for (size_t i = 0; i < KEYS; i++)
		keys[i].seen = false;
	facts.host_known = false;
	facts.host_apple_family = 0;
	int number = 0;
	for (char *next = text; next;) {
		char *line = next;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		take_line(file, ++number, section, sizeof section, line);
	}
	for (size_t i = 0; i < KEYS; i++)
		if (keys[i].required && !keys[i].seen)
			guest_fail("%s: %s.%s is missing", file, keys[i].section, keys[i].name);
}

static void read_facts(void)
{
	static char text[65536];
	strcpy(facts.metal_uuid, METAL_UUID);
	strcpy(facts.driver_uuid, DRIVER_UUID);
	// The sample first: a file may leave out what is not known of the device.
	strcpy(text, sample);
	take_all("built-in sample", text);

	const char *path = getenv("METALSHIM_FACTS");
	if (path && *path) {
		FILE *file = fopen(path, "r");
		if (!file)
			guest_fail("METALSHIM_FACTS: %s: %s", path, strerror(errno));
		size_t length = fread(text, 1, sizeof text - 1, file);
		if (ferror(file) || !feof(file))
			guest_fail("METALSHIM_FACTS: %s: cannot be read, or is longer than %zu bytes", path, sizeof text - 1);
		fclose(file);
		text[length] = '\0';
		if (strlen(text) != length)
			guest_fail("METALSHIM_FACTS: %s: has a zero byte in it", path);
		take_all(path, text);
	}
	if (guest_scenario("other-metal-uuid"))
		strcpy(facts.metal_uuid, OTHER_UUID);
	if (guest_scenario("other-driver-uuid"))
		strcpy(facts.driver_uuid, OTHER_UUID);
}

const struct guest_facts *guest_facts(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, read_facts);
	return &facts;
}

const char *metalshim_guest_image_uuid(const char *image)
{
	if (!strcmp(image, "Metal"))
		return guest_facts()->metal_uuid;
	if (!strcmp(image, "driver"))
		return guest_facts()->driver_uuid;
	return NULL;
}
