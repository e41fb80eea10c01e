//! Promise: the registry says what is covered, and never shows a value.

use cofferdam_testkit::{Cofferdam, Home, Outcome};
use serde_json::Value;

fn cofferdam(home: &Home, args: &[&str]) -> Cofferdam {
    Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), home).args(args)
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_slice(outcome.stdout_bytes()).expect("JSON on standard output")
}

fn all(home: &Home) -> Vec<Value> {
    let listed = json(&cofferdam(home, &["providers", "list", "--json"]).run().expect_status(0));
    listed.as_array().expect("a list").clone()
}

/// Every variable that the registry must know.
const VARIABLES: &[&str] = &[
    "OPENROUTER_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "VERTEX_CREDENTIALS_PATH",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_FOUNDRY_API_KEY",
    "NOUS_API_KEY",
    "XAI_API_KEY",
    "COPILOT_GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "QWEN_API_KEY",
    "MINIMAX_API_KEY",
    "MINIMAX_CN_API_KEY",
    "KIMI_API_KEY",
    "KIMI_CODING_API_KEY",
    "KIMI_CN_API_KEY",
    "GLM_API_KEY",
    "ZAI_API_KEY",
    "Z_AI_API_KEY",
    "DEEPSEEK_API_KEY",
    "DASHSCOPE_API_KEY",
    "ALIBABA_CODING_PLAN_API_KEY",
    "NVIDIA_API_KEY",
    "HF_TOKEN",
    "AI_GATEWAY_API_KEY",
    "OPENCODE_ZEN_API_KEY",
    "OPENCODE_GO_API_KEY",
    "KILOCODE_API_KEY",
    "OLLAMA_API_KEY",
    "LM_API_KEY",
    "FIREWORKS_API_KEY",
    "DEEPINFRA_API_KEY",
    "NOVITA_API_KEY",
    "GMI_API_KEY",
    "ARCEEAI_API_KEY",
    "STEPFUN_API_KEY",
    "UPSTAGE_API_KEY",
    "XIAOMI_API_KEY",
    "TOKENHUB_API_KEY",
    "MODEL_API_KEY",
    "META_API_KEY",
    "META_MODEL_API_KEY",
    "ACTUAL_API_KEY",
    "COMMANDCODE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "TOGETHER_API_KEY",
    "COHERE_API_KEY",
    "PERPLEXITY_API_KEY",
    "CEREBRAS_API_KEY",
    "REPLICATE_API_TOKEN",
    "GITLAB_TOKEN",
    "NPM_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "SENTRY_AUTH_TOKEN",
    "STRIPE_SECRET_KEY",
    "DD_API_KEY",
    "CLOUDFLARE_API_TOKEN",
    "BRAVE_SEARCH_API_KEY",
    "TAVILY_API_KEY",
    "EXA_API_KEY",
    "PARALLEL_API_KEY",
    "FIRECRAWL_API_KEY",
    "KEENABLE_API_KEY",
    "ELEVENLABS_API_KEY",
    "FAL_KEY",
    "KREA_API_KEY",
    "VOICE_TOOLS_OPENAI_KEY",
    "BROWSERBASE_API_KEY",
    "BROWSER_USE_API_KEY",
    "CAMOFOX_API_KEY",
    "MEM0_API_KEY",
    "SUPERMEMORY_API_KEY",
    "HINDSIGHT_API_KEY",
    "HONCHO_API_KEY",
    "RETAINDB_API_KEY",
    "OPENVIKING_API_KEY",
    "HASS_TOKEN",
    "MODAL_TOKEN_ID",
    "MODAL_TOKEN_SECRET",
    "DAYTONA_API_KEY",
    "VERCEL_TOKEN",
    "VERCEL_OIDC_TOKEN",
    "NOTION_API_KEY",
    "LINEAR_API_KEY",
    "AIRTABLE_API_KEY",
    "TENOR_API_KEY",
    "BRV_API_KEY",
    "PORCUPINE_ACCESS_KEY",
    "TOOL_GATEWAY_USER_TOKEN",
    "TELEGRAM_BOT_TOKEN",
    "DISCORD_BOT_TOKEN",
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "TWILIO_AUTH_TOKEN",
    "WECOM_CALLBACK_CORP_SECRET",
];

#[test]
fn req_s02_every_known_provider_variable_is_in_the_registry() {
    let home = Home::new();
    let entries = all(&home);
    let known: Vec<&str> = entries
        .iter()
        .flat_map(|entry| entry["variables"].as_array().unwrap())
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    for variable in VARIABLES {
        assert!(known.contains(variable), "{variable}");
    }
    assert!(entries.len() >= 130);
}

#[test]
fn req_e23_every_entry_is_whole() {
    let home = Home::new();
    for entry in all(&home) {
        let name = entry["name"].as_str().unwrap();
        let count = |field: &str| entry[field].as_array().unwrap().len();
        assert!(count("schemes") > 0, "{name} has no scheme");
        assert!(count("hosts") + count("base_urls") > 0, "{name} has no host and no way to name one");
        assert!(entry["token"]["bits"].as_u64().unwrap() >= 128, "{name} has too short a stand-in");
        let checked = &entry["checked"];
        assert!(checked["client"].is_string() || checked["unchecked"].is_string(), "{name}: {checked}");
    }
}

/// A child finds one value in a variable, whichever provider it then talks to.
#[test]
fn req_e01_providers_that_share_a_variable_share_the_form_of_its_stand_in() {
    let home = Home::new();
    let entries = all(&home);
    let mut forms = std::collections::BTreeMap::new();
    for entry in &entries {
        for variable in entry["variables"].as_array().unwrap() {
            let form = forms.entry(variable["name"].as_str().unwrap()).or_insert(&entry["token"]);
            assert_eq!(*form, &entry["token"], "{}", variable["name"]);
        }
    }
}

#[test]
fn list_says_what_is_set_and_never_the_value() {
    let home = Home::new();
    let run = |args: &[&str]| {
        cofferdam(&home, args).env("GROQ_API_KEY", "gsk_canary0canary0canary0").env("XAI_API_KEY", "").run()
    };
    let text = run(&["providers", "list"]).expect_status(0);
    let line = |name: &str| {
        let text = text.stdout();
        text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap().to_owned()
    };
    assert!(line("groq").contains("GROQ_API_KEY"));
    assert!(!line("xai").contains("XAI_API_KEY"), "empty is not set");
    assert!(line("bedrock").contains("and 70 more"));
    for outcome in [&text, &run(&["providers", "list", "--json"]), &run(&["providers", "show", "groq"])] {
        assert!(!outcome.stdout().contains("canary") && !outcome.stderr().contains("canary"));
    }
}

#[test]
fn list_can_be_narrowed_to_a_kind() {
    let home = Home::new();
    let outcome =
        cofferdam(&home, &["providers", "list", "--kind", "cloud", "--json"]).run().expect_status(0);
    let listed = json(&outcome);
    let kinds: Vec<&Value> = listed.as_array().unwrap().iter().map(|entry| &entry["kind"]).collect();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == "cloud"), "{kinds:?}");
    cofferdam(&home, &["providers", "list", "--kind", "cloudy"]).run().expect_status(64);
}

#[test]
fn show_tells_the_whole_entry_in_words() {
    let home = Home::new();
    let shown = cofferdam(&home, &["providers", "show", "telegram"])
        .env("TELEGRAM_BOT_TOKEN", "1:x")
        .run()
        .expect_status(0)
        .stdout();
    assert_eq!(
        shown,
        "telegram\n\
         \x20 kind                messaging\n\
         \x20 hosts               api.telegram.org\n\
         \x20 ports               443\n\
         \x20 variables           TELEGRAM_BOT_TOKEN (set here)\n\
         \x20 credential goes to  path /bot…/; path /file/bot…/\n\
         \x20 stand-in            1000000000:AA… and 33 URL-safe base64 characters, 198 bits\n\
         \x20 checked             against aiogram 3.31.0\n"
    );
    let anthropic =
        json(&cofferdam(&home, &["providers", "show", "anthropic", "--json"]).run().expect_status(0));
    assert_eq!(anthropic["schemes"][0], "header x-api-key: …");
    assert_eq!(anthropic["schemes"][1], "header Authorization: Bearer …");
}

#[test]
fn an_unknown_name_is_a_mistake_with_the_nearest_one() {
    let home = Home::new();
    for (typed, near) in [
        ("anthropc", "anthropic"),
        ("open-router", "openrouter"),
        ("gemni", "gemini"),
        ("kimi-codin", "kimi-coding"),
    ] {
        let outcome = cofferdam(&home, &["providers", "show", typed]).run().expect_status(64);
        assert_eq!(
            outcome.stderr(),
            format!("cofferdam: there is no provider named “{typed}”\nhint: did you mean {near}?\n")
        );
    }
    let outcome = cofferdam(&home, &["providers", "show", "zzzzzzzzzz\x1b[31m"]).run().expect_status(64);
    assert!(!outcome.stderr().contains('\x1b'));
    assert!(outcome.stderr().contains("hint: see them all: cofferdam providers list"));
}

#[test]
fn req_s02_a_provider_of_the_users_own_is_listed_and_stripped() {
    let home = Home::new();
    home.write(
        "cofferdam/config.toml",
        "[[provider]]\nname = \"acme\"\nhosts = [\"api.acme.example\"]\nvariables = [\"ACME_LOGIN\"]\n\
         scheme = { header = \"Authorization\", template = \"Bearer {}\" }\n",
    );
    let acme = json(&cofferdam(&home, &["providers", "show", "acme", "--json"]).run().expect_status(0));
    assert_eq!(acme["checked"], "configured");
    let explained = cofferdam(&home, &["env", "explain", "ACME_LOGIN"]).env("ACME_LOGIN", "canary").run();
    assert!(explained.expect_status(1).stdout().contains("holds the credential of acme"));
}
