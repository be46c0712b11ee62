// canary-device: the simulated guest's GPU, in software.
//
// It speaks with `metalshim canary` on stdin and stdout, as `metalshim __canary` does on a Mac with
// a real one; cli/src/canary/channel.rs has the other end and the description. The kernels were
// compiled with this program; text that is sent must be the very text that it was built from.
//
//   canary-device            as above
//   canary-device list       the kernels, `library kernel` a line
//
// METALSHIM_GUEST_LANES = forward | reverse | shuffled: the order in which threads get their turns.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "answers.h"
#include "group.h"

namespace
{

constexpr size_t most_bytes = size_t(1) << 30; // of a text or a buffer that comes through the pipe
constexpr unsigned most_threads = 1024;
constexpr unsigned long software_memory = 64 << 20; // what this device, unlike the one it stands for, can be asked to hold
constexpr size_t real_memory = 32768; // threadgroup memory that every Mac's GPU has

[[noreturn]] void fail(const std::string &says)
{
	std::cerr << "canary-device: " << says << "\n";
	exit(70);
}

// One buffer of a launch. The last byte is followed by a page that nobody may touch.
class Buffer
{
	void *mapping;
	size_t mapped;

public:
	msl::Memory memory;
	bool comes_back = false;

	explicit Buffer(size_t length)
	{
		size_t page = size_t(sysconf(_SC_PAGESIZE)), aligned = (length + 15) / 16 * 16;
		mapped = (aligned + page - 1) / page * page + page;
		mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
		if (mapping == MAP_FAILED || mprotect(static_cast<char *>(mapping) + mapped - page, page, PROT_NONE))
			fail("no memory for a buffer");
		memory = {static_cast<char *>(mapping) + mapped - page - aligned, length};
	}

	// The file's own pages, nothing copied.
	Buffer(const std::string &path, size_t length) : mapped(length)
	{
		int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
		mapping = mmap(nullptr, length, PROT_READ, MAP_SHARED, file, 0);
		if (file < 0 || mapping == MAP_FAILED)
			fail("cannot map " + path + ": " + strerror(errno));
		close(file);
		memory = {mapping, length};
	}
	Buffer(const Buffer &) = delete;
	Buffer(Buffer &&other) noexcept : mapping(other.mapping), mapped(other.mapped), memory(other.memory), comes_back(other.comes_back)
	{
		other.mapping = nullptr;
	}
	~Buffer()
	{
		if (mapping)
			munmap(mapping, mapped);
	}
};

void read_bytes(void *to, size_t length)
{
	std::cin.read(static_cast<char *>(to), std::streamsize(length));
	if (size_t(std::cin.gcount()) != length)
		fail("stdin has ended within a request");
}

size_t checked(size_t length)
{
	if (length > most_bytes)
		fail("a length is beyond all bounds");
	return length;
}

void say(const char *what, const std::string &text)
{
	std::cout << what << " " << text.size() << "\n" << text << std::flush;
}

void library(std::istream &words)
{
	std::string name;
	size_t length = 0;
	words >> name >> length;
	std::string text(checked(length), '\0');
	read_bytes(text.data(), length);
	if (software_scenario("gpu-no-compile"))
		return say("refused", "program_source:1:1: error: the scenario gpu-no-compile");
	unsigned long hash = 0xcbf29ce484222325;
	for (unsigned char c : text)
		hash = (hash ^ c) * 0x100000001b3;
	for (const msl::Kernel &kernel : msl::kernels()) {
		if (kernel.library != name)
			continue;
		if (kernel.hash != hash)
			return say("failed", name + ": the software device was built from another text: make guest");
		std::cout << "ok 0\n" << std::flush;
		return;
	}
	say("failed", name + ": the software device has no such library: make guest");
}

const msl::Kernel *find(const std::string &library, const std::string &name)
{
	for (const msl::Kernel &kernel : msl::kernels())
		if (kernel.library == library && kernel.name == name)
			return &kernel;
	return nullptr;
}

// What the hardware refuses, and what scenarios have it do.
std::string refusal(const Launch &launch, const answers &answers)
{
	if (size_t(launch.threads.x) * launch.threads.y * launch.threads.z > most_threads)
		return "more threads than a threadgroup may have";
	if (launch.memory_length % 16)
		return "threadgroup memory is not a multiple of 16 bytes";
	if (launch.memory_length > answers.max_threadgroup_memory)
		return "threadgroup memory of " + std::to_string(launch.memory_length) + " bytes is more than the device has: " +
		       std::to_string(answers.max_threadgroup_memory);
	if (launch.memory_length > real_memory && software_scenario("gpu-32k-fails"))
		return "Execution of the command buffer was aborted: the scenario gpu-32k-fails";
	return "";
}

void hang()
{
	// Not for ever: whoever started it may be gone.
	sleep(60);
	_exit(70);
}

void misbehave_before(const Launch &launch)
{
	bool large = launch.memory_length > real_memory;
	if (software_scenario("gpu-hang") || (large && software_scenario("gpu-32k-hangs")))
		hang();
	if (software_scenario("gpu-crash") || (large && software_scenario("gpu-32k-crashes")))
		raise(SIGSEGV);
	sums_miss_a_lane = software_scenario("gpu-wrong-sums");
	products_sum_in_half = software_scenario("gpu-half-sums");
}

void misbehave_after(const Launch &launch, std::vector<Buffer> &buffers)
{
	static std::map<std::string, std::string> earlier;
	for (size_t i = 0; i < buffers.size(); i++) {
		if (!buffers[i].comes_back)
			continue;
		msl::Memory memory = buffers[i].memory;
		char *bytes = static_cast<char *>(memory.start);
		if (software_scenario("gpu-zeros"))
			memset(bytes, 0, memory.length);
		if (launch.memory_length > real_memory && software_scenario("gpu-32k-wrong"))
			bytes[memory.length / 2] ^= 1;
		if (software_scenario("gpu-stale-pages") && !strcmp(launch.kernel->name, "file_pages"))
			memset(bytes + memory.length / 2, 0, memory.length - memory.length / 2);
		if (software_scenario("gpu-stale")) {
			std::string now(bytes, memory.length);
			std::string &old = earlier[std::string(launch.kernel->name) + "/" + std::to_string(i) + "/" + std::to_string(memory.length)];
			if (!old.empty())
				memcpy(bytes, old.data(), memory.length);
			old = now;
		}
	}
}

Order lane_order()
{
	const char *order = getenv("METALSHIM_GUEST_LANES");
	if (!order || !*order || !strcmp(order, "forward"))
		return Order::forward;
	if (!strcmp(order, "reverse"))
		return Order::reverse;
	if (!strcmp(order, "shuffled"))
		return Order::shuffled;
	fail("METALSHIM_GUEST_LANES is forward, reverse or shuffled");
}

void run(std::istream &words, const answers &answers)
{
	std::string library, name;
	size_t arguments = 0;
	Launch launch = {};
	words >> library >> name >> launch.groups.x >> launch.groups.y >> launch.groups.z >> launch.threads.x >> launch.threads.y >>
	    launch.threads.z >> launch.memory_length >> arguments;
	if (!words || arguments > msl::most_buffers)
		fail("a launch cannot be read");
	std::vector<Buffer> buffers;
	for (size_t i = 0; i < arguments; i++) {
		std::string line, kind, path;
		size_t length = 0;
		std::getline(std::cin, line);
		std::istringstream argument(line);
		argument >> kind >> length;
		if (kind == "file") {
			argument >> path;
			buffers.emplace_back(path, length);
		} else if (kind == "in" || kind == "out") {
			buffers.emplace_back(checked(length));
			buffers.back().comes_back = kind == "out";
			read_bytes(buffers.back().memory.start, length);
		} else {
			fail("an argument cannot be read");
		}
		launch.buffers[i] = buffers.back().memory;
	}
	launch.kernel = find(library, name);
	if (!launch.kernel)
		return say("failed", "there is no kernel " + name + " in " + library);
	std::string wrong = refusal(launch, answers);
	if (!wrong.empty())
		return say("failed", wrong);
	misbehave_before(launch);
	auto begun = std::chrono::steady_clock::now();
	wrong = ::launch(launch, lane_order());
	auto took = std::chrono::steady_clock::now() - begun;
	if (!wrong.empty())
		return say("failed", wrong);
	misbehave_after(launch, buffers);
	std::cout << "ok " << std::chrono::duration_cast<std::chrono::microseconds>(took).count() << "\n";
	for (const Buffer &buffer : buffers)
		if (buffer.comes_back)
			std::cout.write(static_cast<const char *>(buffer.memory.start), std::streamsize(buffer.memory.length));
	std::cout << std::flush;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (const msl::Kernel &kernel : msl::kernels())
			std::cout << kernel.library << " " << kernel.name << "\n";
		return 0;
	}
	if (argc != 1) {
		std::cerr << "usage: canary-device [list]\n";
		return 2;
	}
	std::ios::sync_with_stdio(false);
	answers answers = software_answers();
	std::cout << "metalshim-canary 1\n";
	if (!answers.class_name) {
		std::cout << "device=none\n" << std::flush;
		return 0;
	}
	std::cout << "device=" << answers.class_name << " apple_family=" << answers.apple_family
	          << " max_threadgroup_memory=" << answers.max_threadgroup_memory << " max_buffer_length=" << answers.max_buffer_length
	          << " recommended_working_set=" << std::min(answers.recommended_working_set, software_memory) << "\n"
	          << std::flush;
	std::string line;
	while (std::getline(std::cin, line)) {
		std::istringstream words(line);
		std::string what;
		words >> what;
		if (what == "library")
			library(words);
		else if (what == "run")
			run(words, answers);
		else
			fail("\"" + what + "\" is not a request");
	}
	return 0;
}
