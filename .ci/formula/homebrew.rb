# A stand-in for as much of Homebrew as the formula uses, so that it can be loaded, installed from
# and tested without Homebrew, which no package registry carries.
#
# Contract: what is not defined here ends in an error that names it, never in nothing.
# `Homebrew.load` evaluates a formula; the object it gives is told a scratch prefix.

require "fileutils"
require "json"
require "minitest"
require "open3"
require "pathname"
require "rbconfig"

# What Homebrew adds to paths.
class Pathname
  def install(*sources)
    mkpath
    sources.flatten.each do |source|
      raise ArgumentError, "install: there is no #{source}" unless File.exist?(source)

      FileUtils.mv(source, self)
    end
  end
end

# What Homebrew adds to the environment.
module BuildEnvironment
  def cc = "cc"

  def make_jobs = Etc.nprocessors
end
require "etc"
ENV.extend(BuildEnvironment)

# The stand-in itself.
module Homebrew
  # Something that the formula does and Homebrew would not have it do.
  class Fault < StandardError; end

  # The formula's own block of settings: `livecheck`, `service`, `bottle`.
  class Settings
    attr_reader :values

    def initialize(formula, known, &)
      @formula = formula
      @known = known
      @values = {}
      instance_eval(&)
    end

    def method_missing(name, *arguments, **named)
      # Paths, and `std_service_path_env`, are the formula's.
      return @formula.public_send(name) if arguments.empty? && named.empty? && @formula.respond_to?(name)
      raise Fault, "unknown in this block: #{name}" unless @known.include?(name)

      @values[name] = named.empty? ? arguments.first : named
    end

    def respond_to_missing?(name, _all = nil) = @known.include?(name)
  end

  SERVICE = [:run, :run_type, :cron, :interval, :run_at_load, :process_type, :nice, :environment_variables,
             :keep_alive, :log_path, :error_log_path, :working_dir].freeze

  # What a formula inherits from.
  class Formula
    STANZAS = [:desc, :homepage, :url, :sha256, :license, :head, :deny_network_access!].freeze

    class << self
      attr_reader :blocks

      def inherited(formula)
        super
        formula.instance_variable_set(:@values, {})
        formula.instance_variable_set(:@blocks, {})
      end

      STANZAS.each do |name|
        define_method(name) do |*arguments, **named|
          raise Fault, "#{name}: twice" if @values.key?(name)

          @values[name] = [*arguments, *([named] unless named.empty?)]
        end
      end

      def value(name) = @values.fetch(name) { raise Fault, "#{name}: missing" }

      def depends_on(dependency)
        (@values[:depends_on] ||= []) << dependency
      end

      [:livecheck, :bottle, :service, :test].each do |name|
        define_method(name) do |&block|
          raise Fault, "#{name}: twice" if @blocks.key?(name)

          @blocks[name] = block
        end
      end

      def method_missing(name, *)
        raise Fault, "unknown stanza: #{name}"
      end

      def respond_to_missing?(*) = false
    end

    include FileUtils
    include Minitest::Assertions

    attr_accessor :assertions
    attr_reader :version, :buildpath, :testpath, :log

    # `root` stands for /opt/homebrew.
    def initialize(root, version, buildpath, testpath)
      @root = Pathname(root)
      @version = version
      @buildpath = Pathname(buildpath)
      @testpath = Pathname(testpath)
      @log = @root/"log.txt"
      @assertions = 0
    end

    def name = "metalshim"
    def prefix = @root/"Cellar"/name/version
    def bin = prefix/"bin"
    def libexec = prefix/"libexec"
    def share = prefix/"share"
    def man1 = share/"man/man1"
    def bash_completion = prefix/"etc/bash_completion.d"
    def zsh_completion = share/"zsh/site-functions"
    def fish_completion = share/"fish/vendor_completions.d"
    def opt_prefix = @root/"opt"/name
    def opt_bin = opt_prefix/"bin"
    def opt_libexec = opt_prefix/"libexec"
    def var = @root/"var"

    def shared_library(name) = "#{name}.#{(RbConfig::CONFIG["host_os"] =~ /darwin/) ? "dylib" : "so"}"

    # As Homebrew 6 has it; Homebrew 7 adds --offline.
    def std_cargo_args(root: prefix, path: ".", features: nil)
      args = ["--jobs", ENV.make_jobs.to_s, "--locked", "--root=#{root}", "--path=#{path}"]
      args << "--features=#{Array(features).join(",")}" if features
      args
    end

    def std_cargo_fetch_args = ["--locked"]

    def std_service_path_env = "#{@root}/bin:#{@root}/sbin:/usr/bin:/bin:/usr/sbin:/sbin"

    def generate_completions_from_executable(*commands, shells: [:bash, :zsh, :fish])
      places = { bash: bash_completion/name, zsh: zsh_completion/"_#{name}", fish: fish_completion/"#{name}.fish" }
      shells.each do |shell|
        script, status = Open3.capture2({ "SHELL" => shell.to_s }, *commands.map(&:to_s), shell.to_s)
        raise Fault, "#{commands.join(" ")} #{shell} ended with #{status.exitstatus}" unless status.success?

        places.fetch(shell).dirname.mkpath
        places.fetch(shell).write(script)
      end
    end

    def system(*command)
      output, status = Open3.capture2e(*command.map(&:to_s))
      @log.open("a") { |file| file.puts("$ #{command.join(" ")}", output) }
      return if status.success?

      raise Fault, "#{command.join(" ")} ended with #{status.exitstatus}: #{output.lines.last(20).join}"
    end

    def shell_output(command, expected = 0)
      output, status = Open3.capture2(command)
      assert_equal expected, status.exitstatus, "#{command} ended with another code:\n#{output}"
      output
    end

    def link
      opt_prefix.dirname.mkpath
      opt_prefix.make_symlink(prefix)
    end

    # What the service block says, and what Homebrew makes of it.
    def service = Settings.new(self, SERVICE, &block(:service)).values

    def test = instance_eval(&block(:test))

    def block(name) = self.class.blocks.fetch(name) { raise Fault, "#{name}: missing" }

    def method_missing(name, *)
      raise Fault, "unknown method: #{name}"
    end

    def respond_to_missing?(*) = false
  end

  # Which system this is.
  module OS
    def self.mac? = RbConfig::CONFIG["host_os"].include?("darwin")

    def self.linux? = !mac?
  end

  # The class that the text of a formula defines.
  def self.load(text, path)
    box = Module.new
    box.const_set(:Formula, Formula)
    box.const_set(:OS, OS)
    box.module_eval(text, path)
    box.const_get(:Metalshim)
  end

  # Homebrew's own mapping of a service block to launchd's keys.
  def self.property_list(service)
    hour = { Minute: 0, Hour: 1, Day: 2, Month: 3, Weekday: 4 }
    parts = service[:cron].to_s.split
    usable = parts.length == 5 && parts.all? { |part| part.match?(/\A(\*|\d+)\z/) }
    raise Fault, "cron: five parts, each a number or *" unless usable

    times = hour.transform_values { |index| parts[index] }.reject { |_, part| part == "*" }
    list = {
      Label:                  "homebrew.mxcl.metalshim",
      ProgramArguments:       service.fetch(:run).map(&:to_s),
      RunAtLoad:              service[:run_at_load] != false,
      StartCalendarInterval:  times.transform_values { |part| Integer(part, 10) },
      ProcessType:            service[:process_type]&.to_s&.capitalize,
      Nice:                   service[:nice],
      EnvironmentVariables:   service[:environment_variables]&.transform_values(&:to_s),
      KeepAlive:              service[:keep_alive],
      WorkingDirectory:       service[:working_dir]&.to_s,
      StandardOutPath:        service[:log_path]&.to_s,
      StandardErrorPath:      service[:error_log_path]&.to_s,
      LimitLoadToSessionType: %w[Aqua Background LoginWindow StandardIO System],
    }
    list.compact
  end
end
