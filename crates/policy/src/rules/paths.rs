//! Path patterns as a tree with one level per segment.

use std::collections::HashMap;

use crate::path::{PathPattern, RequestPath, Segment};

/// All path patterns of one host, port and method.
#[derive(Debug, Clone, Default)]
pub(super) struct Paths {
    /// A rule that allows every path.
    everything: Option<usize>,
    tree: Option<Box<Node>>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    literals: HashMap<Box<str>, Node>,
    any: Option<Box<Node>>,
    globs: Option<Box<Globs>>,
    deep: Option<Box<Node>>,
    /// The rule of a pattern that ends here.
    end: Option<usize>,
    /// The rule of a pattern that ends here with `**`.
    rest: Option<usize>,
}

/// Segments with stars among other characters, found by the text before the first star.
#[derive(Debug, Clone, Default)]
struct Globs {
    /// The lengths of all such texts, ascending.
    lengths: Vec<usize>,
    by_start: HashMap<Box<str>, Vec<(Segment, Node)>>,
}

impl Paths {
    pub fn add(&mut self, patterns: &[PathPattern], rule: usize) {
        if patterns.is_empty() || patterns.iter().any(PathPattern::is_everything) {
            self.everything.get_or_insert(rule);
            return;
        }
        for pattern in patterns {
            self.tree.get_or_insert_default().add(pattern.segments(), rule);
        }
    }

    pub fn find(&self, path: Option<&RequestPath<'_>>) -> Option<usize> {
        self.everything.or_else(|| self.tree.as_ref()?.find(Some(path?.as_str().strip_prefix('/')?)))
    }
}

impl Node {
    fn add(&mut self, segments: &[Segment], rule: usize) {
        let Some((first, rest)) = segments.split_first() else {
            self.end.get_or_insert(rule);
            return;
        };
        let child = match first {
            Segment::Literal(literal) => self.literals.entry(literal.clone()).or_default(),
            Segment::Any => self.any.get_or_insert_default(),
            Segment::Glob(pieces) => self.globs.get_or_insert_default().entry(&pieces[0], first),
            Segment::Deep if rest.is_empty() => {
                self.rest.get_or_insert(rule);
                return;
            }
            Segment::Deep => self.deep.get_or_insert_default(),
        };
        child.add(rest, rule);
    }

    /// `rest` is what follows the last slash that was passed; `None` when the path is used up.
    ///
    /// The depth is that of a pattern. Only one `**` can lie before the end of a pattern, so the loop over
    /// the places where it may stop is never nested.
    fn find(&self, rest: Option<&str>) -> Option<usize> {
        let Some(rest) = rest else { return self.end };
        if self.rest.is_some() {
            return self.rest;
        }
        let (segment, tail) = split(rest);
        let literal = self.literals.get(segment).and_then(|child| child.find(tail));
        literal
            .or_else(|| self.any.as_ref().filter(|_| !segment.is_empty())?.find(tail))
            .or_else(|| self.globs.as_ref()?.find(segment, tail))
            .or_else(|| {
                let child = self.deep.as_ref()?;
                std::iter::successors(Some(rest), |rest| split(rest).1)
                    .find_map(|rest| child.find(Some(rest)))
            })
    }
}

impl Globs {
    fn entry(&mut self, start: &str, segment: &Segment) -> &mut Node {
        if let Err(at) = self.lengths.binary_search(&start.len()) {
            self.lengths.insert(at, start.len());
        }
        let list = self.by_start.entry(start.into()).or_default();
        let at = list.iter().position(|(known, _)| known == segment).unwrap_or_else(|| {
            list.push((segment.clone(), Node::default()));
            list.len() - 1
        });
        &mut list[at].1
    }

    fn find(&self, segment: &str, tail: Option<&str>) -> Option<usize> {
        let starts = self.lengths.iter().map_while(|length| segment.get(..*length));
        starts
            .filter_map(|start| self.by_start.get(start))
            .flatten()
            .find_map(|(glob, child)| if glob.matches(segment) { child.find(tail) } else { None })
    }
}

fn split(rest: &str) -> (&str, Option<&str>) {
    match rest.split_once('/') {
        Some((segment, tail)) => (segment, Some(tail)),
        None => (rest, None),
    }
}
