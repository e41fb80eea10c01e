//! The user, from the image's own `/etc/passwd` and `/etc/group`. Other sources of names (NSS) need a C library of the
//! image's own and are not asked.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cofferdam_linux_sys::bare;

use crate::failure::Failure;
use crate::text;

const LONGEST: usize = 1 << 20;

/// Somebody who is not root.
#[derive(Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub user: u32,
    pub group: u32,
    /// All groups, the account's own among them.
    pub groups: Vec<u32>,
    pub home: String,
    pub shell: String,
}

impl Account {
    /// By name, or by number; in both cases the image must know the account.
    pub fn find(wanted: &str) -> Result<Self, Failure> {
        let users = contents(c"/etc/passwd").ok_or_else(|| unknown(wanted, "/etc/passwd cannot be read"))?;
        let mut account =
            find_user(&users, wanted).ok_or_else(|| unknown(wanted, "/etc/passwd has no such user"))?;
        if account.user == 0 {
            return Err(Failure::new(
                &["the user ", wanted, " is root"].concat(),
                "name the user that the service runs as",
            ));
        }
        // An image without the file has no further groups.
        let groups = contents(c"/etc/group").unwrap_or_default();
        account.groups = find_groups(&groups, &account);
        Ok(account)
    }
}

fn contents(path: &core::ffi::CStr) -> Option<Vec<u8>> {
    bare::open_following(path).ok().and_then(|file| bare::read_whole(&file, LONGEST).ok())
}

fn unknown(wanted: &str, why: &str) -> Failure {
    Failure::new(
        &["privileges cannot be dropped to the user ", wanted, ": ", why].concat(),
        &["add the user to the image (adduser ", wanted, "), or correct user = in /etc/cofferdam/shim"]
            .concat(),
    )
}

fn find_user(users: &[u8], wanted: &str) -> Option<Account> {
    let number = text::number(wanted);
    text::lines(users).find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let user = text::number(fields.nth(1)?)?;
        let group = text::number(fields.next()?)?;
        let home = fields.nth(1)?;
        let shell = fields.next()?;
        (name == wanted || number == Some(user)).then(|| Account {
            name: name.to_string(),
            user,
            group,
            groups: Vec::new(),
            home: or_else(home, "/"),
            shell: or_else(shell, "/bin/sh"),
        })
    })
}

fn or_else(value: &str, usual: &str) -> String {
    if value.is_empty() { usual } else { value }.to_string()
}

fn find_groups(groups: &[u8], account: &Account) -> Vec<u32> {
    let mut found = Vec::from([account.group]);
    for line in text::lines(groups) {
        let mut fields = line.split(':');
        let Some(number) = fields.nth(2).and_then(text::number) else { continue };
        let member = fields.next().is_some_and(|members| members.split(',').any(|name| name == account.name));
        if member && !found.contains(&number) {
            found.push(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &[u8] = b"root:x:0:0:root:/root:/bin/bash\nbroken\n\xff:x:1:1::/:/\nhermes:x:1000:1001:H:/home/h:/bin/ash\nbare:x:5:6:::\n";

    #[test]
    fn a_user_is_found_by_the_whole_name_or_by_number() {
        let account = find_user(USERS, "hermes").unwrap();
        assert_eq!((account.user, account.group, account.home.as_str()), (1000, 1001, "/home/h"));
        assert_eq!(find_user(USERS, "1000"), Some(account));
        let bare = find_user(USERS, "bare").unwrap();
        assert_eq!((bare.home.as_str(), bare.shell.as_str()), ("/", "/bin/sh"));
        for missing in ["herme", "hermes2", "", "1001", "broken", "x"] {
            assert_eq!(find_user(USERS, missing), None, "{missing}");
        }
    }

    #[test]
    fn groups_are_those_that_name_the_user() {
        let account = find_user(USERS, "hermes").unwrap();
        let groups = b"hermes:x:1001:\naudio:x:29:root,hermes\nvideo:x:44:hermes2\nx\nown:x:1001:hermes\ndocker:x:99:hermes\n";
        assert_eq!(find_groups(groups, &account), [1001, 29, 99]);
        assert_eq!(find_groups(b"", &account), [1001]);
    }
}
