//! Things that were made to be thrown away.

/// Whether containers are removed that by their names were made for a test.
pub(crate) fn is_throwaway(program: &str, words: &[&str]) -> bool {
    if !matches!(program, "docker" | "podman" | "nerdctl") {
        return false;
    }
    let operands: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let (["rm", names @ ..] | ["container", "rm", names @ ..]) = operands.as_slice() else { return false };
    let made = |name: &&str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && name.split(['-', '_', '.']).any(|part| {
                part.starts_with("test")
                    || matches!(part, "tmp" | "temp" | "demo" | "ci" | "scratch" | "sandbox" | "e2e")
            })
            && !name.contains("prod")
    };
    !names.is_empty()
        && names.iter().all(made)
        && !words.iter().any(|word| word.starts_with('-') && !matches!(*word, "-f" | "--force"))
}
