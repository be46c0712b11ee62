# What can be done here. `make` alone lists it.
# Everything is built below $(TARGET); nothing outside the checkout is touched, but for
# system packages that .ci/need installs (as root on Debian) or asks for.

TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
MAC := $(filter Darwin,$(shell uname -s))
# On a Mac the command knows the simulated guest only with this feature.
SIMULATE := $(if $(MAC),--features metalshim/simulate)
NEXTEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo yes)
TEST := $(if $(NEXTEST),nextest run --no-fail-fast,test --no-fail-fast)

.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make demo    the whole path on the simulated guest: stock, verified, not listed
.PHONY: demo
demo: release shim guest
	@$(TARGET)/release/metalshim demo

## make test    every test
.PHONY: test
test: guest shim program-fixtures update-fixtures shells
	cargo $(TEST) --workspace --exclude metalshim-shim $(SIMULATE)
	cargo test --quiet --doc --workspace --exclude metalshim-shim $(SIMULATE)

# Real programs for the preflight's tests; those that cannot be had are skipped there.
.PHONY: program-fixtures
program-fixtures:
	@.ci/fetch-program-fixtures

# The shells that the wrappers are tested with.
.PHONY: shells
shells:
	@.ci/need zsh fish || echo "no zsh or no fish: their part of the tests of wrappers skips" >&2

# PyPI tuf and faketime for the tests of updates; those that cannot be had are skipped there.
.PHONY: update-fixtures
update-fixtures:
	@.ci/tuf-python >/dev/null || echo "no PyPI tuf: the tests of updates skip" >&2
	@.ci/need faketime || echo "no faketime: tests of updates at other clocks skip" >&2
	@$(if $(MAC),true,.ci/need strace) || echo "no strace: the test that kills a self-update at each step skips" >&2

## make release the command, in target/release/metalshim
.PHONY: release
release: need-c
	cargo build --quiet --release --locked -p metalshim $(SIMULATE)

## make shim    the shim for this system, in target/shim
.PHONY: shim
shim:
	@cargo build --quiet --locked --profile shim -p metalshim-shim

## make shim-macos    libmetalshim.dylib for arm64 macOS 13 and later, in target/macos (on Linux too)
.PHONY: shim-macos
shim-macos:
	@shim/macos/build

## make reproducible  builds it in two folders and compares the bytes
.PHONY: reproducible
reproducible: shim-macos
	@shim/macos/reproducible

## make check-macos   type-checks and lints the command for arm64 macOS (on Linux too)
.PHONY: check-macos
check-macos:
	@shim/macos/check

## make shim-run      runs it, both processors and both kinds of fixups, against this system's own shim
.PHONY: shim-run
shim-run:
	@cargo test --quiet --locked -p metalshim-loader --test shim_run -- --ignored --nocapture

## make rehearsal  new keys, a repository, rotations and revocations, with clients that follow
.PHONY: rehearsal
rehearsal: need-c
	@cargo build --quiet --locked -p compatdb -p metalshim $(SIMULATE)
	@METALSHIM_FEATURES="$(SIMULATE)" compatdb/tests/rehearsal $(TARGET)/debug/compatdb $(TARGET)/debug/metalshim

## make site    the compatibility page, in target/site, and its tests in a real browser
.PHONY: site
site: need-c
	@.ci/need chromium
	cargo run --quiet --locked -p compatdb -- site $(TARGET)/site
	METALSHIM_NEED_BROWSER=1 cargo $(TEST) --locked -p compatdb --test site

## make conformance   the public conformance suite for TUF clients (fetches it; SUITE=DIR has it)
.PHONY: conformance
conformance: need-c
	@cargo build --quiet --locked -p metalshim $(SIMULATE)
	@.ci/conformance $(TARGET)/debug/metalshim

## make circle  a pair that nobody knows: tried, probed, measured, reported, taken in, allowed
.PHONY: circle
circle: need-c shim guest need-patch
	@cargo build --quiet --locked -p compatdb -p metalshim $(SIMULATE)
	@compatdb/tests/circle $(TARGET)/debug/compatdb $(TARGET)/debug/metalshim $(TARGET)/guest

## make guest   the simulated guest and its GPU in software, in target/guest
.PHONY: guest
guest: need-objc need-clang
	@$(MAKE) --silent -C shim/guest OUT=$(TARGET)/guest all software

## make bench   what it all costs, against a baseline in the same run; at the end each limit, OK or OVER
.PHONY: bench
bench: release shim guest need-foundation
	@$(MAKE) --no-print-directory -C shim/guest OUT=$(TARGET)/guest bench
	@TARGET=$(TARGET) .ci/bench $(SIMULATE)

## make fuzz SECONDS=60   each fuzz target for that long (needs a nightly Rust)
SECONDS ?= 60
.PHONY: fuzz
fuzz: need-c
	@.ci/fuzz $(SECONDS)

## make scale MACHINES=200   that many real clients against one nginx on 127.0.0.1
MACHINES ?= 200
.PHONY: scale
scale: release
	@cargo build --quiet --release --locked -p compatdb
	@.ci/scale $(TARGET)/release/metalshim $(TARGET)/release/compatdb $(MACHINES)

## make tsan    64 threads in front of the shim under ThreadSanitizer (needs a nightly Rust)
.PHONY: tsan
tsan: need-objc
	@shim/guest/thread-sanitizer

## make real-clients   llama.cpp's own Metal code, stock and with the shim (Linux; fetches its source)
.PHONY: real-clients
real-clients: need-real release shim guest
	cargo run --quiet --locked -p metalshim-real-clients -- check

## make client-watch   the same with the newest published version: what changed for the client rows
.PHONY: client-watch
client-watch: need-real release shim guest
	cargo run --quiet --locked -p metalshim-real-clients -- watch

## make dist    what a release has, in target/dist: source archive with its crates, this machine's command,
##              the macOS library, sums, what is in it. SEED=DIR: the signed repository to embed
DIST := $(TARGET)/dist
SEED ?= $(wildcard target/seed)
.PHONY: dist dist-check
dist: need-c
	@SEED="$(SEED)" TARGETS="$(TARGETS)" .ci/dist/all $(DIST)

## make dist-check    unpacks that, runs it, packs it again
dist-check:
	@.ci/dist/check $(DIST)

## make dist-reproducible   builds it a second time from another folder and compares the bytes
.PHONY: dist-reproducible
dist-reproducible:
	@.ci/dist/reproducible $(DIST)

## make formula-check the Homebrew formula: style, rules, install from the source archive, its own test
.PHONY: formula-check
formula-check:
	@.ci/formula/check $(DIST)

## make formula-brew  the same with the real Homebrew, where there is one (after make dist)
.PHONY: formula-brew
formula-brew:
	@.ci/formula/brew $(DIST)

## make mac     what only a Mac shows, with what make dist made; elsewhere what can be done, skips counted
.PHONY: mac
mac:
	@.ci/mac $(DIST)

## make lint-workflows   .github/workflows by actionlint, zizmor and our own rules
.PHONY: lint-workflows
lint-workflows:
	@.ci/workflows/lint

## make release-rehearsal   the steps of a release with stand-ins for GitHub (after make dist)
.PHONY: release-rehearsal
release-rehearsal:
	@.ci/release/rehearsal $(DIST)

# What the workflows do beside it: docs/release.md.
.PHONY: ci release-check release-collect release-draft release-formula dist-seed signing-keychain
.PHONY: database database-comment timestamp bottles bottles-publish
ci:
	@.ci/run
release-check:
	@.ci/release/check "$(TAG)"
release-collect:
	@.ci/release/collect "$(TAG)"
release-draft:
	@.ci/release/draft "$(TAG)"
release-formula:
	@.ci/release/formula "$(TAG)"
dist-seed:
	@.ci/release/seed
signing-keychain:
	@.ci/release/keychain
## make database  the records: lint, build twice, what changes for users since BASE (default HEAD)
database: need-c
	@.ci/release/database
database-comment:
	@.ci/release/database comment
timestamp: need-c
	@.ci/release/timestamp
bottles:
	@.ci/formula/bottles
bottles-publish:
	@.ci/formula/bottles publish

## make lint    formatter, clippy with warnings denied, shell scripts, the records
.PHONY: lint
lint: need-c
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets $(SIMULATE) -- -D warnings
	cargo run --quiet --locked -p compatdb -- lint compatdb/records
	@.ci/need shellcheck && .ci/shell-scripts | xargs shellcheck -x -P SCRIPTDIR

## make doc     the documentation of the code, warnings denied
.PHONY: doc
doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --exclude metalshim-shim

## make book    the documentation as a site, in target/book; its links are followed, its examples run
.PHONY: book
book: need-c shim guest
	@.ci/need python3
	@.ci/doc-links
	cargo build --quiet --locked -p compatdb -p metalshim $(SIMULATE)
	@.ci/doc-examples $(TARGET)/debug $(TARGET)/guest
	@book=$$(.ci/mdbook) && "$$book" build docs --dest-dir $(TARGET)/book

## make install PREFIX=DIR   command, library, manual pages and completions below DIR (make uninstall)
PREFIX ?= /usr/local
INTO := $(DESTDIR)$(PREFIX)
SHARE := $(INTO)/share
BASH := $(SHARE)/bash-completion/completions/metalshim
ZSH := $(SHARE)/zsh/site-functions/_metalshim
FISH := $(SHARE)/fish/vendor_completions.d/metalshim.fish
LIBRARY := libmetalshim.$(if $(MAC),dylib,so)
.PHONY: install
install: release shim
	install -d $(INTO)/bin $(INTO)/libexec $(SHARE)/man/man1 $(dir $(BASH) $(ZSH) $(FISH))
	install -m 755 $(TARGET)/release/metalshim $(INTO)/bin/metalshim
	install -m 644 $(TARGET)/shim/$(LIBRARY) $(INTO)/libexec/$(LIBRARY)
	$(INTO)/bin/metalshim man $(SHARE)/man/man1
	$(INTO)/bin/metalshim completions bash > $(BASH)
	$(INTO)/bin/metalshim completions zsh > $(ZSH)
	$(INTO)/bin/metalshim completions fish > $(FISH)

.PHONY: uninstall
uninstall:
	rm -f $(INTO)/bin/metalshim $(INTO)/libexec/$(LIBRARY) $(BASH) $(ZSH) $(FISH)
	rm -f $(SHARE)/man/man1/metalshim.1 $(SHARE)/man/man1/metalshim-*.1

.PHONY: need-c need-objc need-patch need-real need-foundation
need-c:
	@.ci/need cc
need-objc:
	@.ci/need objc
need-patch:
	@.ci/need patch
need-clang:
	@.ci/need $(if $(MAC),clang,clang-19)
need-real:
	@.ci/need cc objc clang-19 gnustep blocks
# Only for comparison: the benchmarks say so where it is missing.
need-foundation:
	@$(if $(MAC),true,.ci/need gnustep || true)
