# Holds the formula: its text, what it says, what it installs with the real build, and its own test;
# and holds that each rule notices a formula that is wrong.
#
# FORMULA: the formula. BUILDPATH: the unpacked source archive, with what is built in its target/.

require "minitest/autorun"
require "tmpdir"
require_relative "rules"

CHECKOUT = Pathname(__dir__).parent.parent
PATH = Pathname(ENV.fetch("FORMULA", CHECKOUT/"Formula/metalshim.rb"))
TEXT = PATH.read

# The formula as it is, installed once for all tests.
module Installed
  module_function

  def facts
    @facts ||= begin
      output, = Open3.capture2("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked",
                               chdir: CHECKOUT.to_s)
      package = JSON.parse(output)["packages"].find { |candidate| candidate["name"] == "metalshim" }
      { repository: package["repository"], license: package["license"], version: package["version"],
        released: (CHECKOUT/"CHANGELOG.md").read[/^## \[?(\d+\.\d+\.\d+)/, 1] }
    end
  end

  def root
    @root ||= Pathname(Dir.mktmpdir("metalshim-formula")).realpath
  end

  def formula
    @formula ||= install(Homebrew.load(TEXT, PATH.to_s), root, ENV.fetch("BUILDPATH"))
  end

  def install(loaded, root, buildpath)
    testpath = root/"test"
    testpath.mkpath
    formula = loaded.new(root, facts[:version], buildpath, testpath)
    Dir.chdir(buildpath) do
      formula.fetch
      formula.install
    end
    formula.link
    formula
  end

  # In a folder and a home of its own, as `brew test` does; what changed outside of it.
  def run_test(formula)
    before = state
    home = Dir.home
    ENV["HOME"] = formula.testpath.to_s
    kept = ENV.to_h
    Dir.chdir(formula.testpath) { formula.test }
    (state.to_a - before.to_a).map(&:first)
  ensure
    ENV.replace(kept) if kept
    ENV["HOME"] = home
  end

  def state
    users = [Pathname(Dir.home)/".local/state/metalshim", Pathname(Dir.home)/".config/metalshim"]
    found = [root, *users].flat_map { |folder| folder.glob("**/*", File::FNM_DOTMATCH) }
    found.reject! { |path| path.to_s.start_with?("#{root}/test") || path == root/"log.txt" }
    found.to_h { |path| [path.to_s, path.lstat.mtime] }
  end
end
Minitest.after_run { FileUtils.rm_rf(Installed.root) }

# What is written in it.
class TextTest < Minitest::Test
  def test_stanzas_and_style
    assert_empty Rules.of_text(TEXT)
  end

  def test_what_it_says
    assert_empty Rules.of_loaded(TEXT, Homebrew.load(TEXT, PATH.to_s), Installed.facts)
  end
end

# What it does.
class InstalledTest < Minitest::Test
  def formula = Installed.formula

  def capture(*command)
    output, status = Open3.capture2e(*command.map(&:to_s))
    assert status.success?, "#{command.join(" ")}: #{output}"
    output
  end

  def test_what_is_in_the_prefix
    assert_empty Rules.of_prefix(formula)
  end

  def test_the_version_is_that_of_the_formula
    assert_match(/\Ametalshim #{Regexp.escape(Installed.facts[:version])}\b/,
capture(formula.bin/"metalshim", "--version"))
  end

  def test_completions_are_scripts_of_their_shells
    capture("bash", "-n", formula.bash_completion/"metalshim")
    capture("zsh", "-n", formula.zsh_completion/"_metalshim")
    capture("fish", "-n", formula.fish_completion/"metalshim.fish")
  end

  def test_completions_know_the_commands
    script = formula.bash_completion/"metalshim"
    names = capture("bash", "-c", "source #{script}; COMP_WORDS=(metalshim ''); COMP_CWORD=1; " \
                                  "_metalshim metalshim '' metalshim; echo \"${COMPREPLY[@]}\"").split
    assert_empty %w[run enable doctor update] - names
  end

  def test_every_command_has_a_page_without_errors
    pages = formula.man1.glob("*.1")
    help = capture(formula.bin/"metalshim", "--help")
    commands = help[/^Commands:\n(.*?)\n\n/m, 1].scan(/^  (\S+)/).flatten - ["help"]
    assert_empty commands.map { |name| formula.man1/"metalshim-#{name}.1" } - pages
    capture("mandoc", "-T", "lint", "-W", "error", *pages)
  end

  def test_the_command_finds_the_library_through_opt
    library = formula.opt_libexec/formula.shared_library("libmetalshim")
    assert_path_exists library
    state = { "METALSHIM_STATE_DIR" => (formula.testpath/"state").to_s }
    output, = Open3.capture2e(state, (formula.opt_bin/"metalshim").to_s, "doctor", "--check", "shim")
    assert_match(/ok +shim/, output)
  end

  def test_it_does_not_update_itself
    output, = Open3.capture2e((formula.bin/"metalshim").to_s, "update", "--undo")
    refute_match(/undone|nothing to undo/i, output)
  end

  def test_the_service
    assert_empty Rules.of_service(formula)
  end

  def test_the_caveats_name_no_version
    refute_includes formula.caveats, "Cellar"
    assert_empty formula.caveats.lines.reject { |line| line.length <= 100 }
  end

  def test_its_own_test_passes_and_stays_in_its_folder
    assert_empty Installed.run_test(formula)
    assert_operator formula.assertions, :>=, 5
  end
end

# Each is the formula with one thing wrong; some rule notices.
class MutationTest < Minitest::Test
  def self.broken(name, from, to, fault)
    define_method("test_noticed_#{name.tr(" ", "_")}") do
      text = TEXT.sub(from, to)
      refute_equal TEXT, text, "the mutation finds nothing to change"
      assert_match fault, faults(text).join("\n")
    end
  end

  # All that can be said without a build.
  def faults(text)
    all = Rules.of_text(text)
    loaded = Homebrew.load(text, "broken")
    all += Rules.of_loaded(text, loaded, Installed.facts)
    Dir.mktmpdir do |root|
      formula = loaded.new(root, Installed.facts[:version], ".", ".")
      # Something that the service can start.
      formula.opt_bin.mkpath
      (formula.opt_bin/"metalshim").write ""
      (formula.opt_bin/"metalshim").chmod 0755
      all + Rules.of_service(formula)
    end
  rescue Homebrew::Fault, SyntaxError => e
    all.to_a + [e.message]
  end

  def test_the_formula_as_it_is_has_no_fault
    assert_empty faults(TEXT)
  end

  broken "an unknown stanza", "  head ", "  pour_bottle? :x\n  head ", /unknown stanza: pour_bottle\?/
  broken "a stanza that Ruby knows too", "  head ", "  system \"true\"\n  head ", /unknown stanza: system/
  broken "code between stanzas", "  head ", "  if true then desc(\"X\") end\n  head ", /unknown stanza: if/
  broken "an option", "  depends_on arch", "  option \"x\"\n  depends_on arch", /unknown stanza: option/
  broken "post_install", "  def caveats", "  def post_install; end\n\n  def caveats",
/unknown stanza: def post_install/
  broken "a property list", "  def caveats", "  def plist; end\n\n  def caveats", /unknown stanza: def plist/
  broken "a version beside the url", "  license", "  version \"0.1.0\"\n  license", /unknown stanza: version/
  broken "the wrong order", /^  license .*\n/, "", /missing: license/
  broken "license after head", /(^  license .*\n)(^  head .*\n)/, "\\2\\1", /out of order/
  broken "a second url", /^  sha256/, "  url \"https://example.org\"\n  sha256", /twice/
  broken "no livecheck", /^  livecheck do.*?^  end\n/m, "", /missing: livecheck/
  broken "no test", /^  test do.*?^  end\n/m, "", /missing: test/
  broken "no service", /^  service do.*?^  end\n/m, "", /missing: service/
  broken "a desc with an article", 'desc "', 'desc "A ', /desc: begins with an article/
  broken "a desc with its name", 'desc "', 'desc "metalshim ', /desc: begins with the name/
  broken "a desc with a full stop", /(desc ".*)"/, '\1."', /desc: ends with a full stop/
  broken "a long desc", /(desc ".*)"/, "\\1#{" more" * 9}\"", /desc: 80/
  broken "another home", 'homepage "https://github.com/metalshim', 'homepage "https://github.com/other',
/homepage: Cargo/
  broken "another branch", "branch: \"main\"", "branch: \"master\"", /head: Cargo/
  broken "an archive that GitHub makes", %r{releases/download/v0.1.0/.*"}, 'archive/v0.1.0.tar.gz"', /url: is not/
  broken "another version", "download/v0.1.0/metalshim-0.1.0", "download/v0.2.0/metalshim-0.2.0", /url: is not/
  broken "a short sum", /sha256 "../, 'sha256 "', /sha256: 64/
  unless Installed.facts[:released]
    broken "a sum that claims something", /sha256 "[0-9a-f]{64}/, "sha256 \"#{"0" * 63}1",
/sha256: (claims a release|.*no file)/
  end
  broken "a release without its remark", /^  # Nothing is released yet/, "  # Fine", /sha256: claims a release/ \
    unless Installed.facts[:released]
  broken "another license", '["MIT", "Apache-2.0"]', '["MIT"]', /license: Cargo/
  broken "rust at run time", '"rust" => :build', '"rust"', /depends_on/
  broken "a macOS in a string", "macos: :ventura", 'macos: ">= :ventura"', /depends_on/
  broken "self-update", '"--no-default-features", ', "", /own update must be off/
  broken "a library by cargo build", '"--lib",', '"--bins",', /without --lib/
  broken "shells by name", 'bin/"metalshim", "completions")', 'bin/"metalshim", "completions", shells: [:bash])',
         /default shells/
  broken "a path of the Cellar", "target/shim/", "/opt/homebrew/Cellar/metalshim/0.1.0/", /path of the Cellar/
  broken "a service outside of opt", "run [opt_bin", "run [bin", /is not below opt/
  broken "a service that is not there", 'opt_bin/"metalshim"', 'opt_bin/"metalshimd"', /is not there/
  broken "a service by interval", "run_type :cron", "run_type :interval", /not of the type cron/
  broken "a service at once", "run_at_load false", "run_at_load true", /runs as soon as/
  broken "a service kept alive", "nice 10", "keep_alive true", /kept alive/
  broken "a service at no hour", /cron ".*"/, 'cron "17 25 * * *"', /no such time/
  broken "a service at a step", /cron ".*"/, 'cron "17 */6 * * *"', /cron: five parts/
  broken "a service without a log", /^    log_path .*\n/, "", /StandardOutPath/
  broken "a service with an unknown word", "nice 10", "niceness 10", /unknown in this block: niceness/
end

# As above, in what is done: with the built files put where Cargo would put them.
class DoneMutationTest < Minitest::Test
  def installed(from, to)
    text = TEXT.sub(from, to)
    refute_equal TEXT, text, "the mutation finds nothing to change"
    loaded = Homebrew.load(text, "broken")
    built = Installed.formula
    loaded.define_method(:system) do |*command|
      next super(*command) if command.first != "cargo"

      cp built.bin/"metalshim", bin.tap(&:mkpath) if command[1] == "install"
      mkdir_p "target/shim"
      cp built.libexec/shared_library("libmetalshim"), "target/shim" if command[1] == "build"
    end
    Dir.mktmpdir("metalshim-broken") do |root|
      root = Pathname(root).realpath
      (root/"build").mkpath
      yield Installed.install(loaded, root, root/"build")
    end
  end

  def test_the_formula_as_it_is_passes_here_too
    installed("desc \"", "desc \"Q") { |formula| assert_empty Rules.of_prefix(formula) }
  end

  def test_noticed_no_library
    installed(/^    libexec.install .*\n/, "") do |formula|
      assert_match(/libexec:/, Rules.of_prefix(formula).join)
    end
  end

  def test_noticed_the_library_in_lib
    installed("libexec.install", "(prefix/\"lib\").install") do |formula|
      assert_match(/libexec:/, Rules.of_prefix(formula).join)
    end
  end

  def test_noticed_no_completions
    installed(/^    generate_completions.*\n/, "") do |formula|
      assert_match(/missing: .*_metalshim/, Rules.of_prefix(formula).join)
    end
  end

  def test_noticed_no_pages
    installed(/^    system bin.*man1\n/, "") do |formula|
      assert_match(/man pages: 0/, Rules.of_prefix(formula).join)
    end
  end

  def test_noticed_a_file_too_many
    installed("def install\n",
"def install\n    (prefix/\"etc\").mkpath\n    (prefix/\"etc/x\").write \"x\"\n") do |formula|
      assert_match(%r{nobody asked for it: etc/x}, Rules.of_prefix(formula).join)
    end
  end

  def test_noticed_a_command_that_fails
    assert_raises(Homebrew::Fault) { installed('"man", man1', '"man", man1, "x"') { flunk } }
  end

  def test_noticed_a_method_that_homebrew_does_not_have
    error = assert_raises(Homebrew::Fault) { installed("libexec.install", "libexecs.install") { flunk } }
    assert_match(/unknown method: libexecs/, error.message)
  end

  # The test block alone, on what is installed.
  def tested(from, to)
    text = TEXT.sub(from, to)
    refute_equal TEXT, text, "the mutation finds nothing to change"
    loaded = Homebrew.load(text, "broken")
    formula = Installed.formula
    testpath = Installed.root/"test/broken"
    FileUtils.rm_rf(testpath)
    testpath.mkpath
    Installed.run_test(loaded.new(Installed.root, formula.version, formula.buildpath, testpath))
  end

  # What the test asks of a Mac that is no guest, on the facts of one.
  BARE_METAL = <<~TOML.freeze
    [guest]
    build = "25G76"
    version = "26.6.1"
    model = "Mac13,2"
    chip = "Apple M1 Ultra"
    vm = false
    sip = "enabled"
    boot_session = "6B1D2B0E-0000-4000-8000-000000000001"
  TOML

  def test_on_bare_metal
    skip "a Mac's own build reads no facts file" if Homebrew::OS.mac?
    bare = 'shell_output("/usr/sbin/sysctl -n kern.hv_vmm_present").to_i.zero?'
    facts = Installed.root/"test/bare.toml"
    facts.write BARE_METAL
    ENV["METALSHIM_FACTS"] = facts.to_s
    assert_empty tested("OS.mac? && #{bare}", "true")
  ensure
    ENV.delete("METALSHIM_FACTS")
  end

  def test_noticed_a_guest_where_bare_metal_is_expected
    bare = 'shell_output("/usr/sbin/sysctl -n kern.hv_vmm_present").to_i.zero?'
    assert_raises(Minitest::Assertion) { tested("OS.mac? && #{bare}", "true") }
  end

  def test_noticed_a_database_that_is_not_tampered_with
    assert_raises(Minitest::Assertion) { tested(" ^ 0xff", "") }
  end

  def test_noticed_another_reason
    assert_raises(Minitest::Assertion) { tested("reason=ticket-version", "reason=ticket-link") }
  end

  def test_noticed_a_program_that_is_not_injected
    assert_raises(Minitest::Assertion, Errno::ENOENT) { tested(/ \#{list}=\S+/, "") }
  end

  def test_noticed_a_test_that_writes_elsewhere
    changed = tested("  test do\n", "  test do\n    var.mkpath\n    (var/\"x\").write \"x\"\n")
    assert_includes changed, (Installed.formula.var/"x").to_s
  end
end
