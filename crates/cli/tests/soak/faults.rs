//! What goes wrong, one thing after the other. Each ends when a request passes again.

use std::fs;
use std::time::Duration;

use cofferdam_testkit::processes::wait_until;
use rustix::process::{Pid, Signal, kill_process};

use super::bed::Bed;
use super::clock;
use super::scene::{CANARIES, Manner};
use super::tally::Tally;
use super::user::User;

const DAY: i64 = 24 * 3600;

pub fn all(bed: &Bed, tally: &Tally) {
    reloaded(bed, tally);
    wrongly_configured(bed, tally);
    tokens_rotated(bed, tally);
    authority_rotated(bed, tally);
    source_fails(bed, tally);
    key_replaced(bed, tally);
    disk_full(bed, tally);
    clock_moved(bed, tally);
    for signal in [Signal::KILL, Signal::ABORT] {
        worker_dies(bed, tally, signal);
    }
}

fn asked(bed: &Bed, tally: &Tally) -> String {
    User::new(bed, tally).ask(Manner::Well)
}

fn passes(bed: &Bed, tally: &Tally) -> bool {
    asked(bed, tally) == "200"
}

fn ends_with(bed: &Bed, tally: &Tally, reason: &str) {
    wait_until(reason, || asked(bed, tally) == reason);
}

fn reloaded(bed: &Bed, tally: &Tally) {
    for rules in [2000, 0] {
        bed.configure(rules);
        bed.egress(&["reload"]).expect_status(0);
        assert_eq!(asked(bed, tally), "200", "a reload disturbs nobody");
    }
}

fn wrongly_configured(bed: &Bed, tally: &Tally) {
    // Meanwhile no sandbox starts: who starts it reads the file as well.
    tally.while_wrong("a wrong configuration", &["not started"], || {
        bed.save_config("[egress]\nlissten = 1\n");
        bed.egress(&["reload"]).expect_status(78);
        assert_eq!(asked(bed, tally), "200", "what cannot be used changes nothing");
        bed.configure(0);
        bed.egress(&["reload"]).expect_status(0);
    });
}

fn tokens_rotated(bed: &Bed, tally: &Tally) {
    tally.while_wrong("tokens are rotated", &["token-revoked", "token-unknown"], || {
        bed.take_token(&bed.egress(&["rotate-tokens", "--yes", "--json"]).expect_status(0).stdout());
        wait_until("the new token is known", || passes(bed, tally));
    });
}

fn authority_rotated(bed: &Bed, tally: &Tally) {
    // The file is there a moment before the daemon is told.
    tally.while_wrong("the authority is rotated", &["lost"], || {
        bed.egress(&["rotate-ca"]).expect_status(0);
        wait_until("the new authority signs", || passes(bed, tally));
    });
}

/// When it works again it has another key, so that what still passes by the old one does not count.
fn source_fails(bed: &Bed, tally: &Tally) {
    tally.while_wrong("the source of the key fails", &["source-unavailable"], || {
        let broken = bed.home.write("keys/broken", "");
        ends_with(bed, tally, "source-unavailable");
        bed.home.write("keys/value", CANARIES[1]);
        fs::remove_file(broken).expect("it was written just now");
        wait_until("the source works again", || passes(bed, tally) && has_key(bed, CANARIES[1]));
    });
}

fn key_replaced(bed: &Bed, tally: &Tally) {
    let new = bed.home.write("keys/new", CANARIES[0]);
    fs::rename(new, bed.home.path().join("keys/value")).expect("a file of ours");
    wait_until("the new key is used", || {
        assert_eq!(asked(bed, tally), "200", "a key that changes at its source disturbs nobody");
        has_key(bed, CANARIES[0])
    });
}

/// Whether the last request that arrived had this key.
fn has_key(bed: &Bed, key: &str) -> bool {
    bed.upstream.arrived().last().is_some_and(|last| last.credential == key)
}

fn disk_full(bed: &Bed, tally: &Tally) {
    tally.while_wrong("the disk is full", &["record-unavailable", "not started"], || {
        bed.disk.fill();
        ends_with(bed, tally, "record-unavailable");
        bed.disk.make_room();
        wait_until("there is a record again", || passes(bed, tally));
    });
}

/// Of the daemon alone; whoever goes by the machine's clock then finds its certificates out of date.
fn clock_moved(bed: &Bed, tally: &Tally) {
    let Some(pids) = bed.processes().filter(|pids| clock::can_be_moved(pids[0])) else {
        println!("the clock was not moved: only root can move that of a process");
        return;
    };
    tally.while_wrong("the clock was moved", &["lost", "not started"], || {
        for days in [10, -10, 0] {
            pids.iter().for_each(|pid| clock::move_by(*pid, days * DAY));
            wait_until("certificates are valid by the new clock", || passes(bed, tally));
        }
    });
}

fn worker_dies(bed: &Bed, tally: &Tally, signal: Signal) {
    let explains = &["lost", "broken off", "proxy-restarting", "not started"];
    tally.while_wrong("the worker was killed", explains, || {
        let [_, worker] = bed.processes().expect("both are there");
        kill_process(Pid::from_raw(worker).expect("a number"), signal).expect("a signal");
        wait_until("another one serves", || {
            bed.processes().is_some_and(|[_, other]| other != worker) && passes(bed, tally)
        });
    });
    // Deaths in a row are answered with pauses that grow.
    std::thread::sleep(Duration::from_millis(200));
}
