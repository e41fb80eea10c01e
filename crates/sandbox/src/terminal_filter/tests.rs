use super::*;
use proptest::prelude::*;

fn filtered(bytes: &[u8]) -> Sorted {
    TerminalFilter::new().sort(bytes)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&filtered(bytes).to_terminal).into_owned()
}

#[test]
fn what_asks_writes_or_draws_is_dropped() {
    let hostile: &[&[u8]] = &[
        b"\x1b]52;c;Y2FuYXJ5\x07",
        b"\x1b]52;c;Y2FuYXJ5\x1b\\",
        b"\x1b]52;c;Y2FuYXJ5\xc2\x9c",
        b"\x1b]52;c;?\x07",
        b"\x1b[21t",
        b"\x1b[20t",
        b"\x1b[14t",
        b"\x1bP$qm\x1b\\",
        b"\x1bP+q544e\x1b\\",
        b"\x1bPq#0;2;0;0;0#0~~@@vv\n@@~~$-\x1b\\",
        b"\x1b_Gi=31,s=1,v=1,a=q;AAAA\x1b\\",
        b"\x1b^private\x1b\\",
        b"\x1bXstart\x1b\\",
        b"\x1b[?6n",
        b"\x1b[6;1n",
        b"\x1b[>c",
        b"\x1b[=c",
        b"\x1b[>q",
        b"\x1b[x",
        b"\x1b[5i",
        b"\x1b[?u",
        b"\x1b[?1$p",
        b"\x1b[1;1;1;1;1;1*y",
        b"\x1b[?2;1S",
        b"\x1b[1+p",
        b"\x1b]11;?\x07",
        b"\x1b]4;1;?\x07",
        b"\x1b]8;;https://example.com\x07",
        b"\x1b]1337;File=:AAAA\x07",
        b"\x1b]777;notify;a;b\x07",
        b"\x1b]0;title\x1b[21t\x07",
        b"\x1b[?9999h",
        b"\x05",
        b"\xc2\x9b6n",
        b"\xc2\x9d52;c;Y2FuYXJ5\xc2\x9c",
        b"\x9b6n",
        b"\xe0\x82\x9b6n",
    ];
    for sequence in hostile {
        let shown = shown(sequence);
        assert!(!shown.chars().any(char::is_control) || shown == "\x07", "{sequence:x?} gave {shown:?}");
        assert!(!shown.contains("Y2Fu") || sequence.starts_with(b"\xc2"), "{sequence:x?} gave {shown:?}");
    }
}

#[test]
fn what_looks_and_moves_is_passed_on_as_it_is() {
    for harmless in [
        "\x1b[0m\x1b[1;38;5;196mred\x1b[m",
        "\x1b[38:2::255:0:0m",
        "\x1b[2J\x1b[H\x1b[10;20H\x1b[3A\x1b[K\x1b[1;24r",
        "\x1b[?25l\x1b[?25h\x1b[?1049h\x1b[?1049l\x1b[?2004h\x1b[?1006;1000h",
        "\x1b7\x1b8\x1bM\x1b(B\x1b(0\x1b=\x1b>",
        "\x1b[4 q\x1b[!p\x1b[>4;2m\x1b[>1u\x1b[<u",
        "\x1b]0;a title, größer\x07\x1b]133;A\x07",
        "tab\there\r\nbell\x07back\x08 grün 漢字 🦀",
    ] {
        assert_eq!(shown(harmless.as_bytes()), harmless);
    }
}

#[test]
fn a_program_that_asks_who_the_terminal_is_does_not_wait() {
    assert_eq!(filtered(b"\x1b[c").to_program, b"\x1b[?62;22c");
    assert_eq!(filtered(b"\x1b[0c\x1b[5n").to_program, b"\x1b[?62;22c\x1b[0n");
    assert_eq!(filtered(b"\x1b[21t").to_program, b"");
    // Only the terminal knows where its cursor is.
    assert_eq!((filtered(b"\x1b[6n").to_program, shown(b"\x1b[6n")), (Vec::new(), "\x1b[6n".to_owned()));
}

#[test]
fn modes_are_undone() {
    let mut filter = TerminalFilter::new();
    filter.sort(b"\x1b[?1049h\x1b[?25l\x1b[?1006;1000h\x1b[?2004h\x1b[?2004l");
    assert_eq!(
        String::from_utf8(filter.farewell()).unwrap(),
        "\x1b[?1049l\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[0m"
    );
    assert!(TerminalFilter::new().farewell().is_empty());
}

#[test]
fn an_endless_sequence_takes_no_memory() {
    for begin in [&b"\x1b]52;"[..], b"\x1bP", b"\x1b[", b"\x1b "] {
        let mut filter = TerminalFilter::new();
        filter.sort(begin);
        for _ in 0..100 {
            filter.sort(&[b' '; 1000]);
            assert!(filter.held.capacity() <= 2 * LONGEST);
        }
    }
}

/// Text without controls, with sequences that pass between its parts.
fn harmless() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[^\\p{Cc}]{0,12}",
        "\x1b\\[[0-9]{0,3}(;[0-9]{1,3}){0,4}[mABCDHJK]",
        Just("\r\n".to_owned()),
        Just("\t".to_owned()),
    ];
    prop::collection::vec(part, 0..20).prop_map(|parts| parts.concat())
}

/// Bytes out of which sequences are often made.
fn anything() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => any::<u8>(),
        3 => prop::sample::select(b"\x1b[]P\\_^X\x07?>;0156cnqhlmu\x18\x9b\x9c\x9d\xc2\xe0\xf0".to_vec()),
    ];
    prop::collection::vec(byte, 0..200)
}

proptest! {
    #[test]
    fn text_colours_and_movements_are_exact(text in harmless()) {
        prop_assert_eq!(shown(text.as_bytes()), text);
    }

    #[test]
    fn where_the_output_is_cut_makes_no_difference(bytes in anything(), cuts in prop::collection::vec(0usize..20, 0..40)) {
        let mut filter = TerminalFilter::new();
        let (mut pieces, mut rest) = (Sorted::default(), bytes.as_slice());
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            let sorted = filter.sort(piece);
            pieces.to_terminal.extend(sorted.to_terminal);
            pieces.to_program.extend(sorted.to_program);
            rest = after;
        }
        let sorted = filter.sort(rest);
        pieces.to_terminal.extend(sorted.to_terminal);
        pieces.to_program.extend(sorted.to_program);
        prop_assert_eq!(pieces, filtered(&bytes));
    }

    #[test]
    fn a_character_is_never_cut(text in "\\PC{0,40}", cut in 0usize..80) {
        let mut filter = TerminalFilter::new();
        let bytes = text.as_bytes();
        let (one, other) = bytes.split_at(cut.min(bytes.len()));
        for piece in [one, other] {
            let sorted = filter.sort(piece);
            prop_assert!(std::str::from_utf8(&sorted.to_terminal).is_ok());
        }
    }

    #[test]
    fn what_has_passed_passes_again(mut bytes in anything()) {
        // An end to whatever was begun, so that nothing is held back.
        bytes.extend(b"\x18 ");
        let once = filtered(&bytes).to_terminal;
        prop_assert_eq!(filtered(&once).to_terminal, once);
    }

    #[test]
    fn nothing_hostile_is_left(bytes in anything()) {
        let passed = filtered(&bytes).to_terminal;
        let has = |needle: &[u8]| passed.windows(needle.len()).any(|window| window == needle);
        for needle in [&b"\x1bP"[..], b"\x1b_", b"\x1b^", b"\x1bX", b"\x1b]5", b"\xc2\x9b", b"\xc2\x9d", b"\x05"] {
            prop_assert!(!has(needle), "{:x?}", passed);
        }
    }
}
