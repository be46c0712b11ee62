class Metalshim < Formula
  desc "Lift two Metal answers for one program in a macOS virtual machine"
  homepage "https://github.com/metalshim/metalshim"
  # Nothing is released yet: there is no such file, and the sum is no file's. Until then only
  # --HEAD builds. `make formula-bump` writes both at each release, and takes this remark out.
  url "https://github.com/metalshim/metalshim/releases/download/v0.1.0/metalshim-0.1.0-src.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/metalshim/metalshim.git", branch: "main"

  livecheck do
    url :stable
    regex(/^v?(\d+(?:\.\d+)+)$/i)
  end

  depends_on "rust" => :build
  depends_on arch: :arm64
  depends_on macos: :ventura

  deny_network_access! [:postinstall, :test]

  # Homebrew 7 builds without a network after this; older ones do not call it. A release's
  # archive has all crates in it, a checkout of main has none.
  def fetch
    system "cargo", "fetch", *std_cargo_fetch_args
  end

  def install
    # Without self-update: Homebrew updates what it installed.
    system "cargo", "install", "--no-default-features", *std_cargo_args(path: "cli")
    system "cargo", "build", "--locked", "--profile", "shim", "--lib",
           "--package", "metalshim-shim"
    # Private: the command finds it beside its own real path, and no program links it.
    libexec.install "target/shim/#{shared_library("libmetalshim")}"

    generate_completions_from_executable(bin/"metalshim", "completions")
    system bin/"metalshim", "man", man1
  end

  def caveats
    <<~EOS
      The overrides are used in macOS virtual machines only, and only for the pairs of host
      and guest builds that the database lists. Whether that is so here, and what to do if not:
        metalshim doctor
      Hardened programs (LM Studio, Ollama.app) cannot load the library and stay as they are.

      The service keeps the database up to date; it is off until you start it. The database
      is kept in
        #{var}/metalshim
      or, for a user who cannot write there, in ~/Library/Application Support/metalshim.
      Uninstalling leaves both; `metalshim disable --purge` and
        rm -r #{var}/metalshim
      remove them.
    EOS
  end

  service do
    run [opt_bin/"metalshim", "update", "--automatic"]
    run_type :cron
    cron "17 4 * * *"
    run_at_load false
    process_type :background
    nice 10
    environment_variables PATH: std_service_path_env
    log_path var/"log/metalshim.log"
    error_log_path var/"log/metalshim.log"
  end

  test do
    ENV["METALSHIM_STATE_DIR"] = (testpath/"state").to_s

    # 0: the overrides are used here. 1: they are not, and why. Anything else is a fault.
    output = shell_output("#{bin}/metalshim doctor --json || test $? -eq 1")
    report = JSON.parse(output)
    assert_equal "metalshim.doctor/1", report["schema"]
    if OS.mac? && shell_output("/usr/sbin/sysctl -n kern.hv_vmm_present").to_i.zero?
      assert_equal "not-a-guest", report.dig("verdict", "reason")
      assert_match "not-a-guest", shell_output("#{bin}/metalshim run -- #{bin}/metalshim 2>&1", 125)
    end

    # The database of this build is one; with a byte of it changed it is none.
    system bin/"metalshim", "db", "export", "compat.sqlite"
    system bin/"metalshim", "db", "verify", "compat.sqlite"
    bytes = (testpath/"compat.sqlite").binread
    bytes.setbyte(20, bytes.getbyte(20) ^ 0xff)
    (testpath/"tampered.sqlite").binwrite bytes
    assert_match "cannot be used", shell_output("#{bin}/metalshim db verify tampered.sqlite", 1)

    # A program that the library is loaded into with a ticket that is none runs all the same,
    # finds nothing of it in its environment, and the reason is noted beside the ticket.
    list = OS.mac? ? "DYLD_INSERT_LIBRARIES" : "LD_PRELOAD"
    (testpath/"program.c").write <<~C
      #include <stdio.h>
      #include <stdlib.h>

      int main(void) {
        int left = getenv("METALSHIM_TICKET") || getenv("#{list}");
        puts(left ? "something left" : "clean");
        return left;
      }
    C
    system ENV.cc, "program.c", "-o", "program"
    (testpath/"ticket").write "not a ticket\n"
    (testpath/"ticket").chmod 0600
    library = libexec/shared_library("libmetalshim")
    output = shell_output("METALSHIM_TICKET=#{testpath}/ticket #{list}=#{library} ./program")
    assert_equal "clean\n", output
    assert_match "state=refused reason=ticket-version", (testpath/"ticket.status").read
  end
end
