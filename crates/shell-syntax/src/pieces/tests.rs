//! Where a text is cut, and where it is not.

fn cut(text: &str) -> Vec<&str> {
    super::of(text).into_iter().map(|range| &text[range]).collect()
}

#[test]
fn commands_are_cut_where_they_end() {
    let text = "#!/bin/sh\n\nls -l # it's\nif a; then\n  b\nfi\ncat <<EOF | c\n'\nEOF\nf()\n{\n  g\n}\n\
                x=$(y\nz) # w\na &&\n  b \\\n  c\ncase $x in\n  a) b;;\nesac\n[[ a =~ ^(b|c)$ ]] && d\n";
    assert_eq!(
        cut(text),
        [
            "ls -l # it's\n",
            "if a; then\n  b\nfi\n",
            "cat <<EOF | c\n'\nEOF\n",
            "f()\n{\n  g\n}\n",
            "x=$(y\nz) # w\n",
            "a &&\n  b \\\n  c\n",
            "case $x in\n  a) b;;\nesac\n",
            "[[ a =~ ^(b|c)$ ]] && d\n",
        ]
    );
}

#[test]
fn what_is_not_certain_is_not_cut() {
    for text in [
        "echo \"${x:-'}\"\nb\n",
        "cat <<E$x\nb\n",
        "cat <<E\nb\n",
        "echo '<<E'\nb\n",
        "a \\\n#b\nc\n",
        "fi\nb\n",
        "(a\nb\n",
        "echo `a 'b`\nc\n",
        "alias a=b\nc\n",
        "{a\nb\n",
        "<{; a\nb\n",
        "{<a\nb\n",
        "<#'a\nb\n",
        "((a) b)\nc\n",
    ] {
        assert_eq!(cut(text), [text]);
    }
}
