//! The certificate authority that the sandboxes trust, and nobody else.
//!
//! The private key and its certificate are one file, `ca.key`, because two files cannot be put in place at one
//! moment: after a crash there is the old pair or the new one, never a key with another's certificate. `ca.crt` is
//! a copy of the certificate for everybody to read; it is written again whenever it is missing or differs.
//!
//! There are always two: the one that signs, and the one after it (`ca.next.key`). Clients trust both, so when the
//! second takes over, those that run go on working; a choice of authority for each client was rejected, because it
//! would need to be known who trusts what.
//!
//! It stops at the key's file: whoever may read it can speak for every host towards the sandboxes. That is why
//! the authority is ours alone, lasts a year, may sign no other authority, and is installed in no trust store of
//! the host.

use std::fmt;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cofferdam_linux_sys::private::{PrivateDir, PrivateError};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use time::OffsetDateTime;
use zeroize::Zeroizing;

const KEY_FILE: &str = "ca.key";
/// The authority after the present one: trusted already, and signing nothing yet.
const NEXT_KEY_FILE: &str = "ca.next.key";
const CERTIFICATE_FILE: &str = "ca.crt";
const LOCK_FILE: &str = "ca.lock";
/// A P-256 key and a small certificate in PEM are about one kilobyte.
const LONGEST_FILE: u64 = 16 * 1024;

const DAY: Duration = Duration::from_secs(24 * 3600);
const LIFE: Duration = DAY.saturating_mul(365);
/// An authority with less than this before it is replaced when it is loaded: a sandbox that starts now should
/// not outlive what it trusts.
const RENEWED_BEFORE: Duration = DAY.saturating_mul(7);
/// Clocks in virtual machines run behind.
pub(crate) const SKEW: Duration = Duration::from_secs(3600);

/// A certificate authority, able to sign. No `Debug`: it holds a private key.
pub struct Authority {
    certificate_pem: String,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    expires: SystemTime,
}

/// When the next authority takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Now,
    WhenDue,
}

impl Authority {
    /// Loads the authority below `directory`, or creates one. Two processes at once get the same one.
    pub fn load_or_create(directory: &Path) -> Result<Self, AuthorityError> {
        Self::load_or_create_at(directory, SystemTime::now())
    }

    /// Lets the next authority sign from now on, and makes another one for the time after it.
    pub fn rotate(directory: &Path) -> Result<Self, AuthorityError> {
        Self::change(directory, SystemTime::now(), Turn::Now)
    }

    fn load_or_create_at(directory: &Path, now: SystemTime) -> Result<Self, AuthorityError> {
        Self::change(directory, now, Turn::WhenDue)
    }

    fn change(directory: &Path, now: SystemTime, turn: Turn) -> Result<Self, AuthorityError> {
        let directory = PrivateDir::open_or_create(directory)?;
        let _lock = directory.lock(LOCK_FILE)?;
        let mut authority = match Self::load(&directory, KEY_FILE)? {
            Some(authority) => authority,
            None => Self::create(&directory, KEY_FILE, now)?,
        };
        let mut next = match Self::load(&directory, NEXT_KEY_FILE)? {
            // The same one is left by a death between the two steps of a turn.
            Some(next) if next.certificate != authority.certificate && !next.is_due(now) => next,
            _ => Self::create(&directory, NEXT_KEY_FILE, now)?,
        };
        if turn == Turn::Now || authority.is_due(now) {
            let bytes = Zeroizing::new(directory.read(NEXT_KEY_FILE, LONGEST_FILE)?);
            directory.write_atomically(KEY_FILE, &bytes)?;
            authority = next;
            next = Self::create(&directory, NEXT_KEY_FILE, now)?;
        }
        authority.certificate_pem.push_str(&next.certificate_pem);
        publish(&directory, authority.certificate_pem.as_bytes())?;
        Ok(authority)
    }

    fn is_due(&self, now: SystemTime) -> bool {
        self.expires < now + RENEWED_BEFORE
    }

    fn load(directory: &PrivateDir, file: &str) -> Result<Option<Self>, AuthorityError> {
        match directory.read(file, LONGEST_FILE) {
            Ok(bytes) => Self::parse(&Zeroizing::new(bytes), directory, file).map(Some),
            Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn create(directory: &PrivateDir, file: &str, now: SystemTime) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let params = params(now, &key);
        let certificate = params.self_signed(&key)?;
        let (key_pem, certificate_pem) = (Zeroizing::new(key.serialize_pem()), certificate.pem());
        let both = Zeroizing::new([key_pem.as_bytes(), certificate_pem.as_bytes()].concat());
        directory.write_atomically(file, &both)?;
        Ok(Self {
            certificate_pem,
            certificate: certificate.der().clone(),
            expires: params.not_after.into(),
            issuer: Issuer::new(params, key),
        })
    }

    fn parse(pem: &[u8], directory: &PrivateDir, file: &str) -> Result<Self, AuthorityError> {
        let broken = || AuthorityError::Broken { path: directory.path().join(file) };
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| broken())?;
        let key = KeyPair::try_from(&key).map_err(|_| broken())?;
        let certificate = CertificateDer::from_pem_slice(pem).map_err(|_| broken())?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).map_err(|_| broken())?;
        if parsed.public_key().subject_public_key.data != rcgen::PublicKeyData::der_bytes(&key) {
            return Err(broken());
        }
        let expires = SystemTime::from(parsed.validity().not_after.to_datetime());
        let text = std::str::from_utf8(pem).map_err(|_| broken())?;
        let start = text.find("-----BEGIN CERTIFICATE-----").ok_or_else(broken)?;
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|_| broken())?;
        Ok(Self { certificate_pem: text[start..].to_owned(), certificate, issuer, expires })
    }

    /// What a sandbox must trust: this authority, and the one after it.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// SHA-256 of the certificate, which is public, in hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        use sha2::Digest;
        sha2::Sha256::digest(&self.certificate).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub fn expires(&self) -> SystemTime {
        self.expires
    }

    pub(crate) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }
}

fn params(now: SystemTime, key: &KeyPair) -> CertificateParams {
    use sha2::Digest;
    // A name of its own: some clients look for whoever signed by name alone.
    let digest = sha2::Sha256::digest(rcgen::PublicKeyData::der_bytes(key));
    let number: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let mut params = CertificateParams::default();
    // Path length 0: it signs leaves and nothing that could sign in turn.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = OffsetDateTime::from(now - SKEW);
    params.not_after = OffsetDateTime::from(now + LIFE);
    params.distinguished_name.push(DnType::OrganizationName, "Cofferdam");
    params.distinguished_name.push(DnType::CommonName, format!("Cofferdam egress authority {number}"));
    params
}

/// Puts the certificate where everybody may read it. Not with the private writer, which makes and accepts
/// nothing that others may read; a link is an error here as well.
fn publish(directory: &PrivateDir, pem: &[u8]) -> Result<(), AuthorityError> {
    let path = directory.path().join(CERTIFICATE_FILE);
    let failed = |source| AuthorityError::Publish { path: path.clone(), source };
    match fs::symlink_metadata(&path) {
        Ok(metadata) if !metadata.is_file() => return Err(AuthorityError::NotAFile { path }),
        Ok(_) if fs::read(&path).is_ok_and(|there| there == pem) => return Ok(()),
        _ => {}
    }
    let temporary = directory.path().join(".ca.crt.tmp");
    // The lock is ours, so what stands there was left behind by a process that died.
    let _ = fs::remove_file(&temporary);
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o644).open(&temporary).map_err(failed)?;
    file.write_all(pem)
        .and_then(|()| file.set_permissions(Permissions::from_mode(0o644)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(failed)
}

/// Why there is no authority.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuthorityError {
    Private(PrivateError),
    /// The file is not a key with its certificate.
    Broken {
        path: PathBuf,
    },
    /// A link or a directory stands where the certificate belongs.
    NotAFile {
        path: PathBuf,
    },
    Publish {
        path: PathBuf,
        source: io::Error,
    },
    Sign(rcgen::Error),
}

impl AuthorityError {
    pub fn hint(&self) -> String {
        match self {
            Self::Private(error) => error.fix(),
            Self::Broken { path } => format!(
                "move {} away: a new authority is made at the next start, and running sandboxes must be started again",
                path.display()
            ),
            Self::NotAFile { path } => format!("look at who put it there, then remove {}", path.display()),
            Self::Publish { path, .. } => format!("check {} and the file system it is on", path.display()),
            Self::Sign(_) => "report this: a fresh key could not sign".to_owned(),
        }
    }
}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private(error) => error.fmt(f),
            Self::Broken { path } => write!(f, "{} is not a key with its certificate", path.display()),
            Self::NotAFile { path } => write!(f, "{} is not a regular file", path.display()),
            Self::Publish { path, source } => write!(f, "cannot write {}: {source}", path.display()),
            Self::Sign(error) => write!(f, "the authority cannot sign: {error}"),
        }
    }
}

impl std::error::Error for AuthorityError {}

impl From<PrivateError> for AuthorityError {
    fn from(error: PrivateError) -> Self {
        Self::Private(error)
    }
}

impl From<rcgen::Error> for AuthorityError {
    fn from(error: rcgen::Error) -> Self {
        Self::Sign(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private_directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
        directory
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn req_e06_it_is_created_once_and_its_key_is_private() {
        let home = private_directory();
        let directory = home.path().join("ca");
        let first = Authority::load_or_create(&directory).unwrap();
        let second = Authority::load_or_create(&directory).unwrap();
        assert_eq!(first.certificate(), second.certificate());
        assert_eq!(first.certificate_pem(), second.certificate_pem());
        assert_eq!(fs::read_to_string(directory.join("ca.crt")).unwrap(), first.certificate_pem());
        assert_eq!([mode(&directory), mode(&directory.join("ca.key"))], [0o700, 0o600]);
        assert_eq!(mode(&directory.join("ca.crt")), 0o644);
        assert!(!first.certificate_pem().contains("PRIVATE"));
        let whole_seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(whole_seconds(first.expires()), whole_seconds(second.expires()));
    }

    #[test]
    fn it_is_a_p256_authority_of_a_year_that_signs_no_other() {
        let home = private_directory();
        let authority = Authority::load_or_create(home.path()).unwrap();
        let (_, parsed) = x509_parser::parse_x509_certificate(authority.certificate()).unwrap();
        let constraints = parsed.basic_constraints().unwrap().unwrap();
        assert!(constraints.critical && constraints.value.ca);
        assert_eq!(constraints.value.path_len_constraint, Some(0));
        let validity = parsed.validity();
        assert_eq!((validity.not_after - validity.not_before).unwrap().whole_days(), 365);
        // An uncompressed point of a curve of 256 bits.
        assert_eq!(parsed.public_key().subject_public_key.data.len(), 65);
    }

    #[test]
    fn one_that_is_about_to_expire_is_replaced_and_a_missing_copy_restored() {
        let home = private_directory();
        let now = SystemTime::now();
        let first = Authority::load_or_create_at(home.path(), now).unwrap();
        fs::remove_file(home.path().join("ca.crt")).unwrap();
        let later = Authority::load_or_create_at(home.path(), now + 350 * DAY).unwrap();
        assert_eq!(first.certificate(), later.certificate());
        assert!(home.path().join("ca.crt").exists());
        let renewed = Authority::load_or_create_at(home.path(), now + 359 * DAY).unwrap();
        assert_ne!(first.certificate(), renewed.certificate());
        assert_eq!(fs::read_to_string(home.path().join("ca.crt")).unwrap(), renewed.certificate_pem());
    }

    #[test]
    fn req_e21_whoever_trusts_the_old_pair_trusts_the_new_authority_too() {
        let home = private_directory();
        let before = Authority::load_or_create(home.path()).unwrap();
        let after = Authority::rotate(home.path()).unwrap();
        assert_ne!(before.certificate(), after.certificate());
        let trusted = |authority: &Authority| {
            let pem = authority.certificate_pem().as_bytes().to_owned();
            CertificateDer::pem_slice_iter(&pem).map(Result::unwrap).collect::<Vec<_>>()
        };
        assert!(trusted(&before).contains(after.certificate()));
        assert!(!trusted(&after).contains(before.certificate()), "the old one goes with the old sandboxes");
        assert_eq!(Authority::load_or_create(home.path()).unwrap().certificate(), after.certificate());
        assert_eq!(fs::read_to_string(home.path().join("ca.crt")).unwrap(), after.certificate_pem());
        assert_eq!(mode(&home.path().join("ca.next.key")), 0o600);
    }

    #[test]
    fn a_death_in_the_middle_of_a_turn_leaves_an_authority_and_another_one_after_it() {
        let home = private_directory();
        let before = Authority::load_or_create(home.path()).unwrap();
        fs::copy(home.path().join("ca.next.key"), home.path().join("ca.key")).unwrap();
        let after = Authority::load_or_create(home.path()).unwrap();
        assert!(before.certificate_pem().contains(after.certificate_pem().split("-----END").next().unwrap()));
        assert_eq!(after.certificate_pem().matches("BEGIN CERTIFICATE").count(), 2);
        assert_eq!(
            after.certificate_pem(),
            Authority::load_or_create(home.path()).unwrap().certificate_pem()
        );
    }

    #[test]
    fn req_e06_what_was_planted_or_broken_is_an_error_that_names_the_path() {
        let refused = |prepare: &dyn Fn(&Path)| {
            let home = private_directory();
            prepare(home.path());
            Authority::load_or_create(home.path()).err().expect("refused").to_string()
        };
        let link = |name: &'static str| {
            move |home: &Path| std::os::unix::fs::symlink(home.join("elsewhere"), home.join(name)).unwrap()
        };
        assert!(refused(&link("ca.key")).contains("ca.key is a symbolic link"));
        assert!(refused(&link("ca.crt")).contains("ca.crt is not a regular file"));
        let other_key = |home: &Path| {
            let other = private_directory();
            let ours = Authority::load_or_create(home).unwrap();
            Authority::load_or_create(other.path()).unwrap();
            let text = fs::read_to_string(other.path().join("ca.key")).unwrap();
            let key = &text[..text.find("-----BEGIN CERT").unwrap()];
            let end = "-----END CERTIFICATE-----\n";
            let own = ours.certificate_pem().split_inclusive(end).next().unwrap();
            fs::write(home.join("ca.key"), [key, own].concat()).unwrap();
        };
        assert!(refused(&other_key).contains("is not a key with its certificate"));
        let open = |home: &Path| {
            Authority::load_or_create(home).unwrap();
            fs::set_permissions(home.join("ca.key"), Permissions::from_mode(0o640)).unwrap();
        };
        assert!(refused(&open).contains("has mode 0640"));
    }
}
