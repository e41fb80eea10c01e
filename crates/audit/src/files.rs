//! The files of the record: `00000001.jsonl`, `00000002.jsonl`, … in one directory.

use cofferdam_linux_sys::private::PrivateDir;

use crate::error::AuditError;

pub(crate) fn name(number: u64) -> String {
    format!("{number:08}.jsonl")
}

pub(crate) fn number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".jsonl")?;
    let all = digits.len() >= 8 && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Only the name that we would give: `000000001.jsonl` would be a second file 1.
    all.then(|| digits.parse().ok()).flatten().filter(|&number| self::name(number) == name)
}

/// The numbers of all files, ascending.
pub(crate) fn numbers(directory: &PrivateDir) -> Result<Vec<u64>, AuditError> {
    let mut numbers: Vec<u64> = directory.names()?.iter().filter_map(|name| number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_count() {
        assert_eq!(number(&name(1)), Some(1));
        assert_eq!(number(&name(123_456_789_012)), Some(123_456_789_012));
        for other in
            ["head", "1.jsonl", "00000001.json", "000000001.jsonl", "0000000x.jsonl", "+0000001.jsonl"]
        {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
