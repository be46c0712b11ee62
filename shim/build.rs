//! What the linker has to be told about the library on a Mac, wherever it is built.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("macos") {
        // Else the file carries the path it was built at.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libmetalshim.dylib");
        // Homebrew writes a longer name into the file after it is linked.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-headerpad_max_install_names");
        // Zig's linker would leave 4 KB on its own account; this much holds two whole paths.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-headerpad,0x800");
    }
}
