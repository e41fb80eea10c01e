//! The second opinion: another parser, and the question whether both see the same commands.

use brush_parser::ast;
use shuck_ast as first;

use crate::guarded::guarded;
use crate::scan;

/// Up to this many opening brackets the caller's own stack is deep enough for the second parser.
const SMALL: usize = 40;
/// More than this is not given to it at all.
const LARGE: usize = 8_000;
/// Nor one in which more round brackets than this are open at once: it would take too long over them.
const DEEPEST: usize = 10;
/// Room for all brackets that may be open at once.
const LARGE_STACK: usize = 96 << 20;

/// What the second parser makes of a text.
pub(crate) enum Opinion {
    /// Nothing yet: the text is short, and is parsed when somebody wants to know.
    Later,
    /// The commands that it sees, or that it accepts the text not at all.
    Given(Option<Listing>),
}

/// Lets the second parser read a text, and does something else meanwhile.
///
/// A stack overflow ends the process and cannot be caught, so a text that could nest deeply is parsed where there is
/// room for all of it. That is another thread, which need not be waited for.
pub(crate) fn beside<T>(text: &str, first: impl FnOnce() -> T) -> (T, Opinion) {
    if text.len() > scan::LONGEST_SECOND || scan::round_depth(text) > DEEPEST {
        return (first(), Opinion::Given(None));
    }
    match scan::openings(text) {
        0..=SMALL => (first(), Opinion::Later),
        openings if openings <= LARGE => std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(LARGE_STACK);
            let second = builder.spawn_scoped(scope, || commands(text)).ok();
            let first = first();
            (first, Opinion::Given(second.and_then(|thread| thread.join().ok()).flatten()))
        }),
        _ => (first(), Opinion::Given(None)),
    }
}

/// Whether the second parser accepts the text and sees the same simple commands, word for word.
pub(crate) fn agrees(opinion: Opinion, text: &str, file: &first::File) -> bool {
    let theirs = match opinion {
        Opinion::Later => commands(text),
        Opinion::Given(theirs) => theirs,
    };
    let Some(theirs) = theirs else { return false };
    let mut ours = Listing::default();
    ours.sequence(&file.body, text);
    ours.0 == theirs.0
}

/// Does the same work several times at once, where there is room for the second parser on every text that is admitted.
pub(crate) fn several<T: Send>(times: usize, work: impl Fn() -> T + Copy + Send) -> Vec<Option<T>> {
    std::thread::scope(|scope| {
        let builder = || std::thread::Builder::new().stack_size(LARGE_STACK);
        let threads: Vec<_> = (0..times).filter_map(|_| builder().spawn_scoped(scope, work).ok()).collect();
        threads.into_iter().map(|thread| thread.join().ok()).collect()
    })
}

/// The same for a piece of a text, in one of [`several`] threads.
pub(crate) fn agrees_on_piece(text: &str, file: &first::File) -> bool {
    scan::openings(text) <= LARGE && scan::round_depth(text) <= DEEPEST && agrees(Opinion::Later, text, file)
}

fn commands(text: &str) -> Option<Listing> {
    let options = brush_parser::ParserOptions::default();
    let program = guarded(|| brush_parser::Parser::new(text.as_bytes(), &options).parse_program())?.ok()?;
    let mut listing = Listing::default();
    for list in &program.complete_commands {
        listing.list(list);
    }
    Some(listing)
}

/// The words of all simple commands in the order of the text, as they are written, each command closed by an
/// empty entry. Words that hold further commands are compared as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing(Vec<String>);

impl Listing {
    fn word(&mut self, written: &str) {
        let mut written = written.to_owned();
        if written.contains("\\\n") {
            written = written.replace("\\\n", "");
        }
        self.0.push(written);
    }

    fn end(&mut self) {
        self.0.push(String::new());
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, _) in &list.0 {
            self.pipeline(&and_or.first);
            for next in &and_or.additional {
                match next {
                    ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => self.pipeline(pipeline),
                }
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        for command in &pipeline.seq {
            self.command(command);
        }
    }

    fn command(&mut self, command: &ast::Command) {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, _) => self.compound(compound),
            ast::Command::Function(function) => self.compound(&function.body.0),
            ast::Command::ExtendedTest(..) => {}
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) {
        let Some(name) = &simple.word_or_name else { return };
        self.word(&name.value);
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::Word(word)
                | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => self.word(&word.value),
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..)
                | ast::CommandPrefixOrSuffixItem::IoRedirect(_) => {}
            }
        }
        self.end();
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::Arithmetic(_) => {}
            ast::CompoundCommand::ArithmeticForClause(clause) => self.list(&clause.body.list),
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            ast::CompoundCommand::ForClause(clause) => self.list(&clause.body.list),
            ast::CompoundCommand::CaseClause(clause) => {
                for list in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(list);
                }
            }
            ast::CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for branch in clause.elses.iter().flatten() {
                    if let Some(condition) = &branch.condition {
                        self.list(condition);
                    }
                    self.list(&branch.body);
                }
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            ast::CompoundCommand::Coprocess(process) => self.command(&process.body),
        }
    }

    fn sequence(&mut self, sequence: &first::StmtSeq, source: &str) {
        for statement in &sequence.stmts {
            self.statement(statement, source);
        }
    }

    fn statement(&mut self, statement: &first::Stmt, source: &str) {
        match &statement.command {
            first::Command::Simple(simple) => {
                if simple.name.span.slice(source).is_empty() {
                    return;
                }
                self.words(std::iter::once(&simple.name).chain(&simple.args), source);
            }
            first::Command::Builtin(builtin) => self.builtin(builtin, source),
            first::Command::Decl(clause) => {
                self.word(clause.variant.as_str());
                for operand in &clause.operands {
                    match operand {
                        first::DeclOperand::Flag(word) | first::DeclOperand::Dynamic(word) => {
                            self.argument(word, source);
                        }
                        first::DeclOperand::Name(name) => self.word(name.span.slice(source)),
                        first::DeclOperand::Assignment(assignment) => {
                            self.word(assignment.span.slice(source));
                        }
                    }
                }
                self.end();
            }
            first::Command::Binary(binary) => {
                self.statement(&binary.left, source);
                self.statement(&binary.right, source);
            }
            first::Command::Compound(compound) => self.first_compound(compound, source),
            first::Command::Function(function) => self.statement(&function.body, source),
            first::Command::AnonymousFunction(function) => self.statement(&function.body, source),
        }
    }

    fn words<'a>(&mut self, words: impl Iterator<Item = &'a first::Word>, source: &str) {
        for word in words {
            self.argument(word, source);
        }
        self.end();
    }

    fn argument(&mut self, word: &first::Word, source: &str) {
        let written = word.span.slice(source);
        if !written.starts_with("<(") && !written.starts_with(">(") {
            self.word(written);
        }
    }

    fn builtin(&mut self, builtin: &first::BuiltinCommand, source: &str) {
        let (name, operand, rest) = match builtin {
            first::BuiltinCommand::Break(command) => ("break", &command.depth, &command.extra_args),
            first::BuiltinCommand::Continue(command) => ("continue", &command.depth, &command.extra_args),
            first::BuiltinCommand::Return(command) => ("return", &command.code, &command.extra_args),
            first::BuiltinCommand::Exit(command) => ("exit", &command.code, &command.extra_args),
        };
        self.word(name);
        self.words(operand.iter().chain(rest), source);
    }

    fn first_compound(&mut self, compound: &first::CompoundCommand, source: &str) {
        use first::CompoundCommand as Compound;
        match compound {
            Compound::If(clause) => {
                self.sequence(&clause.condition, source);
                self.sequence(&clause.then_branch, source);
                for (condition, branch) in &clause.elif_branches {
                    self.sequence(condition, source);
                    self.sequence(branch, source);
                }
                if let Some(branch) = &clause.else_branch {
                    self.sequence(branch, source);
                }
            }
            Compound::For(clause) => self.sequence(&clause.body, source),
            Compound::Repeat(clause) => self.sequence(&clause.body, source),
            Compound::Foreach(clause) => self.sequence(&clause.body, source),
            Compound::ArithmeticFor(clause) => self.sequence(&clause.body, source),
            Compound::While(clause) => {
                self.sequence(&clause.condition, source);
                self.sequence(&clause.body, source);
            }
            Compound::Until(clause) => {
                self.sequence(&clause.condition, source);
                self.sequence(&clause.body, source);
            }
            Compound::Case(clause) => {
                for case in &clause.cases {
                    self.sequence(&case.body, source);
                }
            }
            Compound::Select(clause) => self.sequence(&clause.body, source),
            Compound::Subshell(body) | Compound::BraceGroup(body) => self.sequence(body, source),
            Compound::Arithmetic(_) | Compound::Conditional(_) => {}
            Compound::Time(clause) => {
                if let Some(command) = &clause.command {
                    self.statement(command, source);
                }
            }
            Compound::Coproc(clause) => self.statement(&clause.body, source),
            Compound::Always(clause) => {
                self.sequence(&clause.body, source);
                self.sequence(&clause.always_body, source);
            }
        }
    }
}
