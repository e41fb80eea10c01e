//! What a question to the allow rules costs, with few rules and with many.
//!
//! Every case asks the same number of questions about eight hosts or paths spread over its rules, half of
//! them refused at the last step. The linear matcher is what a list of rules tried in turn would cost.

use std::hint::black_box;

use crate::harness::{Bench, Case, Unit};
use cofferdam_policy::host::{Host, HostPattern};
use cofferdam_policy::method::Method;
use cofferdam_policy::path::{PathPattern, RequestPath};
use cofferdam_policy::rules::{AllowRule, Question, Rules, Verdict};

const SIZES: [usize; 3] = [10, 1_000, 100_000];
const ROUNDS: usize = 2_000;
const ASKED: usize = 8;

pub fn run(bench: &mut Bench) {
    let amount = (ROUNDS * ASKED * 2) as f64;
    let hosts: Vec<Set> = SIZES.map(|size| Set::new(size, by_host)).into();
    bench.side_by_side(
        "allow rules, each for another host",
        Unit::OperationsPerSecond,
        amount,
        cases(&hosts),
    );
    let paths: Vec<Set> = SIZES.map(|size| Set::new(size, by_path)).into();
    bench.side_by_side(
        "allow rules, each for another path of one host",
        Unit::OperationsPerSecond,
        amount,
        cases(&paths),
    );
    let linear =
        Case { name: "1000 rules, tried in turn".into(), round: Box::new(|| hosts[1].ask_in_turn()) };
    let compiled = Case { name: "1000 rules, compiled".into(), round: Box::new(|| hosts[1].ask_compiled()) };
    bench.side_by_side(
        "compiled and tried in turn",
        Unit::OperationsPerSecond,
        amount,
        vec![linear, compiled],
    );
}

fn cases(sets: &[Set]) -> Vec<Case<'_>> {
    let case = |set: &'_ Set| format!("{} rules", set.list.len());
    sets.iter().map(|set| Case { name: case(set), round: Box::new(|| set.ask_compiled()) }).collect()
}

/// Rules, compiled and as a list, and what is asked of them.
pub struct Set {
    list: Vec<AllowRule>,
    compiled: Rules,
    questions: Vec<(Host, String)>,
}

impl Set {
    pub fn new(size: usize, at: fn(usize) -> (String, String)) -> Self {
        let list: Vec<AllowRule> = (0..size).map(|index| rule(&at(index))).collect();
        let asked = (0..ASKED).map(|turn| at(turn * size / ASKED));
        let questions = asked
            .flat_map(|(host, path)| {
                let host = Host::parse(&host).expect("a host");
                [(host.clone(), format!("{path}/pull/7")), (host, format!("{path}x/pull/7"))]
            })
            .collect();
        Self { compiled: Rules::compile(&list), list, questions }
    }

    pub fn ask_compiled(&self) {
        self.ask(|question| matches!(self.compiled.check(question), Verdict::Allowed { .. }));
    }

    fn ask_in_turn(&self) {
        self.ask(|question| {
            self.list.iter().any(|rule| {
                rule.hosts.iter().any(|(pattern, _)| pattern.matches(question.host))
                    && rule.ports.contains(&question.port)
                    && rule.methods.iter().any(|method| method.as_str() == question.method)
                    && question.path.is_some_and(|path| path.as_str().ends_with("/pull/7"))
            })
        });
    }

    /// How many questions a round asks.
    pub fn asked(&self) -> f64 {
        (ROUNDS * self.questions.len()) as f64
    }

    /// So many questions, one after the other.
    pub fn ask_times(&self, times: usize) {
        let paths = self.paths();
        for ((host, _), path) in self.questions.iter().zip(&paths).cycle().take(times) {
            let question = Question { host, port: 443, method: "GET", path: Some(path) };
            black_box(self.compiled.check(black_box(&question)));
        }
    }

    fn ask(&self, judge: impl Fn(&Question<'_>) -> bool) {
        let paths = self.paths();
        for _ in 0..ROUNDS {
            for ((host, _), path) in self.questions.iter().zip(&paths) {
                let question = Question { host, port: 443, method: "GET", path: Some(path) };
                black_box(judge(black_box(&question)));
            }
        }
    }

    fn paths(&self) -> Vec<RequestPath<'_>> {
        self.questions.iter().map(|(_, path)| RequestPath::parse(path).expect("a path")).collect()
    }
}

fn rule((host, path): &(String, String)) -> AllowRule {
    AllowRule {
        hosts: vec![(HostPattern::parse(host).expect("a host"), None)],
        ports: vec![443],
        methods: vec![Method::parse("GET").expect("a method")],
        paths: vec![PathPattern::parse(&format!("{path}/**")).expect("a path")],
    }
}

pub fn by_host(index: usize) -> (String, String) {
    (format!("host-{index}.api.example.com"), "/acme/project".into())
}

fn by_path(index: usize) -> (String, String) {
    ("api.example.com".into(), format!("/acme/project-{index}"))
}
