use std::path::Path;

use executor::physical::TestbedFile;

/// Reads a testbed's file.
///
/// # Panics
/// When a file that is taken names a machine that anyone could command, or an error does not name the file.
pub(crate) fn testbed_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match TestbedFile::read(text, Path::new("lab.toml")) {
        Ok(file) => {
            let is_local = |machine: &dumper::serve::tls::Machine| {
                machine.addresses.iter().all(|address| address.to_canonical().is_loopback())
            };
            assert!(file.keys.is_some() || file.machines().iter().all(is_local), "{text}");
        }
        Err(error) => assert!(error.to_string().starts_with("lab.toml: "), "{error}"),
    }
}
