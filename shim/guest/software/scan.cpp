// scan FILE.metal: prints the file as C++ for msl/language.h.
//
// Qualifiers become macros, attributes are taken out, and every kernel gets a registration with
// what its parameters are bound to. Lines stay where they are. What is not understood is an error:
// a kernel must never be left out or bound wrongly.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

struct Token {
	enum { word, other, space } kind;
	std::string text;
	int line;
};

static std::string path;

[[noreturn]] static void fail(int line, const std::string &says)
{
	std::cerr << path << ":" << line << ": " << says << "\n";
	exit(1);
}

static bool in_word(char c)
{
	return isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Where the token that starts at `start` ends. Comments count as space.
static size_t end_of(const std::string &text, size_t start, int line)
{
	auto closed = [&](const char *what, size_t from, size_t add) {
		size_t end = text.find(what, from);
		if (end == std::string::npos)
			fail(line, std::string("no ") + what + " for what begins here");
		return end + add;
	};
	size_t i = start;
	if (in_word(text[i])) {
		// A number with a point or an exponent may be several tokens: none of them matters.
		while (i < text.size() && in_word(text[i]))
			i++;
		return i;
	}
	if (text.compare(i, 2, "//") == 0)
		return closed("\n", i, 0);
	if (text.compare(i, 2, "/*") == 0)
		return closed("*/", i + 2, 2);
	if (text[i] == '"')
		fail(line, "no kernel needs text in quotes");
	if (text.compare(i, 2, "[[") == 0 || text.compare(i, 2, "]]") == 0)
		return i + 2;
	return i + 1;
}

static std::vector<Token> tokens_of(const std::string &text)
{
	std::vector<Token> tokens;
	int line = 1;
	for (size_t i = 0; i < text.size();) {
		size_t end = end_of(text, i, line);
		Token token = {Token::other, text.substr(i, end - i), line};
		bool comment = token.text.size() > 1 && token.text[0] == '/';
		if (comment || isspace(static_cast<unsigned char>(text[i])))
			token.kind = Token::space;
		else if (in_word(text[i]))
			token.kind = Token::word;
		for (char c : token.text)
			line += c == '\n';
		tokens.push_back(token);
		i = end;
	}
	return tokens;
}

static const std::map<std::string, std::string> qualifiers = {
    {"kernel", "MSL_KERNEL"},     {"device", "MSL_DEVICE"}, {"constant", "MSL_CONSTANT"},
    {"threadgroup", "MSL_THREADGROUP"}, {"thread", "MSL_THREAD"},
};

static const std::vector<std::string> positions = {
    "thread_position_in_grid",   "threadgroup_position_in_grid",  "thread_position_in_threadgroup", "threads_per_threadgroup",
    "thread_index_in_simdgroup", "simdgroup_index_in_threadgroup",
};

class Scanner
{
	std::vector<Token> tokens;
	size_t next = 0;
	std::string out, registrations;
	int parens = 0;
	std::string kernel, bindings; // the one whose parameters are being read; empty elsewhere

	// The next token that is not space, from `from` on.
	const Token &seen(size_t from) const
	{
		while (from < tokens.size() && tokens[from].kind == Token::space)
			from++;
		static const Token none = {Token::other, "", 0};
		return from < tokens.size() ? tokens[from] : none;
	}

	size_t after(size_t from, const std::string &text) const
	{
		while (tokens[from].kind == Token::space)
			from++;
		if (tokens[from].text != text)
			fail(tokens[from].line, "\"" + text + "\" is expected, and here is \"" + tokens[from].text + "\"");
		return from + 1;
	}

	void begin_kernel()
	{
		if (!kernel.empty())
			fail(tokens[next].line, "a kernel inside another");
		size_t name = after(next + 1, "void");
		kernel = seen(name).text;
		bindings.clear();
	}

	// [[word]] or [[word(number)]], only on a kernel's parameter.
	void attribute()
	{
		int line = tokens[next].line;
		std::string name = seen(next + 1).text, number;
		size_t end = after(next + 1, name);
		if (seen(end).text == "(") {
			end = after(end, "(");
			number = seen(end).text;
			end = after(after(end, number), ")");
		}
		end = after(end, "]]");
		if (kernel.empty() || parens != 1)
			fail(line, "an attribute that is not on a kernel's parameter");
		bool numbered = name == "buffer" || name == "threadgroup", known = numbered;
		for (const std::string &position : positions)
			known |= position == name;
		if (!known || numbered == number.empty())
			fail(line, "the attribute \"" + name + "\" is not known, or lacks its number");
		bindings += "{msl::Kind::" + name + ", " + (numbered ? number : "0") + "}, ";
		parameters_bound++;
		next = end;
	}

	int parameters = 0, parameters_bound = 0;

	void parenthesis(const Token &token)
	{
		parens += token.text == "(" ? 1 : -1;
		if (kernel.empty())
			return;
		if (token.text == "(" && parens == 1)
			parameters = 1, parameters_bound = 0;
		if (token.text == ")" && parens == 0) {
			if (parameters != parameters_bound)
				fail(token.line, kernel + ": not every parameter has an attribute");
			registrations += "static const msl::Registration msl_" + kernel + "(MSL_LIBRARY, MSL_HASH, \"" + kernel + "\", " + kernel +
			                 ", {" + bindings + "});\n";
			kernel.clear();
		}
	}

	// A threadgroup variable inside a body would need memory of its own.
	void no_variable()
	{
		if (tokens[next].text != "threadgroup" || parens)
			return;
		for (size_t i = next; i < tokens.size(); i++) {
			const std::string &text = tokens[i].text;
			if (text == "*" || text == "&")
				return;
			if (text == ";" || text == "=" || text == "[")
				fail(tokens[next].line, "threadgroup memory is a parameter here: [[threadgroup(n)]]");
		}
	}

public:
	explicit Scanner(const std::string &text) : tokens(tokens_of(text)) {}

	std::string scanned()
	{
		while (next < tokens.size()) {
			const Token &token = tokens[next];
			auto qualifier = qualifiers.find(token.text);
			if (token.text == "[[") {
				attribute();
				continue;
			}
			if (token.text == "template" || token.text == "define")
				fail(token.line, "templates and macros are not understood here");
			if (token.text == "kernel")
				begin_kernel();
			no_variable();
			if (token.text == "(" || token.text == ")")
				parenthesis(token);
			if (token.text == "," && parens == 1)
				parameters++;
			out += qualifier == qualifiers.end() ? token.text : qualifier->second;
			next++;
		}
		if (parens || registrations.empty())
			fail(1, "no whole kernel is in it");
		return out + "\n#ifndef MSL_ADDRESS_SPACES\n" + registrations + "#endif\n";
	}
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::cerr << "usage: scan FILE.metal\n";
		return 2;
	}
	path = argv[1];
	std::ifstream file(path, std::ios::binary);
	std::string text((std::istreambuf_iterator<char>(file)), {});
	if (text.empty())
		fail(1, "cannot be read, or is empty");
	// FNV-1a: the device is sent the text again, and must have compiled this very one.
	unsigned long hash = 0xcbf29ce484222325;
	for (unsigned char c : text)
		hash = (hash ^ c) * 0x100000001b3;
	std::string name = path.substr(path.rfind('/') + 1);
	name = name.substr(0, name.rfind('.'));
	std::cout << "#ifndef MSL_ADDRESS_SPACES\n#include \"msl/kernels.h\"\n#endif\n#define MSL_LIBRARY \"" << name << "\"\n#define MSL_HASH " << hash << "u\n";
	std::cout << "#line 1 \"" << path << "\"\n" << Scanner(text).scanned();
}
