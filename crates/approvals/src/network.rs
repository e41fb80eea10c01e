//! What is sent, and to whom.

use cofferdam_shell_syntax::{FileContent, Input, Shell, Source, Word};

use crate::Category::{Credentials, Exfiltration, ReverseShell};
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::reading::secret_variable;

const SENDS: Report = Report::ask("send-data", Exfiltration, "It sends data of this machine to another one.");
/// Commands whose output tells something about the machine or its files.
const TELLING: &[&str] = &[
    "cat", "base64", "env", "printenv", "tar", "xxd", "gzip", "head", "tail", "whoami", "hostname", "id",
    "ls", "find", "od", "hexdump", "grep", "awk", "sed", "cut", "zip", "openssl", "gpg", "pass", "security",
    "git", "history", "ps", "tr", "ifconfig", "ip", "set", "rev", "dd", "strings", "jq", "fold", "split",
    "paste", "sort", "python3", "perl",
];

impl Judge<'_> {
    pub(crate) fn transfers(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        match program {
            "curl" | "wget" | "http" | "https" | "xh" | "httpie" | "curlie" => {
                self.http(shell, program, call);
            }
            "nc" | "ncat" | "netcat" | "nc.traditional" | "nc.openbsd" | "cryptcat" | "pwncat" => {
                self.netcat(call);
            }
            "socat" => {
                let runs = call.texts().any(|text| {
                    let upper = text.to_ascii_uppercase();
                    upper.starts_with("EXEC:") || upper.starts_with("SYSTEM:") || upper.starts_with("SHELL:")
                });
                let report = if runs {
                    Report::ask(
                        "reverse-shell",
                        ReverseShell,
                        "It gives another machine a shell on this one.",
                    )
                } else {
                    Report::ask(
                        "raw-connection",
                        Exfiltration,
                        "It opens a raw connection to another machine.",
                    )
                };
                self.report(&report, call.line());
            }
            "scp" | "rsync" | "sftp" | "rcp" => self.copies_out(shell, program, call),
            "dig" | "nslookup" | "host" | "ping" | "drill" | "getent" | "traceroute" | "logger" | "kdig"
                if call.arguments().iter().any(|word| secret_variable(word) || self.tells(shell, word)) =>
            {
                self.report(&SENDS, call.line());
            }
            "openssl" if call.has_word(&["s_client"]) => {
                let sends = match &call.input {
                    Input::File(path) => path.text() != "/dev/null",
                    Input::Pipe { output, .. } => output.is_unknown(),
                    Input::Inherited | Input::Text(_) => false,
                };
                if sends {
                    self.report(&SENDS, call.line());
                }
            }
            "telnet" => self.report(
                &Report::ask("raw-connection", Exfiltration, "It opens a raw connection to another machine."),
                call.line(),
            ),
            _ => {}
        }
    }

    fn tells(&self, shell: &Shell, word: &Word) -> bool {
        word.sources().iter().any(|source| match source {
            Source::Commands(range) => {
                shell.commands().get(range.clone()).unwrap_or_default().iter().any(|command| {
                    command.argv.first().is_some_and(|name| {
                        TELLING.contains(&name.text().rsplit('/').next().unwrap_or_default())
                    })
                })
            }
            Source::Variable(_) => false,
        })
    }

    fn http(&mut self, shell: &Shell, program: &str, call: &Call) {
        let headers =
            ["-H", "--header", "-u", "--user", "-A", "--user-agent", "-b", "--cookie", "-e", "--referer"];
        let values: Vec<&Word> = call
            .arguments()
            .windows(2)
            .filter(|pair| headers.contains(&pair[0].text()))
            .map(|pair| &pair[1])
            .collect();
        let urls: Vec<&Word> = call
            .operands()
            .filter(|word| !values.contains(word))
            .filter(|word| {
                word.text().contains('.') || word.text().contains("://") || word.text().contains(':')
            })
            .collect();
        let local = call.texts().any(is_local);
        let unchecked = (program == "curl" && call.has(&['k'], &["insecure"]))
            || (program == "wget" && call.has(&[], &["no-check-certificate"]));
        if unchecked && !local {
            self.report(
                &Report::ask(
                    "unchecked-download",
                    Credentials,
                    "It does not check whom it talks to, so that anybody on the way can answer.",
                ),
                call.line(),
            );
        }
        if call.texts().any(is_metadata) {
            self.report(
                &Report::ask(
                    "cloud-metadata",
                    Credentials,
                    "It asks the cloud's metadata service, which hands out credentials.",
                ),
                call.line(),
            );
        }
        for url in &urls {
            let in_user = url.text().contains("@") && secret_variable(url);
            let looped = url.sources().iter().any(|source| matches!(source, Source::Variable(_)));
            if (self.tells(shell, url) && !looped) || (secret_variable(url) && !in_user) {
                self.report(&SENDS, call.line());
            }
        }
        let arguments = call.arguments();
        for (at, word) in arguments.iter().enumerate() {
            let text = word.text();
            let next = arguments.get(at + 1);
            let (option, value) = match text.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(word.with_text(value))),
                _ => (text, next.cloned()),
            };
            let joined = |short: &str| {
                text.strip_prefix(short)
                    .filter(|rest| !rest.is_empty() && !text.starts_with("--"))
                    .map(|rest| word.with_text(rest))
            };
            let body = match option {
                "-d" | "--data" | "--data-binary" | "--data-raw" | "--data-urlencode" | "--data-ascii"
                | "-F" | "--form" | "--json" | "--post-data" | "--form-string" => value,
                "-T" | "--upload-file" | "--post-file" | "--body-file" => {
                    if !local {
                        self.report(&SENDS, call.line());
                    }
                    value
                }
                _ => joined("-d").or_else(|| joined("-F")).filter(|_| program == "curl"),
            };
            let Some(body) = body else { continue };
            let file = (option == "--data-urlencode" && body.text().contains('@'))
                || body.text().starts_with('@')
                || body.text().contains("=@")
                || body.text().contains("=<");
            let request = body.text().ends_with(".json")
                || body.text().ends_with(".xml")
                || body.text().ends_with(".graphql");
            let telling = self.tells(shell, &body) || secret_variable(&body);
            let piped = body.text().ends_with("@-")
                && !matches!(call.input, Input::Text(_))
                && call.input.text().is_none_or(Word::is_unknown);
            if !local && (telling || piped || (file && !request && !body.text().ends_with("@-"))) {
                self.report(&SENDS, call.line());
            }
        }
        let uploads = matches!(program, "http" | "https" | "xh" | "httpie")
            && (call.operands().any(|word| {
                word.text().contains("@/")
                    || word.text().contains("@~")
                    || word.text().contains("@.")
                    || word.text().starts_with('@')
            }) || matches!(call.input, Input::File(_))
                || matches!(&call.input, Input::Pipe { output, .. } if output.is_unknown()));
        if uploads && !local {
            self.report(&SENDS, call.line());
        }
        if call.texts().any(crate::place::is_own_policy) {
            self.report(
                &Report::deny(
                    "own-policy-file",
                    crate::Category::OwnPolicy,
                    "This touches the rules that this session works under.",
                ),
                call.line(),
            );
        }
        let header_tells = call
            .value(&["-H", "--header", "-A", "--user-agent", "-e", "--referer", "-b", "--cookie"])
            .is_some_and(|word| {
                self.tells(shell, word)
                    && !word.text().starts_with("Authorization")
                    && !word.text().contains("uthorization")
            });
        let elsewhere = call.arguments().iter().flat_map(Word::sources).any(|source| {
            let Source::Variable(name) = source else { return false };
            service_of(name).is_some_and(|service| {
                !urls.is_empty() && !urls.iter().any(|url| url.text().to_lowercase().contains(service))
            })
        });
        if (header_tells || elsewhere) && !local {
            self.report(&SENDS, call.line());
        }
        let method = call.value(&["-X", "--request", "--method"]).map_or("", Word::text).to_ascii_uppercase();
        if (method == "DELETE"
            || call.texts().any(|text| matches!(text, "-XDELETE" | "--request=DELETE" | "--method=DELETE")))
            && !local
        {
            self.report(
                &Report::ask(
                    "delete-request",
                    crate::Category::Cloud,
                    "It asks a service to delete something.",
                ),
                call.line(),
            );
        }
        if call.texts().any(|text| text.contains("docker.sock") || text.contains("containerd.sock")) {
            self.report(
                &Report::ask(
                    "container-socket",
                    crate::Category::Containers,
                    "It talks to the container daemon, which can do anything to this machine.",
                ),
                call.line(),
            );
        }
    }

    fn netcat(&mut self, call: &Call) {
        let runs = call.texts().any(|text| {
            matches!(text, "-e" | "-c" | "--exec" | "--sh-exec" | "--lua-exec")
                || (text.starts_with('-')
                    && !text.starts_with("--")
                    && text.contains(['e', 'c'])
                    && text.len() < 7)
        });
        if runs {
            self.report(
                &Report::ask("reverse-shell", ReverseShell, "It gives another machine a shell on this one."),
                call.line(),
            );
            return;
        }
        if call.has(&['z', 'h'], &["help", "version"]) || call.arguments().is_empty() {
            return;
        }
        self.report(
            &Report::ask("raw-connection", Exfiltration, "It opens a raw connection to another machine."),
            call.line(),
        );
    }

    fn copies_out(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        let operands: Vec<&Word> = call.operands().collect();
        let Some((target, sources)) = operands.split_last() else { return };
        if call.has(&[], &["dry-run", "list-only"]) || (program == "rsync" && call.has(&['n'], &[])) {
            return;
        }
        let remote = |word: &Word| {
            let text = word.text();
            text.contains("::")
                || text.starts_with("rsync://")
                || text.split_once(':').is_some_and(|(host, _)| !host.contains('/') && !host.is_empty())
        };
        if program == "sftp" && call.input.text().is_some_and(|text| text.text().contains("put")) {
            self.report(&SENDS, call.line());
        }
        if !remote(target) && sources.iter().any(|word| remote(word)) {
            let last = shell.commands().len();
            let content = Word::unknown(Some(Source::Commands(last.saturating_sub(1)..last)));
            if let Some(path) = target.as_known() {
                for source in sources {
                    let name = source.text().rsplit(['/', ':']).next().unwrap_or_default();
                    shell.write_file(&format!("{path}/{name}"), FileContent::Text(content.clone()));
                }
                shell.write_file(path, FileContent::Text(content));
            }
        }
        if program != "sftp" && remote(target) && sources.iter().any(|word| !remote(word)) {
            self.report(&SENDS, call.line());
        }
    }
}

/// The service that a credential belongs to, by the name of its variable.
fn service_of(name: &str) -> Option<&'static str> {
    if !crate::reading::is_secret_name(name) {
        return None;
    }
    let services = [
        ("GITHUB_", "github"),
        ("GH_", "github"),
        ("GITLAB_", "gitlab"),
        ("OPENAI_", "openai"),
        ("ANTHROPIC_", "anthropic"),
        ("AWS_", "amazonaws"),
        ("SLACK_", "slack"),
        ("STRIPE_", "stripe"),
        ("HF_", "huggingface"),
        ("HUGGINGFACE_", "huggingface"),
        ("NPM_", "npm"),
        ("CLOUDFLARE_", "cloudflare"),
        ("DIGITALOCEAN_", "digitalocean"),
        ("HEROKU_", "heroku"),
        ("TELEGRAM_", "telegram"),
        ("DISCORD_", "discord"),
        ("GEMINI_", "google"),
        ("GOOGLE_", "google"),
        ("SENTRY_", "sentry"),
        ("DATADOG_", "datadog"),
        ("TWILIO_", "twilio"),
        ("SENDGRID_", "sendgrid"),
        ("GROQ_", "groq"),
        ("MISTRAL_", "mistral"),
        ("OPENROUTER_", "openrouter"),
        ("NOTION_", "notion"),
        ("LINEAR_", "linear"),
        ("JIRA_", "atlassian"),
        ("DOCKERHUB_", "docker"),
        ("VERCEL_", "vercel"),
        ("SUPABASE_", "supabase"),
    ];
    services.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, service)| *service)
}

/// An address on this machine or in the private network around it.
fn is_local(text: &str) -> bool {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "host.docker.internal", "192.168.", "10.0.", "172.17."]
        .iter()
        .any(|local| host.starts_with(local))
        || host
            .split(['/', ':'])
            .next()
            .is_some_and(|host| host.ends_with(".local") || host.ends_with(".localhost"))
}

/// The service that tells a machine in a cloud who it is, by its addresses in any spelling or by what is asked of it.
fn is_metadata(text: &str) -> bool {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest).split(['/', '?']).next().unwrap_or(text);
    let host = host.rsplit('@').next().unwrap_or(host);
    let asked = [
        "/latest/meta-data",
        "/latest/user-data",
        "/latest/api/token",
        "/latest/dynamic/",
        "/computeMetadata/",
        "/metadata/instance",
        "/metadata/identity",
        "/opc/v1/",
        "/opc/v2/",
        "/v2/credentials/",
    ];
    ["169.254.169.254", "metadata.google.internal", "169.254.170.2", "fd00:ec2::254", "100.100.100.200"]
        .iter()
        .any(|known| text.contains(known))
        || asked.iter().any(|path| text.contains(path)) && !is_local(text)
        || address(host.split(':').next().unwrap_or(host)) == Some(u32::from_be_bytes([169, 254, 169, 254]))
}

/// An address as the C library reads it: one to four numbers, each in decimal, octal or hexadecimal.
fn address(host: &str) -> Option<u32> {
    let number = |part: &str| match part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let parts: Vec<u32> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let top = first.iter().enumerate().fold(0u32, |sum, (at, part)| sum | part << (24 - 8 * at));
    Some(top | last)
}
