//! Certificates for the hosts that a sandbox asks for, signed when they are first needed.
//!
//! All leaves have one key, made anew every day: then a cold host costs one signature, and no key. A key per host
//! was rejected: it protects nothing, since all of them would lie in the same process. What a leaf costs is paid
//! once: whoever asks for the same host meanwhile waits for the first one's, and the others are not held up.
//!
//! A leaf is only signed for a host that may be reached, so the number of them is bounded by what a policy allows,
//! and by [`CAPACITY`] where a policy allows all names below one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use cofferdam_policy::host::Host;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType};
use rcgen::{PKCS_ECDSA_P256_SHA256, string::Ia5String};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, sign::any_ecdsa_type};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls::{ServerConfig, version};
use time::OffsetDateTime;

use crate::authorize::Tunnel;
use crate::ca::{Authority, SKEW};

/// The most hosts that are remembered; the one that came first goes first.
const CAPACITY: usize = 4096;
const ROTATED_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Longer than a key is used, so that no connection meets a leaf that has just expired.
const LIFE: Duration = Duration::from_secs(7 * 24 * 3600);

/// What the proxy shows to clients as the hosts they asked for.
pub(crate) struct Leaves {
    authority: ArcSwap<Authority>,
    provider: Arc<CryptoProvider>,
    /// One for all hosts. A client may resume a session under another name with it; which host is meant is
    /// agreed on by name before any of this, so that gains it nothing.
    ticketer: Arc<dyn ProducesTickets>,
    day: Mutex<Day>,
}

/// One day's key and what was signed for it.
struct Day {
    since: Moment,
    key: Arc<LeafKey>,
    hosts: HashMap<Host, Arc<Slot>>,
    order: VecDeque<Host>,
}

/// By both clocks: one stands still while the machine sleeps, the other can be set.
#[derive(Clone, Copy)]
struct Moment {
    steady: Instant,
    wall: SystemTime,
}

struct LeafKey {
    pair: KeyPair,
    signing: Arc<dyn SigningKey>,
}

type Slot = OnceLock<Result<Arc<ServerConfig>, LeafError>>;

/// A leaf could not be made: the certificate library refused the host or the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafError;

impl Leaves {
    pub fn new(authority: Arc<Authority>, provider: Arc<CryptoProvider>) -> Result<Self, LeafError> {
        let ticketer = Ticketer::new().map_err(|_| LeafError)?;
        let day = Mutex::new(Day::begin(Moment::now())?);
        Ok(Self { authority: ArcSwap::new(authority), provider, ticketer, day })
    }

    /// Signs by another authority from now on; nothing that the one before signed is shown any more.
    pub fn replace_authority(&self, authority: Arc<Authority>) -> Result<(), LeafError> {
        let fresh = Day::begin(Moment::now())?;
        let mut day = self.day.lock().unwrap_or_else(PoisonError::into_inner);
        self.authority.store(authority);
        *day = fresh;
        Ok(())
    }

    /// The configuration with which to answer a client whose tunnel may be opened.
    pub fn config(&self, tunnel: &Tunnel) -> Result<Arc<ServerConfig>, LeafError> {
        self.config_at(tunnel.target().host(), Moment::now())
    }

    fn config_at(&self, host: &Host, now: Moment) -> Result<Arc<ServerConfig>, LeafError> {
        let (key, slot) = {
            let mut day = self.day.lock().unwrap_or_else(PoisonError::into_inner);
            if day.since.is_over(now) {
                *day = Day::begin(now)?;
            }
            (day.key.clone(), day.slot(host))
        };
        slot.get_or_init(|| self.sign(host, &key)).clone()
    }

    fn sign(&self, host: &Host, key: &LeafKey) -> Result<Arc<ServerConfig>, LeafError> {
        let authority = self.authority.load();
        let params = params(host, authority.expires())?;
        let leaf = params.signed_by(&key.pair, authority.issuer()).map_err(|_| LeafError)?;
        let certified = CertifiedKey::new(vec![leaf.der().clone()], key.signing.clone());
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(|_| LeafError)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Tickets cost the client memory, a store would cost ours.
        config.ticketer = self.ticketer.clone();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 1;
        Ok(Arc::new(config))
    }
}

impl Moment {
    fn now() -> Self {
        Self { steady: Instant::now(), wall: SystemTime::now() }
    }

    /// Whether the day that began then has passed by either clock. One that was set back makes what was signed not
    /// valid yet: that is over as well, before it is noticed.
    fn is_over(self, now: Self) -> bool {
        let by_wall = match now.wall.duration_since(self.wall) {
            Ok(elapsed) => elapsed >= ROTATED_AFTER,
            Err(set_back) => set_back.duration() >= SKEW / 2,
        };
        by_wall || now.steady.saturating_duration_since(self.steady) >= ROTATED_AFTER
    }
}

impl Day {
    fn begin(now: Moment) -> Result<Self, LeafError> {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|_| LeafError)?;
        let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(pair.serialize_der()));
        let signing = any_ecdsa_type(&der).map_err(|_| LeafError)?;
        let key = Arc::new(LeafKey { pair, signing });
        Ok(Self { since: now, key, hosts: HashMap::new(), order: VecDeque::new() })
    }

    fn slot(&mut self, host: &Host) -> Arc<Slot> {
        if let Some(slot) = self.hosts.get(host) {
            return slot.clone();
        }
        if self.order.len() >= CAPACITY
            && let Some(oldest) = self.order.pop_front()
        {
            self.hosts.remove(&oldest);
        }
        let slot = Arc::new(Slot::new());
        self.order.push_back(host.clone());
        self.hosts.insert(host.clone(), slot.clone());
        slot
    }
}

fn params(host: &Host, authority_expires: SystemTime) -> Result<CertificateParams, LeafError> {
    let now = SystemTime::now();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![match host {
        Host::Name(name) => SanType::DnsName(Ia5String::try_from(name.as_str()).map_err(|_| LeafError)?),
        Host::Address(address) => SanType::IpAddress(*address),
    }];
    // The name stands in the alternative names; a common name has no room for a long one.
    params.distinguished_name.push(DnType::CommonName, "Cofferdam egress");
    params.not_before = OffsetDateTime::from(now - SKEW);
    params.not_after = OffsetDateTime::from((now + LIFE).min(authority_expires));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};

    use super::*;

    struct Fixture {
        leaves: Leaves,
        client: Arc<ClientConfig>,
    }

    fn fixture() -> Fixture {
        let home = tempfile::tempdir().unwrap();
        let authority = Arc::new(Authority::load_or_create(&home.path().join("ca")).unwrap());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(authority.certificate().clone()).unwrap();
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Fixture { leaves: Leaves::new(authority, provider).unwrap(), client: Arc::new(client) }
    }

    impl Fixture {
        fn config(&self, host: &str) -> Arc<ServerConfig> {
            self.leaves.config_at(&Host::parse(host).unwrap(), Moment::now()).unwrap()
        }

        /// A whole handshake in memory, as a client that trusts the authority alone.
        fn accepts(&self, config: Arc<ServerConfig>, name: &str) -> Result<(), rustls::Error> {
            let name = ServerName::try_from(name.to_owned()).unwrap();
            let mut client = ClientConnection::new(self.client.clone(), name).unwrap();
            let mut server = ServerConnection::new(config).unwrap();
            while client.is_handshaking() || server.is_handshaking() {
                let mut wire = Vec::new();
                client.write_tls(&mut wire).unwrap();
                server.read_tls(&mut wire.as_slice()).unwrap();
                server.process_new_packets()?;
                wire.clear();
                server.write_tls(&mut wire).unwrap();
                client.read_tls(&mut wire.as_slice()).unwrap();
                client.process_new_packets()?;
            }
            Ok(())
        }
    }

    #[test]
    fn clients_accept_a_leaf_for_its_own_host_and_for_no_other() {
        let fixture = fixture();
        for (host, name) in [
            ("api.example.com", "api.example.com"),
            ("API.Example.com.", "api.example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("192.0.2.7", "192.0.2.7"),
            ("[2001:db8::7]", "2001:db8::7"),
        ] {
            assert_eq!(fixture.accepts(fixture.config(host), name), Ok(()), "{host}");
        }
        assert!(fixture.accepts(fixture.config("api.example.com"), "example.com").is_err());
        assert!(fixture.accepts(fixture.config("192.0.2.7"), "192.0.2.8").is_err());
    }

    #[test]
    fn many_at_once_get_one_leaf_and_all_hosts_share_the_days_key() {
        let fixture = fixture();
        let configs = std::thread::scope(|scope| {
            let ask = || scope.spawn(|| fixture.config("a.example"));
            let threads: Vec<_> = (0..8).map(|_| ask()).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(configs.iter().all(|config| Arc::ptr_eq(config, &configs[0])));
        let key = |leaves: &Leaves| leaves.day.lock().unwrap().key.clone();
        let before = key(&fixture.leaves);
        fixture.config("b.example");
        assert!(Arc::ptr_eq(&before, &key(&fixture.leaves)));
    }

    #[test]
    fn the_key_is_new_every_day_and_the_hosts_are_bounded() {
        let fixture = fixture();
        let host = Host::parse("a.example").unwrap();
        let start = Moment::now();
        let first = fixture.leaves.config_at(&host, start).unwrap();
        let late = start.steady + ROTATED_AFTER + Duration::from_secs(1);
        let second = fixture.leaves.config_at(&host, Moment { steady: late, ..start }).unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        assert_eq!(fixture.accepts(second, "a.example"), Ok(()));
        let mut day = fixture.leaves.day.lock().unwrap();
        for number in 0..CAPACITY + 10 {
            day.slot(&Host::parse(&format!("n{number}.example")).unwrap());
        }
        assert_eq!((day.hosts.len(), day.order.len()), (CAPACITY, CAPACITY));
        assert!(!day.hosts.contains_key(&host));
    }

    #[test]
    fn a_clock_that_is_set_ends_the_day_and_one_that_is_corrected_does_not() {
        let start = Moment::now();
        let at = |wall: SystemTime| Moment { wall, ..start };
        assert!(!start.is_over(start));
        // As after a week's sleep, which the steady clock does not count.
        assert!(start.is_over(at(start.wall + ROTATED_AFTER)));
        assert!(start.is_over(at(start.wall - SKEW)));
        assert!(!start.is_over(at(start.wall - Duration::from_secs(60))));
    }
}
