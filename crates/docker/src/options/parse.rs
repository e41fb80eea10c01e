//! From words to options, in the way in which both engines read them.

use super::table::{EngineKind, EngineOption, OPTIONS, Takes};

/// An option as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub option: &'static EngineOption,
    /// Of a switch: `true` or `false`.
    pub value: String,
}

impl Given {
    /// The option in one word, in which no value can be taken for another option.
    pub fn word(&self) -> String {
        format!("--{}={}", self.option.long, self.value)
    }
}

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub struct Typed {
    pub options: Vec<Given>,
    pub image: String,
    pub command: Vec<String>,
}

/// Why it is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misread {
    Unknown(String),
    OtherEngine(String),
    NoValue(String),
    NotASwitch(String),
    NoImage,
}

impl Misread {
    pub fn sentence(&self) -> String {
        match self {
            Self::Unknown(option) => format!("unexpected argument '{option}' found"),
            Self::OtherEngine(option) => format!("the option {option} is of the other engine"),
            Self::NoValue(option) => format!("the option {option} needs a value"),
            Self::NotASwitch(option) => format!("{option}: a switch is true or false"),
            Self::NoImage => "no image is named".to_owned(),
        }
    }
}

/// Reads the words behind `run`.
pub fn parse(engine: EngineKind, words: &[String]) -> Result<Typed, Misread> {
    let mut options = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            options.push(read_long(engine, long, &mut words)?);
        } else if word == "--" {
            return split(options, words.next(), words);
        } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            read_cluster(engine, cluster, &mut words, &mut options)?;
        } else {
            return split(options, Some(word), words);
        }
    }
    Err(Misread::NoImage)
}

type Words<'a> = std::slice::Iter<'a, String>;

fn split(options: Vec<Given>, image: Option<&String>, rest: Words<'_>) -> Result<Typed, Misread> {
    let image =
        image.filter(|image| !image.is_empty() && !image.starts_with('-')).ok_or(Misread::NoImage)?.clone();
    Ok(Typed { options, image, command: rest.cloned().collect() })
}

fn read_long(engine: EngineKind, long: &str, words: &mut Words<'_>) -> Result<Given, Misread> {
    let (name, attached) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (long, None),
    };
    let shown = || format!("--{name}");
    let option =
        OPTIONS.iter().find(|option| option.long == name).ok_or_else(|| Misread::Unknown(shown()))?;
    known_to(engine, option, shown)?;
    let value = match (option.takes, attached) {
        (Takes::Switch, None) => "true".to_owned(),
        (Takes::Switch, Some(value)) => switch_value(&value).ok_or_else(|| Misread::NotASwitch(shown()))?,
        (Takes::Value, Some(value)) => value,
        (Takes::Value, None) => words.next().ok_or_else(|| Misread::NoValue(shown()))?.clone(),
    };
    Ok(Given { option, value })
}

/// `-it`, `-eNAME=value`, `-e NAME=value`, `-e=NAME=value`: switches until one takes the rest as its value.
fn read_cluster(
    engine: EngineKind,
    cluster: &str,
    words: &mut Words<'_>,
    options: &mut Vec<Given>,
) -> Result<(), Misread> {
    let mut rest = cluster;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let shown = || format!("-{letter}");
        let option = OPTIONS
            .iter()
            .find(|option| option.short == Some(letter))
            .ok_or_else(|| Misread::Unknown(shown()))?;
        known_to(engine, option, shown)?;
        match (option.takes, rest.strip_prefix('=')) {
            (Takes::Switch, Some(value)) => {
                let value = switch_value(value).ok_or_else(|| Misread::NotASwitch(shown()))?;
                options.push(Given { option, value });
                return Ok(());
            }
            (Takes::Switch, None) => options.push(Given { option, value: "true".to_owned() }),
            (Takes::Value, attached) => {
                let value = match attached.unwrap_or(rest) {
                    "" if attached.is_none() => {
                        words.next().ok_or_else(|| Misread::NoValue(shown()))?.clone()
                    }
                    value => value.to_owned(),
                };
                options.push(Given { option, value });
                return Ok(());
            }
        }
    }
    Ok(())
}

fn known_to(engine: EngineKind, option: &EngineOption, shown: impl Fn() -> String) -> Result<(), Misread> {
    match option.only {
        Some(only) if only != engine => Err(Misread::OtherEngine(shown())),
        _ => Ok(()),
    }
}

fn switch_value(value: &str) -> Option<String> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some("true".to_owned()),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some("false".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn shown(line: &str) -> Vec<String> {
        let typed = parse(EngineKind::Docker, &words(line)).unwrap();
        let mut all: Vec<String> = typed.options.iter().map(Given::word).collect();
        all.push(typed.image);
        all.extend(typed.command);
        all
    }

    #[test]
    fn every_way_to_write_an_option_is_the_same_option() {
        for line in ["-e A=b image", "-eA=b image", "-e=A=b image", "--env A=b image", "--env=A=b image"] {
            assert_eq!(shown(line), ["--env=A=b", "image"], "{line}");
        }
        assert_eq!(
            shown("-itv /a:/b image"),
            ["--interactive=true", "--tty=true", "--volume=/a:/b", "image"]
        );
        assert_eq!(shown("-eA= image"), ["--env=A=", "image"]);
        assert_eq!(shown("--rm=0 image"), ["--rm=false", "image"]);
        assert_eq!(shown("-t=false image"), ["--tty=false", "image"]);
    }

    #[test]
    fn what_follows_the_image_is_the_commands() {
        assert_eq!(shown("--rm image --privileged -v x"), ["--rm=true", "image", "--privileged", "-v", "x"]);
        assert_eq!(shown("--rm -- image x"), ["--rm=true", "image", "x"]);
    }

    #[test]
    fn what_is_not_known_is_not_passed_on() {
        let wrong = |line: &str| parse(EngineKind::Docker, &words(line)).unwrap_err();
        assert_eq!(wrong("--new-thing image"), Misread::Unknown("--new-thing".into()));
        assert_eq!(wrong("-Z image"), Misread::Unknown("-Z".into()));
        assert_eq!(wrong("--privilege image"), Misread::Unknown("--privilege".into()));
        assert_eq!(wrong("--pod x image"), Misread::OtherEngine("--pod".into()));
        assert_eq!(wrong("--rm"), Misread::NoImage);
        assert_eq!(wrong("--env"), Misread::NoValue("--env".into()));
        assert_eq!(wrong("--rm=maybe image"), Misread::NotASwitch("--rm".into()));
        assert_eq!(wrong("-"), Misread::NoImage);
    }
}
