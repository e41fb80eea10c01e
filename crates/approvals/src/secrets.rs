//! Files that hold keys and passwords. Lists of names, compared as text.

use std::borrow::Cow;

use crate::names::Names;

/// Files that hold keys and passwords.
pub(crate) fn is_secret(path: &str) -> bool {
    // One look at every letter answers for most paths what the questions below would ask one by one.
    let (mut start, mut hidden, mut pattern, mut before) = (0, false, false, 0);
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'/' => start = at + 1,
            b'.' => hidden |= before == b'/',
            b'*' | b'?' | b'[' => pattern = true,
            _ => {}
        }
        before = byte;
    }
    let name = &path[start..];
    let capital = name.bytes().any(|byte| byte.is_ascii_uppercase());
    let lower: Cow<'_, str> = if capital { name.to_ascii_lowercase().into() } else { name.into() };
    let ending = lower.bytes().rposition(|byte| byte == b'.').map_or("", |dot| &lower[dot..]);
    if matches!(ending, ".pub" | ".example" | ".sample" | ".template" | ".dist") {
        return false;
    }
    if name.starts_with("id_")
        && ["rsa", "dsa", "ecdsa", "ed25519", "*"].iter().any(|kind| name[3..].starts_with(kind))
    {
        return true;
    }
    if matches!(
        name,
        ".ssh"
            | ".gnupg"
            | ".aws"
            | ".password-store"
            | ".kube"
            | "chat.db"
            | "TCC.db"
            | "Keychains"
            | ".mozilla"
            | ".thunderbird"
            | "keyrings"
            | "kcore"
            | "kmem"
    ) || path.starts_with("/dev/input/")
        || hidden && (path.ends_with("/.config/google-chrome") || path.ends_with("/.config/chromium"))
        || path == "/dev/mem"
    {
        return true;
    }
    if hidden && path.contains("/.ssh/") {
        return !matches!(name, "config" | "known_hosts" | "authorized_keys" | "known_hosts.old");
    }
    static EXACT: Names = Names::of(&[
        ".env",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".my.cnf",
        ".git-credentials",
        ".npmrc",
        ".pypirc",
        ".dockercfg",
        ".vault-token",
        ".htpasswd",
        "shadow",
        "gshadow",
        "shadow-",
        "credentials.json",
        "service-account.json",
        "service_account.json",
        "secrets.yml",
        "secrets.yaml",
        "secrets.json",
        "secrets.toml",
        "master.key",
        "credentials.yml.enc",
        ".bash_history",
        ".zsh_history",
        ".mysql_history",
        ".psql_history",
        ".python_history",
        ".node_repl_history",
        "login.keychain-db",
        "wallet.dat",
        "key4.db",
        "logins.json",
        "Cookies",
        "Login Data",
        ".terraformrc",
        "terraform.tfstate",
        "kubeconfig",
        "sam",
        "ntds.dit",
        "hosts.yml",
        "keyring.gpg",
        "secring.gpg",
        ".s3cfg",
        ".boto",
        ".authinfo",
        "krb5.keytab",
        ".envrc.local",
        "application_default_credentials.json",
        "access_tokens.db",
        "auth.json",
        ".credentials.json",
        "sudoers",
        "oauth_creds.json",
        "wp-config.php",
        ".env*",
        "webhook.key",
    ]);
    // What follows the last dot; `.asc.key` is a `.key` too.
    static ENDINGS: Names = Names::of(&[
        ".pem",
        ".key",
        ".p12",
        ".pfx",
        ".jks",
        ".keystore",
        ".kdbx",
        ".ppk",
        ".ovpn",
        ".keytab",
        ".agekey",
    ]);
    pattern && globbed(path)
        || EXACT.contains(name)
        || (lower.starts_with(".env.") || lower.ends_with(".env") && lower.len() > 4 && path.contains('/'))
        || ENDINGS.contains(ending)
        || may_be_kept(path)
            && [
                "/.aws/credentials",
                "/.aws/*",
                "/.aws/cli/cache",
                "/.aws/sso",
                "/.config/gcloud/",
                "/.azure/",
                "/.kube/config",
                "/.docker/config.json",
                "/.gnupg/",
                "/.password-store/",
                "/.config/gh/hosts.yml",
                "/.cargo/credentials",
                "/.gem/credentials",
                "/.m2/settings.xml",
                "/.config/rclone",
                "/.vault-token",
                "/etc/shadow",
                "/etc/gshadow",
                "/etc/sudoers",
                "/etc/ssl/private",
                "/etc/ssh/ssh_host",
                "/.mozilla/firefox",
                "/.config/google-chrome",
                "/.config/chromium",
                "/.local/share/keyrings",
                "/.config/op/",
                "/var/run/secrets",
                "/run/secrets",
                "/Library/Keychains",
                "/.claude/.credentials",
                "/.codex/auth.json",
                "/.terraform.d/credentials",
                "/.ssh/id",
                "/.config/hub",
                "/.netrc",
                "/var/lib/kubelet",
                "/etc/kubernetes/admin.conf",
                "/etc/kubernetes/pki",
                "/.config/Bitwarden",
                "/.bitcoin",
                "/.ethereum",
                "/.electrum",
                "/.config/solana",
                "/.config/filezilla",
                "/.thunderbird",
                "/.local/share/TelegramDesktop",
                "/.config/Slack",
                "/.config/discord",
                "/.gradle/gradle.properties",
                "/etc/NetworkManager/system-connections",
                "/.config/BraveSoftware",
                "/.config/microsoft-edge",
                "/.local/share/kwalletd",
                "/.cisco/",
                "/etc/openvpn/",
                "/etc/wireguard/",
                "/var/lib/NetworkManager/secret",
                "/etc/ppp/chap-secrets",
                "/.config/sops",
                "/.config/age",
                "/.ngrok2/ngrok.yml",
                "/.config/ngrok",
                "/.local/share/com.vercel.cli/auth.json",
                "/.config/netlify",
                "/.config/flyctl",
                "/.fly/config.yml",
                "/.config/doctl",
                "/.config/heroku",
                "/.databrickscfg",
                "/.snowflake/",
                "/.huggingface/token",
                "/.cache/huggingface/token",
                "/.kaggle/kaggle.json",
            ]
            .iter()
            .any(|part| path.contains(part))
        || (path.starts_with("/proc/")
            && (name == "environ" || name == "mem" || name == "cmdline" && path.contains('*')))
        || path == "/proc/kcore"
        || path == "/dev/mem"
}

/// Where keys are kept: in hidden directories and in those of the system. Most paths are neither, and need not be
/// compared with every name on the list.
fn may_be_kept(path: &str) -> bool {
    let kept = |rest: &[u8]| match rest.get(1) {
        Some(b'.') => true,
        Some(b'e' | b'v' | b'r' | b'L' | b'U') => {
            let tops = ["/etc/", "/var/", "/run/", "/Library/", "/Users/"];
            tops.iter().any(|top| rest.starts_with(top.as_bytes()))
        }
        _ => false,
    };
    let path = path.as_bytes();
    (0..path.len()).any(|at| path[at] == b'/' && kept(&path[at..]))
}

/// Where everybody's keys lie, for patterns that find them without naming them.
const KEPT: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/proc/self/environ",
    "/proc/1/environ",
    "/root/.ssh/id_rsa",
    "/home/*/.ssh/id_rsa",
    "/home/*/.ssh/id_ed25519",
    "/home/*/.aws/credentials",
    "/home/*/.netrc",
    "/home/*/.git-credentials",
    "/home/*/.docker/config.json",
    "/home/*/.kube/config",
    "/home/*/.config/gh/hosts.yml",
    "/home/*/.bash_history",
];

/// How deep each of them lies.
const DEPTHS: [usize; KEPT.len()] = {
    let mut depths = [0; KEPT.len()];
    let mut at = 0;
    while at < KEPT.len() {
        depths[at] = depth(KEPT[at]);
        at += 1;
    }
    depths
};

const fn depth(path: &str) -> usize {
    let (path, mut count, mut at) = (path.as_bytes(), 0, 0);
    while at < path.len() {
        count += (path[at] == b'/') as usize;
        at += 1;
    }
    count
}

/// `/e?c/sh*dow`: a pattern whose every part says at least something, and which finds keys.
fn globbed(path: &str) -> bool {
    let is_pattern = |text: &str| text.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['));
    if !path.starts_with('/') || !is_pattern(path) {
        return false;
    }
    let deep = depth(path);
    KEPT.iter().zip(DEPTHS).any(|(kept, depth)| {
        depth == deep
            && kept.split('/').zip(path.split('/')).all(|(kept, part)| {
                kept == "*" || kept == part || is_pattern(part) && says_something(part) && finds(part, kept)
            })
    })
}

fn says_something(part: &str) -> bool {
    part.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.' || *c == '?').count() >= 2
}

/// Whether a pattern of file names finds a name.
fn finds(pattern: &str, name: &str) -> bool {
    let mut letters = pattern.chars();
    match letters.next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = letters.as_str();
            (0..=name.len()).any(|at| name.is_char_boundary(at) && finds(rest, &name[at..]))
        }
        Some('[') => match letters.as_str().split_once(']') {
            Some((set, rest)) => {
                let mut left = name.chars();
                left.next().is_some_and(|c| in_set(set, c)) && finds(rest, left.as_str())
            }
            None => false,
        },
        Some(letter) => {
            let mut left = name.chars();
            left.next().is_some_and(|c| letter == '?' || letter == c)
                && finds(letters.as_str(), left.as_str())
        }
    }
}

fn in_set(set: &str, letter: char) -> bool {
    let (negated, set) = match set.strip_prefix(['!', '^']) {
        Some(set) => (true, set),
        None => (false, set),
    };
    let letters: Vec<char> = set.chars().collect();
    let ranged = letters.windows(3).any(|part| part[1] == '-' && (part[0]..=part[2]).contains(&letter));
    (ranged || letters.contains(&letter)) != negated
}
