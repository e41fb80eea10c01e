//! Turns `registry/*.toml` into static data, so that the built-in providers cost nothing at start.
//!
//! The files are read by the reader that reads a user's configuration, compiled into this script as well: a
//! mistake in the registry ends the build with its file and line.

#![expect(dead_code, unused_imports, reason = "the build needs only the part that reads the registry")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use provider::{Checked, Provider, Scheme, Text};

#[path = "src/address/mod.rs"]
mod address;
#[path = "src/document/mod.rs"]
mod document;
#[path = "src/host/mod.rs"]
mod host;
#[path = "src/method.rs"]
mod method;
#[path = "src/mistake.rs"]
mod mistake;
#[path = "src/path/mod.rs"]
mod path;
#[path = "src/provider.rs"]
mod provider;
#[path = "src/rules/mod.rs"]
mod rules;
#[path = "src/units.rs"]
mod units;

fn main() {
    println!("cargo::rerun-if-changed=registry");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the package"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the directory for output"));
    match providers(&root.join("registry")) {
        Ok(providers) => {
            fs::write(out.join("registry.rs"), generate(&providers))
                .expect("the output directory is writable");
        }
        Err(mistakes) => {
            for mistake in mistakes {
                println!("cargo::error={mistake}");
            }
        }
    }
}

/// All entries, sorted by name.
fn providers(directory: &Path) -> Result<Vec<Provider>, Vec<String>> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the registry's directory")
        .map(|entry| entry.expect("an entry of the registry's directory").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let (mut providers, mut mistakes) = (BTreeMap::new(), Vec::new());
    for file in files {
        let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).expect("a readable file of the registry");
        match document::parse_registry(&name, &text) {
            Err(found) => mistakes.extend(found.iter().map(ToString::to_string)),
            Ok(read) => {
                for provider in read {
                    if let Some(other) = providers.insert(provider.name.clone(), provider) {
                        mistakes.push(format!("{name}: {} is in another file too", other.name));
                    }
                }
            }
        }
    }
    if mistakes.is_empty() { Ok(providers.into_values().collect()) } else { Err(mistakes) }
}

fn generate(providers: &[Provider]) -> String {
    let mut out = String::from("pub(super) static BUILT_IN: &[Provider] = &[\n");
    for provider in providers {
        write_provider(&mut out, provider);
    }
    out.push_str("];\n\npub(super) static BY_VARIABLE: &[(&str, &[u16])] = &[\n");
    let mut variables: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, provider) in providers.iter().enumerate() {
        for variable in provider.variables.iter() {
            variables.entry(variable).or_default().push(index);
        }
    }
    for (variable, indices) in variables {
        push(&mut out, format_args!("    ({variable:?}, &{indices:?}),\n"));
    }
    out.push_str("];\n");
    out
}

fn write_provider(out: &mut String, provider: &Provider) {
    let schemes: Vec<String> = provider.schemes.iter().map(scheme).collect();
    let checked = match &provider.checked {
        Checked::Client(client) => format!("Client({})", text(client)),
        Checked::Unchecked(why) => format!("Unchecked({})", text(why)),
        Checked::Configured => "Configured".to_owned(),
    };
    let token = &provider.token;
    push(
        out,
        format_args!(
            "    Provider {{\n        name: {}, kind: Kind::{:?}, hosts: {},\n        ports: Cow::Borrowed(&{:?}),\n        \
             variables: {}, base_urls: {},\n        schemes: Cow::Borrowed(&[{}]),\n        \
             token: TokenForm {{ prefix: {}, length: {}, alphabet: Alphabet::{:?} }},\n        \
             secret: None, checked: Checked::{checked},\n    }},\n",
            text(&provider.name),
            provider.kind,
            texts(&provider.hosts),
            provider.ports,
            texts(&provider.variables),
            texts(&provider.base_urls),
            schemes.join(", "),
            text(&token.prefix),
            token.length,
            token.alphabet,
        ),
    );
}

fn scheme(scheme: &Scheme) -> String {
    let fields = match scheme {
        Scheme::Header { name, template } => {
            format!("Header {{ name: {}, template: {} }}", text(name), text(template))
        }
        Scheme::Query { name } => format!("Query {{ name: {} }}", text(name)),
        Scheme::Basic { part } => format!("Basic {{ part: BasicPart::{part:?} }}"),
        Scheme::Path { template } => format!("Path {{ template: {} }}", text(template)),
        Scheme::Json { pointer } => format!("Json {{ pointer: {} }}", text(pointer)),
        Scheme::Form { name } => format!("Form {{ name: {} }}", text(name)),
        Scheme::Cookie { name } => format!("Cookie {{ name: {} }}", text(name)),
        Scheme::SigV4 => "SigV4".to_owned(),
        Scheme::GoogleServiceAccount { scope } => {
            format!("GoogleServiceAccount {{ scope: {} }}", text(scope))
        }
        Scheme::OAuth2 { token_url, grant } => {
            format!("OAuth2 {{ token_url: {}, grant: Grant::{grant:?} }}", text(token_url))
        }
        Scheme::GithubApp => "GithubApp".to_owned(),
    };
    format!("Scheme::{fields}")
}

fn text(text: &Text) -> String {
    format!("Cow::Borrowed({text:?})")
}

fn texts(list: &[Text]) -> String {
    let items: Vec<String> = list.iter().map(text).collect();
    format!("Cow::Borrowed(&[{}])", items.join(", "))
}

fn push(out: &mut String, piece: std::fmt::Arguments<'_>) {
    out.write_fmt(piece).expect("writing to a string cannot fail");
}
