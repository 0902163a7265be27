//! Replays the committed corpora through the targets: `cargo test --no-default-features`.

use std::fs;
use std::path::Path;

#[test]
fn the_corpus_of_retry_after_passes() {
    replay("retry_after", retry_machine_fuzz::retry_after);
}

#[test]
fn the_corpus_of_machine_passes() {
    replay("machine", retry_machine_fuzz::machine);
}

#[test]
fn the_corpus_of_options_passes() {
    replay("options", retry_machine_fuzz::options);
}

/// Runs every file of the target's corpus. A failure follows the name of its file.
#[track_caller]
fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> =
        fs::read_dir(corpus).expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "the corpus of {target} is empty");
    for file in files {
        eprintln!("{}", file.display());
        run(&fs::read(&file).expect("a readable file"));
    }
}
