//! Tools that fetch and send: package managers, git, and what speaks TLS by hand.

use cofferdam_testkit::upstream::{Made, Recorded, Reply};
use cofferdam_testkit::{Cofferdam, Home, clients};

use super::World;

const GITHUB: &str = "ghp_real0123456789real0123456789real0123";
/// A crate of nothing, an npm package and a wheel, with the digests that registries tell.
const PACK: &str = r#"
import hashlib, io, json, tarfile, zipfile
def tar(name, files):
    with tarfile.open(name, 'w:gz') as archive:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return hashlib.sha256(open(name, 'rb').read()).hexdigest()
tar('left.tgz', {'package/package.json': json.dumps({'name': 'left', 'version': '1.0.0', 'main': 'i.js'}), 'package/i.js': 'module.exports = "left"'})
print(tar('left.crate', {'left-1.0.0/Cargo.toml': '[package]\nname = "left"\nversion = "1.0.0"\nedition = "2021"\n', 'left-1.0.0/src/lib.rs': ''}))
with zipfile.ZipFile('left.whl', 'w') as wheel:
    wheel.writestr('left.py', 'word = "left"\n')
    wheel.writestr('left-1.0.0.dist-info/METADATA', 'Metadata-Version: 2.1\nName: left\nVersion: 1.0.0\n')
    wheel.writestr('left-1.0.0.dist-info/WHEEL', 'Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    wheel.writestr('left-1.0.0.dist-info/RECORD', 'left.py,,\nleft-1.0.0.dist-info/METADATA,,\nleft-1.0.0.dist-info/WHEEL,,\nleft-1.0.0.dist-info/RECORD,,\n')
"#;

/// The packages, and the digest of the crate.
fn pack() -> (Home, String) {
    let home = Home::new();
    let packed = Cofferdam::new("/usr/bin/python3", &home).args(["-I", "-c", PACK]).run().expect_status(0);
    let digest = packed.stdout().trim().to_owned();
    (home, digest)
}

fn packed(home: &Home, name: &str) -> Vec<u8> {
    std::fs::read(home.path().join(name)).expect("what was packed")
}

#[test]
fn req_e17_pip_uv_and_npm_install_from_their_registries() {
    let hosts = ["pypi.org", "files.pythonhosted.org", "registry.npmjs.org"];
    let world = World::new(&hosts, 3, &[]);
    let (home, _) = pack();
    let wheel = "left-1.0.0-py3-none-any.whl";
    let index = format!("<a href=\"https://files.pythonhosted.org/{wheel}\">{wheel}</a>");
    world.answer("/simple/left/", "text/html", index);
    world.answer(&format!("/{wheel}"), "application/zip", packed(&home, "left.whl"));
    let version = r#"{"name": "left", "version": "1.0.0", "dist": {"tarball": "https://registry.npmjs.org/left/-/left-1.0.0.tgz"}}"#;
    let document = format!(
        r#"{{"name": "left", "dist-tags": {{"latest": "1.0.0"}}, "versions": {{"1.0.0": {version}}}}}"#
    );
    world.answer("/left", "application/json", document);
    world.answer("/left/-/left-1.0.0.tgz", "application/octet-stream", packed(&home, "left.tgz"));
    let used = "PYTHONPATH=lib python3 -c 'import left; print(left.word)'; rm -rf lib";
    let pip = format!("python3 -m pip install --quiet --disable-pip-version-check --target lib left; {used}");
    assert_eq!(world.shell(&[], &pip), "left\n");
    let uv = clients::installed("python").join("bin/uv");
    let readable = uv.display().to_string();
    let uv =
        format!("{} pip install --quiet --python /usr/bin/python3 --target lib left; {used}", uv.display());
    assert_eq!(world.shell(&["--read", &readable], &uv), "left\n");
    let npm =
        "npm install --silent --no-audit --no-fund --no-update-notifier left; node -p 'require(\"left\")'";
    assert!(world.shell(&[], npm).ends_with("left\n"));
}

#[test]
fn req_e17_cargo_fetches_from_its_registry() {
    let cargo = std::path::Path::new(env!("CARGO"));
    let Some(bin) = cargo.parent().filter(|_| cargo.exists()) else {
        eprintln!("SKIPPED: the toolchain is out of this user's reach");
        return;
    };
    let world = World::new(&["index.crates.io", "static.crates.io"], 2, &[]);
    let (home, digest) = pack();
    world.answer("/config.json", "application/json", r#"{"dl": "https://static.crates.io/crates"}"#);
    let line = format!(
        r#"{{"name":"left","vers":"1.0.0","deps":[],"cksum":"{digest}","features":{{}},"yanked":false}}"#
    );
    world.answer("/le/ft/left", "text/plain", line);
    world.answer("/crates/left/1.0.0/download", "application/gzip", packed(&home, "left.crate"));
    world.home.write(
        "project/Cargo.toml",
        "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nleft = \"1\"\n",
    );
    world.home.write("project/src/lib.rs", "");
    let toolchain = bin.parent().expect("a toolchain").display().to_string();
    let script = format!(
        "export PATH={toolchain}/bin:$PATH CARGO_HOME=$HOME/cargo; cargo fetch --quiet; grep -c left-1.0.0 -r $CARGO_HOME/registry/cache -l | wc -l"
    );
    world.shell(&["--read", &toolchain], &script);
    assert!(world.home.read("project/Cargo.lock").contains(&digest));
}

/// Git's own server, behind the upstream.
fn serve_repositories(world: &World) {
    let root = world.home.path().join("served");
    let bare = root.join("repo.git");
    std::fs::create_dir_all(&bare).expect("a directory");
    let git = |words: &[&str]| {
        Cofferdam::new("/usr/bin/env", &world.home)
            .args(["git", "-C"])
            .arg(&bare)
            .args(words)
            .run()
            .expect_status(0);
    };
    git(&["init", "--quiet", "--bare", "--initial-branch=main"]);
    git(&["config", "http.receivepack", "true"]);
    for path in ["/repo.git/info/refs", "/repo.git/git-upload-pack", "/repo.git/git-receive-pack"] {
        let root = root.clone();
        world.upstream.route(path, Reply::made(move |request| backend(&root, request)));
    }
}

fn backend(root: &std::path::Path, request: &Recorded) -> Made {
    let header = |name: &str| String::from_utf8_lossy(request.header(name).unwrap_or_default()).into_owned();
    if header("authorization").is_empty() {
        return (401, vec![("www-authenticate".to_owned(), "Basic realm=\"git\"".to_owned())], Vec::new());
    }
    let at = request.target.find("/repo.git").expect("the repository");
    let (path, query) = request.target[at..].split_once('?').unwrap_or((&request.target[at..], ""));
    let home = Home::new();
    let ended = Cofferdam::new("/usr/bin/env", &home)
        .args(["git", "-c", "safe.directory=*", "http-backend"])
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "somebody")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .input(request.body.clone())
        .run();
    let output = ended.stdout_bytes();
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let headers = headers.filter(|(name, _)| !name.eq_ignore_ascii_case("status"));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    (200, headers, output[end + 4..].to_vec())
}

#[test]
fn req_e07_git_clones_and_pushes_with_a_token_in_the_place_of_the_key() {
    let world = World::new(&["github.com"], 0, &[("GITHUB_TOKEN", GITHUB)]);
    serve_repositories(&world);
    let script = "\
        git config --global user.email a@example.test; git config --global user.name A\n\
        git config --global credential.helper '!f() { echo username=x-access-token; echo password=$GITHUB_TOKEN; }; f'\n\
        git clone --quiet https://github.com/repo.git 2>/dev/null; cd repo; git checkout --quiet -B main\n\
        echo text > file; git add file; git commit --quiet -m one; git push --quiet origin main\n\
        cd ..; git clone --quiet https://github.com/repo.git again; cat again/file";
    assert_eq!(world.shell(&[], script), "text\n");
    let sent = world.headers("/git-receive-pack", "authorization");
    let real = "Basic eC1hY2Nlc3MtdG9rZW46Z2hwX3JlYWwwMTIzNDU2Nzg5cmVhbDAxMjM0NTY3ODlyZWFsMDEyMw==";
    assert!(!sent.is_empty() && sent.iter().all(|header| header == real), "{sent:?}");
}

#[test]
fn req_e17_i10_what_speaks_tls_by_hand_trusts_the_same_and_is_refused_alike() {
    let world = World::new(&["plain.example.test"], 1, &[]);
    world.answer("/", "text/plain", "hello");
    let ask = |host: &str| {
        format!(
            "printf 'GET / HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -servername {host} -connect {host}:443 2>/dev/null"
        )
    };
    assert!(world.shell(&[], &ask("plain.example.test")).ends_with("hello"));
    assert!(!world.shell(&[], &format!("{} || true", ask("evil.example"))).contains("hello"));
    let refused = "fetch('https://evil.example/').catch(e => console.log(e.cause.code))";
    assert_eq!(world.shell(&[], &format!("node -e \"{refused}\"")), "ENOTFOUND\n");
}
