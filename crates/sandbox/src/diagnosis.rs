//! Why this machine does not let a person make namespaces, and what would change that.

use std::fs;
use std::path::Path;

/// What the machine says about itself, read once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// `user.max_user_namespaces`.
    pub most_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, a switch of Debian's.
    pub unprivileged_clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, a switch of Ubuntu's.
    pub apparmor_restricts: Option<u64>,
    pub in_container: bool,
}

impl Facts {
    pub fn read() -> Self {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse().ok();
        Self {
            most_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            in_container: ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists()),
        }
    }

    /// One hint for each cause that was found, with the command that removes it; a general one if none was.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        if self.most_user_namespaces == Some(0) {
            hints.push(
                "user namespaces are switched off; run: sudo sysctl -w user.max_user_namespaces=15000"
                    .to_owned(),
            );
        }
        if self.unprivileged_clone == Some(0) {
            hints.push(
                "only root may make user namespaces; run: sudo sysctl -w kernel.unprivileged_userns_clone=1"
                    .to_owned(),
            );
        }
        if self.apparmor_restricts.is_some_and(|value| value != 0) {
            hints.push(apparmor_hint());
        }
        if self.in_container {
            hints.push(
                "this is a container: its engine must allow clone3, unshare and mount (with Docker: --security-opt seccomp=FILE with a profile that does, and --security-opt apparmor=unconfined)"
                    .to_owned(),
            );
        }
        if hints.is_empty() {
            hints.push(
                "something refuses namespaces to this process: a system call filter around it, or a security module"
                    .to_owned(),
            );
        }
        hints
    }
}

fn apparmor_hint() -> String {
    let program = std::env::current_exe()
        .map_or_else(|_| "/usr/local/bin/cofferdam".to_owned(), |path| path.display().to_string());
    format!(
        "AppArmor keeps user namespaces from programs without a profile; run: printf 'abi <abi/4.0>,\\nprofile cofferdam {program} flags=(unconfined) {{ userns, }}\\n' | sudo tee /etc/apparmor.d/cofferdam && sudo apparmor_parser -r /etc/apparmor.d/cofferdam"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_i04_each_cause_is_named_with_the_command_that_removes_it() {
        let facts = Facts::default();
        for (facts, command) in [
            (Facts { most_user_namespaces: Some(0), ..facts.clone() }, "sysctl -w user.max_user_namespaces"),
            (
                Facts { unprivileged_clone: Some(0), ..facts.clone() },
                "sysctl -w kernel.unprivileged_userns_clone=1",
            ),
            (Facts { apparmor_restricts: Some(1), ..facts.clone() }, "apparmor_parser -r"),
            (Facts { in_container: true, ..facts.clone() }, "--security-opt"),
        ] {
            let hints = facts.hints();
            assert!(hints.len() == 1 && hints[0].contains(command), "{hints:?}");
        }
        let harmless = Facts {
            most_user_namespaces: Some(9),
            unprivileged_clone: Some(1),
            apparmor_restricts: Some(0),
            ..facts
        };
        assert!(harmless.hints()[0].starts_with("something refuses"));
    }
}
