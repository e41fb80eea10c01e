//! Proxies that come as programs. They are fetched from their registries once, into the project's cache; where that
//! does not work they are left out.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use cofferdam_bench::harness::Bench;
use cofferdam_bench::peer::{self, Call};

use super::role::Running;

const SQUID: &[&str] = &["squid-openssl", "squid-common", "libecap3", "libltdl7"];
const MITMPROXY: &str = "mitmproxy==11.0.2";
const PATIENCE: Duration = Duration::from_secs(20);

/// Squid with `ssl-bump`: intercepts and passes on; it swaps nothing, redacts nothing and records nothing here.
pub fn squid(bench: &Bench, directory: &Path) -> Result<Running, String> {
    let root = unpacked(&bench.cache().join("squid"))?;
    let home = directory.join("squid");
    // It gives root up, and then wants to write here.
    open_to_all(directory, 0o755)?;
    fs::create_dir(&home).map_err(|error| error.to_string())?;
    open_to_all(&home, 0o777)?;
    let read = |name: &str| fs::read_to_string(directory.join(name)).map_err(|error| error.to_string());
    write(&home.join("both.pem"), &(read("ca.pem")? + &read("ca.key")?))?;
    let library = root.join("usr/lib/x86_64-linux-gnu");
    let generator = root.join("usr/lib/squid/security_file_certgen");
    let store = home.join("certificates");
    let mut make = peer::command(&generator);
    made(make.env("LD_LIBRARY_PATH", &library).args(["-c", "-s"]).arg(&store).args(["-M", "4MB"]))?;
    open_to_all(&store, 0o777)?;
    made(peer::command("/usr/bin/chmod").args(["-R", "a+rwX"]).arg(&home))?;
    let address = free_address()?;
    // Its pages are in a package of their own, and nobody sees one here; any directory will do.
    let share = root.join("usr/share/squid");
    let configuration = format!(
        "http_port {address} ssl-bump generate-host-certificates=on dynamic_cert_mem_cache_size=4MB \
         tls-cert={home}/both.pem\n\
         sslcrtd_program {generator} -s {store} -M 4MB\nssl_bump bump all\n\
         tls_outgoing_options cafile={directory}/ca.pem\nhttp_access allow all\ncache deny all\naccess_log none\n\
         cache_log {home}/log\npid_filename none\nvisible_hostname bench\nshutdown_lifetime 0 seconds\n\
         mime_table {share}/mime.conf\nerror_directory {share}\nicon_directory {share}/icons\n\
         unlinkd_program {unlink}\ncoredump_dir {home}\ncache_effective_user nobody\n\
         pinger_enable off\nmax_filedescriptors 65536\n",
        home = home.display(),
        generator = generator.display(),
        store = store.display(),
        directory = directory.display(),
        unlink = root.join("usr/lib/squid/unlinkd").display(),
        share = share.display(),
    );
    write(&home.join("squid.conf"), &configuration)?;
    let mut call = peer::command(root.join("usr/sbin/squid"));
    let child =
        call.env("LD_LIBRARY_PATH", &library).arg("-N").arg("-f").arg(home.join("squid.conf")).spawn();
    answering(child.map_err(|error| error.to_string())?, address)
}

fn unpacked(cache: &Path) -> Result<PathBuf, String> {
    let root = cache.join("root");
    if root.join("usr/sbin/squid").is_file() {
        return Ok(root);
    }
    fs::create_dir_all(cache).map_err(|error| error.to_string())?;
    made(peer::command("/usr/bin/apt-get").arg("-qq").arg("download").args(SQUID).current_dir(cache))?;
    let packages = fs::read_dir(cache).map_err(|error| error.to_string())?.flatten();
    for package in
        packages.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "deb"))
    {
        made(peer::command("/usr/bin/dpkg-deb").arg("-x").arg(package).arg(&root))?;
    }
    Ok(root)
}

/// What puts the credential in, in mitmproxy's own way.
const SWAP: &str = "\
class Swap:
    def request(self, flow):
        if flow.request.headers.get('authorization', '').startswith('Bearer '):
            flow.request.headers['authorization'] = 'Bearer sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz'
addons = [Swap()]
";

pub fn mitmproxy(bench: &Bench, directory: &Path) -> Result<Running, String> {
    let place = bench.cache().join("mitmproxy");
    let program = place.join("bin/mitmdump");
    if !program.is_file() {
        let python = peer::on_path("python3").ok_or("there is no Python")?;
        made(peer::command(python).args(["-m", "venv"]).arg(&place))?;
        made(peer::command(place.join("bin/pip")).args(["install", "-q", MITMPROXY]))?;
    }
    let home = directory.join("mitmproxy");
    fs::create_dir(&home).map_err(|error| error.to_string())?;
    let read = |name: &str| fs::read_to_string(directory.join(name)).map_err(|error| error.to_string());
    write(&home.join("mitmproxy-ca.pem"), &(read("ca.key")? + &read("ca.pem")?))?;
    write(&home.join("swap.py"), SWAP)?;
    let address = free_address()?;
    let child = peer::command(program)
        .env("HOME", &home)
        .args(["-q", "--listen-host", "127.0.0.1", "-p", &address.port().to_string()])
        .args(["--set", &format!("confdir={}", home.display())])
        .args(["--set", &format!("ssl_verify_upstream_trusted_ca={}", directory.join("ca.pem").display())])
        .arg("-s")
        .arg(home.join("swap.py"))
        .spawn();
    answering(child.map_err(|error| error.to_string())?, address)
}

fn made(call: &mut Call) -> Result<(), String> {
    match call.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} ended with {status}", call.get_program().to_string_lossy())),
        Err(error) => Err(format!("{}: {error}", call.get_program().to_string_lossy())),
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| error.to_string())
}

fn open_to_all(path: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| error.to_string())
}

/// Free a moment ago; programs that are told a port cannot be given a socket.
fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    listener.local_addr().map_err(|error| error.to_string())
}

fn answering(mut child: Child, address: SocketAddr) -> Result<Running, String> {
    let start = Instant::now();
    while TcpStream::connect(address).is_err() {
        if start.elapsed() > PATIENCE || child.try_wait().is_ok_and(|ended| ended.is_some()) {
            let _ = child.kill();
            let _ = child.wait();
            return Err("it does not start".to_owned());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(Running::other(child, address))
}
