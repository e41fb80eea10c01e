//! A conversation between two ends, and those that must not take place.

use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use cofferdam_control::CONTROL_SOCKET;
use cofferdam_control::channel::{Channel, LONGEST, MAX_DESCRIPTORS, memory_file, read_memory_file};
use cofferdam_control::connection::{ConnectError, Connection, Hello};
use cofferdam_control::messages::egress::{self, Health};
use cofferdam_control::messages::{Reply, Request};
use cofferdam_control::place::Place;
use tempfile::TempDir;

fn private() -> TempDir {
    tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o700)).tempdir().expect("a directory")
}

#[test]
fn req_e32_a_question_and_its_answer_with_a_descriptor_pass_through_the_socket() {
    let directory = private();
    let listener = Place::open(directory.path()).unwrap().listen(CONTROL_SOCKET).unwrap();
    let server = thread::spawn(move || {
        let (channel, peer) = listener.accept().unwrap().unwrap();
        assert_eq!(peer.uid(), rustix::process::geteuid().as_raw());
        let (hello, _) = channel.receive::<Hello>().unwrap().unwrap();
        assert!(hello.fits());
        channel.send(&Hello::own(), &[]).unwrap();
        let (request, given) = channel.receive::<Request>().unwrap().unwrap();
        assert!(matches!(request, Request::Egress(egress::Request::Health)));
        let health = Health { serving: true, restarts: given.len() as u64 };
        channel.send(&Reply::Egress(egress::Reply::Health(health)), &[given[0].as_fd()]).unwrap();
    });
    let connection = Connection::open(directory.path()).unwrap();
    let given = memory_file(b"handed over").unwrap();
    let (reply, back) = connection.ask(&Request::Egress(egress::Request::Health), &[given.as_fd()]).unwrap();
    assert!(matches!(reply, Reply::Egress(egress::Reply::Health(Health { restarts: 1, .. }))));
    let mut file = std::fs::File::from(back.into_iter().next().unwrap());
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "handed over");
    server.join().unwrap();
    assert!(!directory.path().join(CONTROL_SOCKET).exists(), "the name is gone with the listener");
    assert!(matches!(Connection::open(directory.path()), Err(ConnectError::NotRunning)));
}

#[test]
fn req_e32_a_directory_that_others_can_enter_holds_no_socket() {
    let directory = private();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    assert!(Place::open(directory.path()).is_err());
    let inside = directory.path().join("run");
    Place::create(&inside).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&inside, &link).unwrap();
    assert!(Place::open(&link).is_err(), "a link is not followed");
}

#[test]
fn a_socket_that_a_crash_left_is_taken_over_and_one_in_use_is_not() {
    let directory = private();
    let first = Place::open(directory.path()).unwrap().listen(CONTROL_SOCKET).unwrap();
    let taken = Place::open(directory.path()).unwrap().listen(CONTROL_SOCKET).unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    // What a killed process leaves: the name without a listener.
    let name = directory.path().join(CONTROL_SOCKET);
    let kept = directory.path().join("kept");
    std::fs::hard_link(&name, &kept).unwrap();
    drop(first);
    std::fs::rename(&kept, &name).unwrap();
    Place::open(directory.path()).unwrap().listen(CONTROL_SOCKET).unwrap();
}

#[test]
fn ends_of_different_versions_do_not_talk() {
    let (ours, theirs) = Channel::pair().unwrap();
    theirs.send(&Hello { protocol: u32::MAX, version: "9.9".to_owned() }, &[]).unwrap();
    assert!(matches!(Connection::over(ours), Err(ConnectError::OtherVersion(version)) if version == "9.9"));
}

#[test]
fn a_long_message_arrives_whole_and_one_that_is_too_long_is_not_sent() {
    let (ours, theirs) = Channel::pair().unwrap();
    let long = "x".repeat(1 << 20);
    ours.send(&long, &[]).unwrap();
    assert_eq!(theirs.receive::<String>().unwrap().unwrap().0, long);
    assert!(ours.send(&"x".repeat(LONGEST), &[]).is_err());
}

/// The end may go at any moment between the looks of the one who reads.
#[test]
fn the_last_word_of_an_end_that_closes_with_something_unread_arrives() {
    for _ in 0..300 {
        let (ours, theirs) = Channel::pair().unwrap();
        ours.send(&"never read", &[]).unwrap();
        let leaving = thread::spawn(move || theirs.send(&"why I go", &[]));
        let heard = ours.receive::<String>().unwrap().map(|(word, _)| word);
        leaving.join().unwrap().unwrap();
        assert_eq!(heard.as_deref(), Some("why I go"));
    }
}

#[test]
fn what_would_keep_the_reader_waiting_is_refused() {
    let (pipe, _input) = rustix::pipe::pipe().unwrap();
    assert!(read_memory_file(pipe).is_err());
}

#[test]
fn too_many_descriptors_are_refused_and_garbage_is_an_error() {
    let (ours, theirs) = Channel::pair().unwrap();
    let file = memory_file(b"").unwrap();
    let many = vec![file.as_fd(); MAX_DESCRIPTORS + 1];
    assert!(ours.send(&1, &many).is_err());
    ours.send(&"not a request", &[]).unwrap();
    assert!(theirs.receive::<Request>().is_err());
    drop(ours);
    assert!(theirs.receive::<Request>().unwrap().is_none());
}
