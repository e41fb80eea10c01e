//! Named tokens: how they are made, and how they are shown.

use cofferdam_egress::Token;
use cofferdam_policy::provider::{Provider, Shape};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::daemon::named_tokens::NamedToken;
use crate::daemon::pairing;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::secret_sources::SecretSources;
use crate::settings::Settings;

/// A variable, and what belongs there.
#[derive(Serialize)]
pub struct Shown {
    pub provider: String,
    /// Others whose clients look in the same variable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    pub variable: String,
    pub begins: String,
    pub source: String,
    /// Only of one that was made just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl Shown {
    /// Of one that was made before.
    pub fn known(token: &NamedToken) -> Self {
        Self::of(token, token.variable.clone(), None)
    }

    fn of(token: &NamedToken, variable: String, whole: Option<&Token>) -> Self {
        let half = whole.filter(|whole| !whole.expose().starts_with(&token.begins));
        let begins =
            half.map_or_else(|| token.begins.clone(), |half| half.expose().chars().take(4).collect());
        Self {
            provider: token.provider.clone(),
            also: token.also.clone(),
            variable,
            begins,
            source: token.source.clone(),
            token: whole.map(|whole| whole.expose().to_owned()),
        }
    }
}

/// Makes tokens for the shared port.
pub struct Maker<'s> {
    sources: &'s SecretSources,
    pairing: Zeroizing<[u8; 32]>,
}

impl<'s> Maker<'s> {
    pub fn new(settings: &Settings, sources: &'s SecretSources) -> Result<Self, Failure> {
        let pairing = pairing::read_or_make(&settings.places.state)
            .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()).hint(error.fix()))?;
        Ok(Self { sources, pairing })
    }

    /// Whether what stands for its credential is text that fits into variables.
    pub fn can_make(provider: &Provider) -> bool {
        matches!(provider.shape(), Shape::Value | Shape::OAuthClient | Shape::AwsKeys)
    }

    /// Of providers whose clients look in the same variable only the first: there is room for one token.
    pub fn leading<'p>(&self, providers: Vec<&'p Provider>) -> Vec<&'p Provider> {
        let mut leading: Vec<&Provider> = Vec::new();
        for provider in providers {
            if !leading.iter().any(|lead| self.share(lead, provider)) {
                leading.push(provider);
            }
        }
        leading
    }

    fn share(&self, one: &Provider, other: &Provider) -> bool {
        let taken = self.sources.variables_of(one);
        self.sources.variables_of(other).iter().any(|name| taken.contains(name))
    }

    /// Where the credential of a provider comes from now, in words.
    pub fn source(&self, provider: &Provider) -> String {
        self.sources.loader.locate(provider).origin.to_string()
    }

    /// A new token: what is kept of it, and what is shown of it, once. A credential with two halves has both.
    pub fn make(&self, provider: &Provider) -> Result<(NamedToken, Vec<Shown>), Failure> {
        let token = Token::random(provider)
            .map_err(|_| Failure::new(Exit::Unavailable, "the kernel gave no randomness for a token"))?;
        let mut kept = NamedToken::of(provider, &token, self.source(provider));
        let others = self.sources.kept().filter(|other| other.name != provider.name);
        let alike = others.filter(|other| other.shape() == provider.shape() && self.share(provider, other));
        kept.also = alike.map(|other| other.name.to_string()).collect();
        let mut shown = vec![Shown::of(&kept, kept.variable.clone(), Some(&token))];
        if provider.shape() == Shape::AwsKeys
            && let Some(variable) = provider.variables.get(1)
        {
            let half = token.other_half(&self.pairing);
            shown.push(Shown::of(&kept, variable.to_string(), Some(&half)));
        }
        Ok((kept, shown))
    }
}

pub fn print(tokens: &[Shown]) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = tokens
        .iter()
        .map(|shown| {
            let text = shown.token.clone().unwrap_or_else(|| format!("{}\u{2026}", shown.begins));
            let providers: Vec<&str> =
                std::iter::once(&shown.provider).chain(&shown.also).map(|name| &**name).collect();
            vec![providers.join(", "), shown.variable.clone(), text]
        })
        .collect();
    if rows.is_empty() {
        return output::text("no provider has a credential, so no token was made\n");
    }
    output::table(&["PROVIDER", "VARIABLE", "TOKEN"], &rows)?;
    if tokens.iter().any(|shown| shown.token.is_some()) {
        eprintln!(
            "cofferdam: warning: new tokens are shown whole, once; whoever has one can use the proxy with it"
        );
    }
    Ok(())
}
