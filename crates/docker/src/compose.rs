//! Services of a compose project: what each asks for, in the words of the engine's own options, and what is laid over it.
//!
//! The project is read as the engine resolves it (`docker compose config --format json`), so that files that extend each
//! other, variables and anchors are not ours to understand. A key that is not known here is refused like an option that
//! is not known.

use serde_json::{Map, Value, json};

use crate::options::{Judged, Typed};
use crate::plan::{self, Image, Outside};

/// One service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub name: String,
    /// Options, the image and the command, as they would be typed behind `run`.
    pub words: Vec<String>,
}

/// Keys that change nothing that the wiring stands on, or are laid over.
const FINE: &[&str] = &[
    "attach",
    "build",
    "cap_drop",
    "command",
    "container_name",
    "cpu_count",
    "cpu_percent",
    "cpu_shares",
    "cpus",
    "cpuset",
    "depends_on",
    "deploy",
    "develop",
    "domainname",
    "entrypoint",
    "env_file",
    "expose",
    "healthcheck",
    "hostname",
    "image",
    "init",
    "logging",
    "memswap_limit",
    "platform",
    "post_start",
    "pre_stop",
    "profiles",
    "pull_policy",
    "restart",
    "scale",
    "shm_size",
    "stdin_open",
    "stop_grace_period",
    "stop_signal",
    "storage_opt",
    "tty",
    "ulimits",
    "working_dir",
];

/// Keys and the options that say the same; each value becomes one option.
const OPTIONS: &[(&str, &str)] = &[
    ("annotations", "annotation"),
    ("cap_add", "cap-add"),
    ("cgroup", "cgroupns"),
    ("cgroup_parent", "cgroup-parent"),
    ("device_cgroup_rules", "device-cgroup-rule"),
    ("devices", "device"),
    ("dns", "dns"),
    ("dns_opt", "dns-opt"),
    ("dns_search", "dns-search"),
    ("environment", "env"),
    ("external_links", "link"),
    ("extra_hosts", "add-host"),
    ("gpus", "gpus"),
    ("group_add", "group-add"),
    ("ipc", "ipc"),
    ("isolation", "isolation"),
    ("labels", "label"),
    ("links", "link"),
    ("mac_address", "mac-address"),
    ("mem_limit", "memory"),
    ("network_mode", "network"),
    ("oom_kill_disable", "oom-kill-disable"),
    ("pid", "pid"),
    ("pids_limit", "pids-limit"),
    ("ports", "publish"),
    ("privileged", "privileged"),
    ("read_only", "read-only"),
    ("runtime", "runtime"),
    ("security_opt", "security-opt"),
    ("sysctls", "sysctl"),
    ("tmpfs", "tmpfs"),
    ("user", "user"),
    ("userns_mode", "userns"),
    ("uts", "uts"),
    ("volumes_from", "volumes-from"),
];

/// The services of a project, or what is wrong with it.
pub fn services(project: &Value) -> Result<Vec<Service>, Vec<String>> {
    let Some(services) = project.get("services").and_then(Value::as_object) else {
        return Err(vec!["there are no services in it".to_owned()]);
    };
    let (mut read, mut mistakes) = (Vec::new(), Vec::new());
    for (name, service) in services {
        match words(service) {
            Ok(words) => read.push(Service { name: name.clone(), words }),
            Err(why) => mistakes.push(format!("the service {name}: {why}")),
        }
    }
    if mistakes.is_empty() { Ok(read) } else { Err(mistakes) }
}

fn words(service: &Value) -> Result<Vec<String>, String> {
    let service = service.as_object().ok_or("it is no object")?;
    let mut words = Vec::new();
    for (key, value) in service.iter().filter(|(_, value)| !value.is_null()) {
        if let Some((_, option)) = OPTIONS.iter().find(|(known, _)| known == key) {
            words.extend(values(value)?.into_iter().map(|value| format!("--{option}={value}")));
        } else if key == "volumes" {
            for volume in value.as_array().into_iter().flatten() {
                words.push(mount(volume)?);
            }
        } else if key == "networks" {
            // What every service has that says nothing about it.
            let usual = json!({"default": null});
            if *value != usual {
                return Err("it names networks; a sealed container has none, so take them out".to_owned());
            }
        } else if !FINE.contains(&key.as_str()) {
            return Err(format!("{key} is not known; take it out if it is not needed"));
        }
    }
    let image = service.get("image").and_then(Value::as_str);
    let entrypoint = list(service, "entrypoint")?;
    if let Some(program) = entrypoint.first() {
        words.push(format!("--entrypoint={program}"));
    }
    words.push("--".to_owned());
    words.push(image.ok_or("it has no image; build it, and give it a name under image")?.to_owned());
    words.extend(entrypoint.into_iter().skip(1).chain(list(service, "command")?));
    Ok(words)
}

/// What a key says, one text for each option.
fn values(value: &Value) -> Result<Vec<String>, String> {
    let plain = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    match value {
        Value::Array(items) => {
            // A port or a device in many words is named by what it is; that it is there is what counts.
            Ok(items.iter().map(|item| plain(item).unwrap_or_else(|| item.to_string())).collect())
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value {
                Value::Null => Ok(name.clone()),
                value => plain(value)
                    .map(|value| format!("{name}={value}"))
                    .ok_or_else(|| format!("{name} is written in a way that is not known")),
            })
            .collect(),
        other => plain(other).map(|value| vec![value]).ok_or_else(|| "a value is not known".to_owned()),
    }
}

/// A volume as the engine resolves it, or as older programs leave it.
fn mount(volume: &Value) -> Result<String, String> {
    if let Some(short) = volume.as_str() {
        return Ok(format!("--volume={short}"));
    }
    let text = |key: &str| volume.get(key).and_then(Value::as_str);
    let (Some(kind), Some(target)) = (text("type"), text("target")) else {
        return Err("a volume has no type or no target".to_owned());
    };
    if [Some(kind), Some(target), text("source")].iter().flatten().any(|word| word.contains(',')) {
        return Err("a volume has a comma in its path".to_owned());
    }
    let source = text("source").map_or(String::new(), |source| format!(",source={source}"));
    Ok(format!("--mount=type={kind}{source},target={target}"))
}

fn list(service: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    match service.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(words)) => words
            .iter()
            .map(|word| {
                word.as_str().map(str::to_owned).ok_or_else(|| format!("{key} has a word that is no text"))
            })
            .collect(),
        Some(_) => Err(format!("{key} is no list of words")),
    }
}

/// What is laid over a service.
pub fn laid_over((typed, judged): (&Typed, &Judged), image: &Image, outside: &Outside<'_>) -> Value {
    let mut service = json!({
        "network_mode": "none",
        "entrypoint": [format!("{}/{}", plan::INSIDE, outside.way.door())],
        "command": plan::behind_the_door(typed, judged, image, outside),
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "sysctls": {plan::PORTS_FOR_ALL: "0"},
        "mem_limit": judged.memory.as_deref().unwrap_or(plan::USUAL_MEMORY),
        "pids_limit": judged.processes.as_deref().unwrap_or(plan::USUAL_PROCESSES).parse::<i64>().unwrap_or(512),
        "volumes": plan::volumes(outside),
        "env_file": [outside.variables.display().to_string()],
        "labels": {plan::name_label(): outside.name, plan::posture_label(): outside.posture},
    });
    if !judged.writable_root {
        service["read_only"] = true.into();
        if !judged.mounts.iter().any(|mount| mount.target == std::path::Path::new("/tmp")) {
            service["tmpfs"] = json!([plan::TMP]);
        }
    }
    service
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{EngineKind, Reach, judge, parse};

    fn words_of(service: &Value) -> Result<Vec<String>, Vec<String>> {
        services(&json!({"services": {"web": service}})).map(|mut all| all.remove(0).words)
    }

    #[test]
    fn a_service_is_read_as_the_call_of_an_engine() {
        let words = words_of(&json!({
            "image": "agent", "command": ["serve", "-v"], "entrypoint": ["/init", "-q"], "networks": {"default": null},
            "environment": {"A": "1", "B": null}, "restart": "always", "mem_limit": "1073741824", "user": "1000",
            "volumes": [{"type": "bind", "source": "/w", "target": "/work", "bind": {"create_host_path": true}}],
        }))
        .unwrap();
        let typed = parse(EngineKind::Docker, &words).unwrap();
        let judged = judge(&typed, Reach::Loopback);
        assert!(judged.objections.is_empty(), "{:?}", judged.objections);
        assert_eq!(
            (typed.image.as_str(), typed.command.as_slice()),
            ("agent", &["-q", "serve", "-v"].map(String::from)[..])
        );
        assert_eq!((judged.variables.len(), judged.mounts.len()), (2, 1));
        assert_eq!(
            (judged.memory.as_deref(), judged.entrypoint.as_deref()),
            (Some("1073741824"), Some("/init"))
        );
    }

    #[test]
    fn req_e18_what_would_undo_the_wiring_is_objected_to_in_a_project_as_well() {
        for service in [
            json!({"privileged": true}),
            json!({"network_mode": "host"}),
            json!({"cap_add": ["NET_ADMIN"]}),
            json!({"pid": "host"}),
            json!({"ipc": "host"}),
            json!({"extra_hosts": ["a=1.2.3.4"]}),
            json!({"dns": ["1.1.1.1"]}),
            json!({"devices": [{"source": "/dev/kvm", "target": "/dev/kvm"}]}),
            json!({"ports": [{"mode": "ingress", "target": 80, "published": "80"}]}),
            json!({"security_opt": ["seccomp:unconfined"]}),
            json!({"sysctls": {"a": "b"}}),
            json!({"volumes": [{"type": "bind", "source": "/x", "target": "/cofferdam"}]}),
            json!({"volumes": ["/x:/cofferdam:rw"]}),
            json!({"labels": {"io.cofferdam.posture": "x"}}),
        ] {
            let mut service = service;
            service["image"] = "agent".into();
            let words = words_of(&service).unwrap();
            let typed = parse(EngineKind::Docker, &words).unwrap();
            assert_eq!(judge(&typed, Reach::Loopback).objections.len(), 1, "{service}");
        }
        for service in [
            json!({"image": "a", "networks": {"front": null}}),
            json!({"image": "a", "new_key": 1}),
            json!({"build": {"context": "."}}),
            json!({"image": "a", "secrets": [{"source": "s"}]}),
        ] {
            assert!(words_of(&service).is_err(), "{service}");
        }
    }
}
