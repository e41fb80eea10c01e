//! The options of `docker run` and `podman run`, as data.

/// Which engine is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    Docker,
    Podman,
}

/// Whether an option is followed by a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Value,
    /// Yes or no; alone it means yes.
    Switch,
}

/// What an option means for a wired container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It changes nothing that the wiring stands on.
    Fine,
    /// It replaces a limit that we would set.
    Limit(Limit),
    /// Looked into by its value.
    Variable,
    Volume,
    MountWords,
    Tmpfs,
    User,
    SecurityOption,
    Label,
    ReadOnly,
    Ipc,
    /// The command to start with; the door starts it.
    Entrypoint,
    /// Only its `no` is fine.
    Never(Why),
}

/// A limit with a default of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Memory,
    Processes,
}

/// Why an option is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Network,
    Names,
    Privilege,
    Device,
    Namespace,
    Environment,
    Mounts,
    Runtime,
    Credential,
    Limits,
    ImageUnknown,
}

impl Why {
    pub fn words(self) -> &'static str {
        match self {
            Self::Network => "the container has no network but its way to the proxy",
            Self::Names => "names are answered by the container's own resolver, which knows what is allowed",
            Self::Privilege => "it gives back privileges that the walls of a container stand on",
            Self::Device => "a device is a way around the container",
            Self::Namespace => "it opens a namespace of the machine or of another container",
            Self::Environment => "it sets variables that cannot be looked at; name each of them with -e",
            Self::Mounts => "it mounts what cannot be looked at; name each mount with -v or --mount",
            Self::Runtime => "it changes how the container is made, and with it what the wiring stands on",
            Self::Credential => "it puts a credential into the container",
            Self::Limits => "it takes the container out of its limits",
            Self::ImageUnknown => "the image's own settings would not be known",
        }
    }
}

/// One option.
#[derive(Debug, PartialEq, Eq)]
pub struct EngineOption {
    pub long: &'static str,
    pub short: Option<char>,
    pub takes: Takes,
    pub meaning: Meaning,
    /// None: both have it.
    pub only: Option<EngineKind>,
}

const fn value(long: &'static str, meaning: Meaning) -> EngineOption {
    EngineOption { long, short: None, takes: Takes::Value, meaning, only: None }
}

const fn switch(long: &'static str, meaning: Meaning) -> EngineOption {
    EngineOption { long, short: None, takes: Takes::Switch, meaning, only: None }
}

impl EngineOption {
    const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    const fn only(self, engine: EngineKind) -> Self {
        Self { only: Some(engine), ..self }
    }
}

use EngineKind::{Docker, Podman};
use Meaning::{Fine, Never};

/// All of them, by what they are about.
pub const OPTIONS: &[EngineOption] = &[
    // How the call behaves.
    value("attach", Fine).short('a'),
    value("cidfile", Fine),
    switch("detach", Fine).short('d'),
    value("detach-keys", Fine),
    switch("disable-content-trust", Fine),
    switch("interactive", Fine).short('i'),
    value("platform", Fine),
    value("pull", Fine),
    switch("quiet", Fine).short('q'),
    switch("rm", Fine),
    switch("sig-proxy", Fine),
    switch("tty", Fine).short('t'),
    value("arch", Fine).only(Podman),
    value("os", Fine).only(Podman),
    value("variant", Fine).only(Podman),
    switch("replace", Fine).only(Podman),
    switch("rmi", Fine).only(Podman),
    value("timeout", Fine).only(Podman),
    switch("tls-verify", Fine).only(Podman),
    value("authfile", Fine).only(Podman),
    value("conmon-pidfile", Fine).only(Podman),
    value("pidfile", Fine).only(Podman),
    // What it is called.
    value("hostname", Fine).short('h'),
    value("domainname", Fine).only(Docker),
    value("label", Meaning::Label).short('l'),
    value("label-file", Never(Why::Environment)),
    value("name", Fine),
    value("tz", Fine).only(Podman),
    // How it is watched and stopped.
    value("health-cmd", Fine),
    value("health-interval", Fine),
    value("health-on-failure", Fine).only(Podman),
    value("health-retries", Fine),
    value("health-start-interval", Fine),
    value("health-start-period", Fine),
    value("health-timeout", Fine),
    switch("init", Fine),
    value("log-driver", Fine),
    value("log-opt", Fine),
    switch("no-healthcheck", Fine),
    value("restart", Fine),
    value("stop-signal", Fine),
    value("stop-timeout", Fine),
    // Limits.
    value("blkio-weight", Fine),
    value("blkio-weight-device", Fine),
    value("cgroup-parent", Never(Why::Limits)),
    value("cgroup-conf", Never(Why::Limits)).only(Podman),
    value("cgroupns", Never(Why::Namespace)),
    value("cgroups", Never(Why::Limits)).only(Podman),
    value("cpu-count", Fine).only(Docker),
    value("cpu-percent", Fine).only(Docker),
    value("cpu-period", Fine),
    value("cpu-quota", Fine),
    value("cpu-rt-period", Fine),
    value("cpu-rt-runtime", Fine),
    value("cpu-shares", Fine).short('c'),
    value("io-maxbandwidth", Fine).only(Docker),
    value("io-maxiops", Fine).only(Docker),
    value("cpus", Fine),
    value("cpuset-cpus", Fine),
    value("cpuset-mems", Fine),
    value("device-read-bps", Fine),
    value("device-read-iops", Fine),
    value("device-write-bps", Fine),
    value("device-write-iops", Fine),
    value("kernel-memory", Fine),
    value("memory", Meaning::Limit(Limit::Memory)).short('m'),
    value("memory-reservation", Fine),
    value("memory-swap", Fine),
    value("memory-swappiness", Fine),
    switch("oom-kill-disable", Never(Why::Limits)),
    value("oom-score-adj", Fine),
    value("pids-limit", Meaning::Limit(Limit::Processes)),
    value("shm-size", Fine),
    value("storage-opt", Fine),
    value("ulimit", Fine),
    // Who it is and what it may do.
    value("cap-add", Never(Why::Privilege)),
    value("cap-drop", Fine),
    value("group-add", Never(Why::Privilege)),
    switch("privileged", Never(Why::Privilege)),
    switch("read-only", Meaning::ReadOnly),
    value("security-opt", Meaning::SecurityOption),
    value("seccomp-policy", Never(Why::Privilege)).only(Podman),
    value("sysctl", Never(Why::Privilege)),
    value("umask", Fine).only(Podman),
    value("user", Meaning::User).short('u'),
    value("userns", Never(Why::Namespace)),
    value("uidmap", Never(Why::Namespace)).only(Podman),
    value("gidmap", Never(Why::Namespace)).only(Podman),
    value("subuidname", Never(Why::Namespace)).only(Podman),
    value("subgidname", Never(Why::Namespace)).only(Podman),
    value("hostuser", Never(Why::Privilege)).only(Podman),
    value("passwd-entry", Never(Why::Runtime)).only(Podman),
    value("group-entry", Never(Why::Runtime)).only(Podman),
    switch("passwd", Fine).only(Podman),
    value("device", Never(Why::Device)),
    value("device-cgroup-rule", Never(Why::Device)),
    value("gpus", Never(Why::Device)),
    // What it shares.
    value("ipc", Meaning::Ipc),
    value("pid", Never(Why::Namespace)),
    value("pod", Never(Why::Namespace)).only(Podman),
    value("pod-id-file", Never(Why::Namespace)).only(Podman),
    value("preserve-fds", Never(Why::Namespace)).only(Podman),
    value("preserve-fd", Never(Why::Namespace)).only(Podman),
    value("uts", Never(Why::Namespace)),
    // Its network.
    value("add-host", Never(Why::Names)),
    value("dns", Never(Why::Names)),
    value("dns-opt", Never(Why::Names)),
    value("dns-option", Never(Why::Names)),
    value("dns-search", Never(Why::Names)),
    value("hosts-file", Never(Why::Names)).only(Podman),
    switch("no-hosts", Fine).only(Podman),
    value("expose", Fine),
    value("ip", Never(Why::Network)),
    value("ip6", Never(Why::Network)),
    value("link", Never(Why::Network)),
    value("link-local-ip", Never(Why::Network)),
    value("mac-address", Never(Why::Network)),
    value("net", Never(Why::Network)),
    value("net-alias", Never(Why::Network)),
    value("network", Never(Why::Network)),
    value("network-alias", Never(Why::Network)),
    value("publish", Never(Why::Network)).short('p'),
    switch("publish-all", Never(Why::Network)).short('P'),
    // Its variables.
    value("env", Meaning::Variable).short('e'),
    value("env-file", Never(Why::Environment)),
    switch("env-host", Never(Why::Environment)).only(Podman),
    value("env-merge", Never(Why::Environment)).only(Podman),
    switch("http-proxy", Never(Why::Environment)).only(Podman),
    value("unsetenv", Never(Why::Environment)).only(Podman),
    switch("unsetenv-all", Never(Why::Environment)).only(Podman),
    value("secret", Never(Why::Credential)).only(Podman),
    switch("use-api-socket", Never(Why::Credential)).only(Docker),
    value("creds", Never(Why::Credential)).only(Podman),
    value("decryption-key", Never(Why::Credential)).only(Podman),
    // Its files.
    value("mount", Meaning::MountWords),
    value("tmpfs", Meaning::Tmpfs),
    value("volume", Meaning::Volume).short('v'),
    value("volume-driver", Never(Why::Mounts)),
    value("volumes-from", Never(Why::Mounts)),
    value("image-volume", Fine).only(Podman),
    value("chrootdirs", Never(Why::Mounts)).only(Podman),
    switch("read-only-tmpfs", Fine).only(Podman),
    value("workdir", Fine).short('w'),
    // How it is made.
    value("annotation", Never(Why::Runtime)),
    value("entrypoint", Meaning::Entrypoint),
    value("init-path", Never(Why::Runtime)).only(Podman),
    value("init-ctr", Never(Why::Runtime)).only(Podman),
    value("isolation", Never(Why::Runtime)).only(Docker),
    value("personality", Never(Why::Runtime)).only(Podman),
    value("requires", Never(Why::Runtime)).only(Podman),
    switch("rootfs", Never(Why::ImageUnknown)).only(Podman),
    value("runtime", Never(Why::Runtime)).only(Docker),
    value("sdnotify", Never(Why::Runtime)).only(Podman),
    value("systemd", Never(Why::Runtime)).only(Podman),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_there_twice() {
        for (index, option) in OPTIONS.iter().enumerate() {
            for other in &OPTIONS[index + 1..] {
                assert_ne!(option.long, other.long);
                assert!(option.short.is_none() || option.short != other.short, "{}", option.long);
            }
        }
    }
}
