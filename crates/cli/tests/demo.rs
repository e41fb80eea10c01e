//! `cofferdam demo`: what a person sees first.

use cofferdam_testkit::{Cofferdam, Home};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
fn req_e01_the_demo_shows_the_key_used_and_every_try_to_steal_it_failing() {
    let home = Home::new();
    let run = Cofferdam::new(COFFERDAM, &home).arg("demo").run().expect_status(0);
    assert!(run.stdout().contains("the host got the real key"), "{}", run.stdout());
    assert!(run.stdout().contains("None of 14 tries worked."), "{}", run.stdout());
    assert!(!run.stdout().contains('\u{1b}'), "no colours into a file");
    let run = Cofferdam::new(COFFERDAM, &home).args(["demo", "--json"]).run().expect_status(0);
    assert!(run.stdout().contains("\"worked\": false") && !run.stdout().contains("\"worked\": true"));
}
