# What holds of the formula before anything of it is run, and of what it installed.
#
# Contract: each function returns all faults, a sentence each; none means that it is right.

require "ripper"
require_relative "homebrew"

# The rules.
module Rules
  # The order that `brew style` enforces. Whatever is not in it is unknown.
  ORDER = ["desc", "homepage", "url", "sha256", "license", "head", "livecheck", "bottle", "depends_on",
           "deny_network_access!", "def fetch", "def install", "def caveats", "service", "test"].freeze
  NEEDED = (ORDER - ["bottle"]).freeze
  NOT_RELEASED = "  # Nothing is released yet".freeze
  NO_SUM = "0" * 64

  module_function

  # The stanzas in the order of the text.
  def stanzas(text)
    program = Ripper.sexp(text)
    return [] unless program

    body = program[1].find { |node| node[0] == :class }
    body[3][1].reject { |node| node[0] == :void_stmt }.map { |node| stanza(node) }
  end

  def stanza(node)
    case node[0]
    when :def then "def #{node[1][1]}"
    when :command, :fcall then node[1][1]
    when :method_add_block, :method_add_arg then stanza(node[1])
    else node[0].to_s
    end
  end

  def of_text(text)
    found = stanzas(text)
    faults = (found - ORDER).map { |name| "unknown stanza: #{name}" }
    faults += (NEEDED - found).map { |name| "missing: #{name}" }
    places = found.filter_map { |name| ORDER.index(name) }
    faults << "out of order: #{found.join(", ")}" if places != places.sort
    twice = found.tally.select { |name, count| count > 1 && name != "depends_on" }
    faults += twice.keys.map { |name| "twice: #{name}" }
    faults << "a path of the Cellar: it is gone after an upgrade" if text.include?("Cellar")
    if text.match?(/system "cargo", "build"(?!.*"--lib")/)
      faults << "brew style: cargo build without --lib; use cargo install"
    end
    if text.match?(/generate_completions_from_executable\(.*shells:/)
      faults << "brew style: the default shells are not to be named"
    end
    faults << "the program's own update must be off" unless text.include?('"--no-default-features"')
    faults << "an escape code" if text.include?("\\e[")
    faults
  end

  # `facts`: repository, license and version of Cargo.toml, and the released version of CHANGELOG.md.
  def of_loaded(text, formula, facts)
    of_desc(formula.value(:desc).first) + of_source(text, formula, facts) + of_dependencies(formula)
  end

  def of_desc(desc)
    faults = []
    faults << "desc: 80 characters or more with the name" if "metalshim: #{desc}".length >= 80
    faults << "desc: begins with a capital letter" unless desc.match?(/\A[A-Z]/)
    faults << "desc: begins with an article" if desc.match?(/\A(the|an?)\s/i)
    faults << "desc: begins with the name" if desc.match?(/\Ametalshim\b/i)
    faults << "desc: ends with a full stop" if desc.end_with?(".")
    faults << "desc: command-line has a hyphen" if desc.match?(/command ?line/i)
    faults
  end

  def of_source(text, formula, facts)
    home = facts[:repository]
    faults = []
    faults << "homepage: Cargo.toml has #{home}" if formula.value(:homepage) != [home]
    unless formula.value(:head) == ["#{home}.git", { branch: "main" }]
      faults << "head: Cargo.toml has #{home}, and the branch is main"
    end
    if formula.value(:license) != [{ any_of: facts[:license].split(" OR ") }]
      faults << "license: Cargo.toml has #{facts[:license]}"
    end
    version = facts[:released] || facts[:version]
    url = "#{home}/releases/download/v#{version}/metalshim-#{version}-src.tar.gz"
    faults << "url: is not #{url}" if formula.value(:url) != [url]
    faults + of_sum(text, formula.value(:sha256).first, facts[:released])
  end

  def of_sum(text, sum, released)
    return ["sha256: 64 digits of 0-9 and a-f"] unless sum.to_s.match?(/\A[0-9a-f]{64}\z/)

    remark = text.include?(NOT_RELEASED)
    if released
      return ["sha256: #{released} is released, and this is no file's"] if sum == NO_SUM || remark
    elsif sum != NO_SUM || !remark
      return ["sha256: claims a release, and CHANGELOG.md has none"]
    end
    []
  end

  def of_dependencies(formula)
    expected = [{ "rust" => :build }, { arch: :arm64 }, { macos: :ventura }]
    found = formula.value(:depends_on)
    (found == expected) ? [] : ["depends_on: #{found.inspect}, not #{expected.inspect}"]
  end

  # The property list that Homebrew would make of the service, read by something that is not ours.
  def of_service(formula)
    service = formula.service
    list = read(Homebrew.property_list(service))
    faults = []
    program = list.fetch("ProgramArguments").first
    faults << "service: #{program} is not below opt" unless program.start_with?(formula.opt_prefix.to_s)
    faults << "service: #{program} is not there" unless File.executable?(program)
    faults << "service: not of the type cron" if service[:run_type] != :cron
    faults << "service: runs as soon as it is started, and at each login" if list["RunAtLoad"] != false
    faults << "service: is kept alive" if list.key?("KeepAlive")
    faults << "service: no time" if list.fetch("StartCalendarInterval").empty?
    bad = list.fetch("StartCalendarInterval").reject { |name, at| (0...((name == "Minute") ? 60 : 24)).cover?(at) }
    faults << "service: no such time: #{bad}" unless bad.empty?
    faults << "service: ProcessType is not Background" if list["ProcessType"] != "Background"
    faults << "service: no PATH" unless list.dig("EnvironmentVariables", "PATH")
    ["StandardOutPath", "StandardErrorPath"].each do |key|
      faults << "service: #{key} is not in var/log" unless list[key].to_s.start_with?("#{formula.var}/log/")
    end
    faults
  rescue Homebrew::Fault => e
    ["service: #{e.message}"]
  end

  # Python writes and reads property lists.
  def read(list)
    program = "import json, plistlib, sys; print(json.dumps(plistlib.loads(plistlib.dumps(json.load(sys.stdin)))))"
    output, status = Open3.capture2("python3", "-c", program, stdin_data: JSON.generate(list))
    raise Homebrew::Fault, "not a property list" unless status.success?

    JSON.parse(output)
  end

  # What `install` left in the prefix.
  def of_prefix(formula)
    library = formula.shared_library("libmetalshim")
    files = Dir.glob("**/*", base: formula.prefix).select { |path| (formula.prefix/path).file? }
    commands, others = files.partition { |path| path.start_with?("bin/") }
    faults = []
    faults << "bin: #{commands.join(", ")}" if commands != ["bin/metalshim"]
    libraries, others = others.partition { |path| path.start_with?("lib") }
    faults << "libexec: #{libraries.join(", ")}" if libraries != ["libexec/#{library}"]
    completions = [formula.bash_completion/"metalshim", formula.zsh_completion/"_metalshim",
                   formula.fish_completion/"metalshim.fish"]
    completions.map! { |path| path.relative_path_from(formula.prefix).to_s }
    faults += (completions - others).map { |path| "missing: #{path}" }
    pages, others = (others - completions).partition { |path| path.start_with?("share/man/man1/") }
    faults << "man pages: #{pages.length}" unless pages.include?("share/man/man1/metalshim-run.1")
    # Cargo's own notes, which Homebrew removes.
    others -= [".crates.toml", ".crates2.json"]
    faults + others.map { |path| "nobody asked for it: #{path}" }
  end
end
