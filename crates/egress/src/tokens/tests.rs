//! What a token is worth, to whom, for how long.

use cofferdam_policy::registry::built_in;

use super::*;

#[test]
fn req_e23_tokens_have_the_providers_form_and_never_repeat() {
    let tokens = Tokens::default();
    let client = ClientId::new();
    for provider in built_in() {
        let (one, two) = (
            tokens.mint(client, provider, Life::Sandbox).unwrap(),
            tokens.mint(client, provider, Life::Sandbox).unwrap(),
        );
        assert_ne!(one.expose(), two.expose());
        let rest = one.expose().strip_prefix(&*provider.token.prefix).unwrap();
        assert_eq!(rest.len(), usize::from(provider.token.length));
        assert!(rest.chars().all(|c| provider.token.alphabet.characters().contains(c)));
    }
}

#[test]
fn req_e23_a_token_is_worth_something_to_one_client_for_one_provider_for_its_time() {
    let tokens = Tokens::default();
    let (client, other) = (ClientId::new(), ClientId::new());
    let provider = &built_in()[0];
    let now = Instant::now();
    let end = now + Duration::from_secs(60);
    let token = tokens.mint(client, provider, Life::Until(end)).unwrap();
    let worth = |client, provider: &str, now| tokens.worth(token.expose().as_bytes(), client, provider, now);
    assert_eq!(worth(client, &provider.name, now), Worth::Good);
    assert_eq!(worth(other, &provider.name, now), Worth::OtherClient);
    assert_eq!(worth(client, "another", now), Worth::OtherProvider);
    assert_eq!(worth(client, &provider.name, end), Worth::Expired);
    assert_eq!(tokens.worth(b"guess", client, &provider.name, now), Worth::Unknown);
    tokens.revoke(token.expose());
    assert_eq!(worth(client, &provider.name, now), Worth::Revoked);
    let around = format!("x={}&y", token.expose());
    assert!(tokens.stand_in(around.as_bytes()));
    assert!(!tokens.stand_in(&around.as_bytes()[..around.len() - 4]));
    let place = 2..2 + token.expose().len();
    assert_eq!(tokens.places_in(&around), std::slice::from_ref(&place));
    tokens.forget(client);
    assert_eq!(worth(client, &provider.name, now), Worth::Unknown);
}

#[test]
fn req_e11_tokens_that_were_made_before_are_known_again_and_replaced_ones_are_revoked() {
    let (tokens, client) = (Tokens::default(), ClientId::new());
    let provider = &built_in()[0];
    let [old, new] = [(); 2].map(|()| Token::random(provider).unwrap());
    let kept = |token: &Token| KeptToken::of(&provider.name, token);
    let worth =
        |token: &Token| tokens.worth(token.expose().as_bytes(), client, &provider.name, Instant::now());
    tokens.replace(client, &[(provider, kept(&old).digest)]);
    assert_eq!([worth(&old), worth(&new)], [Worth::Good, Worth::Unknown]);
    assert_eq!(tokens.kept(client), [kept(&old)]);
    tokens.replace(client, &[(provider, kept(&new).digest)]);
    assert_eq!([worth(&old), worth(&new)], [Worth::Revoked, Worth::Good]);
    assert_eq!(tokens.kept(client), [kept(&new)]);
}

#[test]
fn req_e20_a_token_that_was_asked_for_is_known_to_whoever_takes_the_client_over() {
    let provider = built_in().iter().find(|provider| is_asked_for(provider)).expect("one of them");
    let workers = [Tokens::default(), Tokens::default(), Tokens::default()];
    workers.iter().take(2).for_each(|worker| worker.pair_by(Zeroizing::new([7; 32])));
    let (first, second) = (ClientId::new(), ClientId::new());
    workers[0].mint(first, provider, Life::Sandbox).unwrap();
    let (issued, left) = workers[0].issue(first, provider).unwrap();
    assert_eq!(workers[0].issue(first, provider).unwrap().0, issued);
    assert!(left.as_secs() > ISSUED_FOR - 5);
    let kept = workers[0].kept(first);
    assert_eq!(kept.len(), 1, "what was issued is not kept");
    let worth = |worker: &Tokens| {
        worker.replace(second, &[(provider, kept[0].digest)]);
        worker.worth(issued.as_bytes(), second, &provider.name, Instant::now())
    };
    assert_eq!(workers.each_ref().map(worth)[1..], [Worth::Good, Worth::Unknown], "by the key alone");
    let other = ClientId::new();
    assert_ne!(workers[1].issue(other, provider).unwrap().0, issued, "another client has another");
}
